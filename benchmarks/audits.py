"""The share of planted faults that an audit finds, of sound models that pass it, and of intervals that hold the truth.

Each study is a small run with a scripted model behind a socket (`tests.standin.planted`), half of them at
temperature 0. A fault is found if the audit names it; a sound model passes if nothing is found against the study.
`carried` counts how often the interval of a carried change holds the truth: the mean difference of runs in full with
the model asked in both ways, under draws that the audit did not use.

    nice python -m benchmarks.audits [--seeds 100] [--first 1] [--jobs 1] [--here] [--only sound first ... carried]
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import anyio

from actors.factory import oracle_backends
from actors.results.api import run
from actors.studies.audit.asking import Change, ways_of
from actors.studies.audit.audit import Auditing, Options
from actors.studies.audit.carried import Future, Outcomes
from actors.studies.audit.questions import Features
from prism.audit.record import Audit
from prism.audit.words import findings_of
from prism.config import load_config
from prism.domain import Domain
from prism.llm import ChatRequest, Completion, Identity, LanguageModel
from tests.standin import ModelServer, ServerSettings
from tests.standin.planted import FAULTS, SOUND, planted

ABOUT: Final = "the ranking algorithm of a feed, and cascades"
CARRIED: Final = "carried"
TRUTHS: Final = range(100, 124)  # the numbers of the draws from which a true change is found
FINDS: Final[dict[str, Callable[[Audit], bool]]] = {
    "first": lambda found: any(each.place == "first" and each.finding == "moves" for each in found.positions),
    "persona": lambda found: _moves(found, "persona"),
    "wording": lambda found: _moves(found, "wording"),
    "knows": lambda found: found.known is not None and found.known.knows is True,
    "ignores": lambda found: found.exchange is not None and found.exchange.moves is False,
    "constant": lambda found: found.variety is not None and found.variety.finding == "does not vary",
    **dict.fromkeys(SOUND, lambda found: not [*findings_of(found)]),
}
ALIKE: Final = {"persona": "persona", "wording": "wording", "knows": "informed"}
"""`{kind: the only way of asking in which it answers otherwise than a sound model}`: the rest is asked once."""


class Counted(NamedTuple):
    """One audit of a kind, or one interval of a carried change."""

    kind: str
    is_good: bool
    told: str
    calls: float  # those of the audit, as a part of those of the study


def _moves(found: Audit, way: str) -> bool:
    return any(each.way == way and each.finding == "moves" for each in found.shifts)


class Here(LanguageModel):
    """A model with a fault in this process, without a socket."""

    name = "here"
    identity = Identity(backend="here", model="here", dialect="", options={})

    def __init__(self, reply: Callable[..., str], temperature: float) -> None:
        self._reply, self._temperature = reply, temperature

    async def complete(self, request: ChatRequest) -> Completion:
        messages = [{"role": each.role, "content": each.content} for each in request.messages]
        text = self._reply(messages, {"seed": request.seed, "temperature": self._temperature}, request.schema)
        return Completion(text=text, model="here", prompt_tokens=1, completion_tokens=1, latency_s=0.0)


async def _changes(auditing: Auditing) -> dict[str, float]:
    """Return the true change of each measure if people are described in the other way."""
    study = auditing.study
    config = study.run(0).config
    _, measures = auditing.claims()
    outcomes, model = Outcomes(study, measures), Here(planted("persona"), config.llm.temperature)
    [way] = [each for each in ways_of(config, ()) if each.name == "persona"]
    sums = dict.fromkeys(measures, 0.0)
    for draw in TRUTHS:
        for change, sign in ((way.change, 1.0), (None, -1.0)):

            def make(domain: Domain, _: Features, change: Change | None = change) -> Any:
                oracle: Any = domain.oracle(model)
                oracle.change = change
                return oracle

            found = await outcomes.of(Future(0, draw, make))
            for name, value in found.items():
                sums[name] += sign * value / len(TRUTHS)
    return sums


def _carried(path: Path) -> Iterator[Counted]:
    """Yield, for each measure, whether the interval of its carried change holds the true one, and both in words."""
    auditing = Auditing(path, Options(about=ABOUT))
    auditing.ways = [each for each in auditing.ways if each.name in ("again", "persona")]
    found = anyio.run(auditing.audit)
    truths = anyio.run(_changes, auditing)
    for claim in found.claims:
        [one] = claim.carried
        low, high, truth = one.change.low or 0.0, one.change.high or 0.0, truths[claim.measure]
        told = f"{truth:.3g} in {low:.3g} to {high:.3g}, at first {claim.effect:.3g}"
        yield Counted(f"{CARRIED}: {claim.measure}", low <= truth <= high, told, found.calls / found.calls_of_study)


def counted(kinds: list[str], is_here: bool, seed: int) -> list[Counted]:
    """Return what the audits of studies with this seed have found.

    Args:
        is_here: whether the model answers in this process, which takes a third of the time.
    """
    found = list[Counted]()
    with TemporaryDirectory() as kept, ModelServer() as server:
        place, sound = Path(kept), planted("sound")
        if is_here:
            oracle_backends.make_model = lambda config: Here(server.settings.reply or sound, config.llm.temperature)
        for kind in sorted(kinds, key=lambda each: each != "sound"):
            path, own = place / kind, sound if kind in ALIKE or kind == CARRIED else planted(kind)
            server.settings = ServerSettings(reply=own)
            if own is not sound or not (place / "sound").exists():
                _study(server.url, seed, path)
            else:
                shutil.copytree(place / "sound", path)
            if kind == CARRIED:
                server.settings = ServerSettings(reply=planted("persona"))
                (path / "audit" / "persona.sqlite").unlink(missing_ok=True)  # of the sound model
                found += _carried(path)
                continue
            server.settings = ServerSettings(reply=planted(kind))
            if kind in ALIKE:
                (path / "audit" / f"{ALIKE[kind]}.sqlite").unlink(missing_ok=True)
            audit = anyio.run(Auditing(path, Options(about=ABOUT, draws=0)).audit)
            told = "; ".join(findings_of(audit)) or "nothing found"
            found.append(Counted(kind, FINDS[kind](audit), told, audit.calls / audit.calls_of_study))
    return [each._replace(told=f"seed {seed}: {each.told}") for each in found]


def _study(url: str, seed: int, path: Path) -> None:
    """Make a small run that asks the server."""
    config = load_config(
        None,
        overrides=[
            *("simulation.rounds=3", "simulation.ticks_per_round=24", f"simulation.seed={seed}"),
            *("population.size=150", "population.ambiguity=0.6", "population.posts_per_session=0.5"),
            *("population.activity.mean=0.9", "metrics.enabled=false", "oracle.backend=ollama"),
            *(f"llm.host={url}", "llm.systemone=off", "llm.method=json", "oracle.max_concurrency=16"),
            f"llm.temperature={0.8 if seed % 2 else 0.0:g}",
        ],
        environment={},
    )
    run(config, out=path)


def main() -> None:
    """Print a line for each kind of model, and one for each case that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="ask a model in the process, and not over a socket")
    parser.add_argument("--only", nargs="*", default=[*FAULTS, *SOUND, CARRIED])
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    every = dict[str, list[Counted]]()
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        for done in pool.map(partial(counted, arguments.only, arguments.here), seeds):
            for each in done:
                every.setdefault(each.kind, []).append(each)
                if not each.is_good:
                    print(f"  {each.kind}, {each.told}", flush=True)
    print(f"{'kind':60} as it should be, calls of the study at most")
    for kind, cases in every.items():
        most = max(each.calls for each in cases)
        print(f"{kind:60} {sum(each.is_good for each in cases)} of {len(cases)}, {most:.2f}")


if __name__ == "__main__":
    main()
