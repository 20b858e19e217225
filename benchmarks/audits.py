"""The share of planted faults that an audit finds, and of sound models that pass it, over seeds.

Each study is a small run with a scripted model behind a socket (`tests.standin.planted`), half of them at
temperature 0.
A fault is found if the audit names it; a sound model passes if the audit finds nothing against the study.

    nice python -m benchmarks.audits [--seeds 17] [--first 1] [--only sound first ... carried]

`carried` counts how often the interval of a carried change holds the truth: the mean difference of runs in full with
the model asked in both ways, under draws that the audit did not use.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio

from actors.results.api import run
from actors.studies.audit.asking import Change, Otherwise, ways_of
from actors.studies.audit.audit import Auditing, Options
from actors.studies.audit.carried import Outcomes
from actors.studies.audit.questions import Features
from prism.audit import Audit, findings_of
from prism.config import load_config
from prism.domain import Domain
from prism.llm import ChatRequest, ChoiceRequest, Completion, Health, Identity
from tests.standin import ModelServer, ServerSettings
from tests.standin.planted import FAULTS, SOUND, planted

ABOUT: Final = "the ranking algorithm of a feed, and cascades"
FINDS: Final[dict[str, Callable[[Audit], bool]]] = {
    "first": lambda found: any(each.place == "first" and each.finding == "moves" for each in found.positions),
    "persona": lambda found: _moves(found, "persona"),
    "wording": lambda found: _moves(found, "wording"),
    "knows": lambda found: found.known is not None and found.known.knows is True,
    "ignores": lambda found: found.exchange is not None and found.exchange.moves is False,
    "constant": lambda found: found.variety is not None and found.variety.finding == "does not vary",
    SOUND: lambda found: not [*findings_of(found)],
}


def _moves(found: Audit, way: str) -> bool:
    return any(each.way == way and each.finding == "moves" for each in found.shifts)


class Here:
    """A model with a fault in this process, for runs in full without a socket."""

    name = "here"
    identity = Identity(backend="here", model="here", dialect="", options={})

    def __init__(self, kind: str, temperature: float) -> None:
        self._reply, self._temperature = planted(kind), temperature

    async def complete(self, request: ChatRequest) -> Completion:
        messages = [{"role": each.role, "content": each.content} for each in request.messages]
        text = self._reply(messages, {"seed": request.seed, "temperature": self._temperature}, request.schema)
        return Completion(text=text, model="here", prompt_tokens=1, completion_tokens=1, latency_s=0.0)

    async def choose(self, request: ChoiceRequest) -> None:
        """Return None: it gives no probabilities."""

    async def check(self) -> Health:
        return Health(backend="here", version="1", model="here", latency_s=0.0, dialect="", note="")

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


async def _changes(auditing: Auditing, kind: str, draws: range) -> dict[str, float]:
    """Return the true change of each measure if people are described in the other way."""
    study = auditing.study
    config = study.run(0).config
    _, measures = auditing.claims()
    outcomes, model = Outcomes(study, measures), Here(kind, config.llm.temperature)
    [way] = [each for each in ways_of(config, ()) if each.name == "persona"]
    sums = dict.fromkeys(measures, 0.0)
    for draw in draws:
        for change, sign in ((way.change, 1.0), (None, -1.0)):

            def make(domain: Domain, _: Features, change: Change | None = change) -> Otherwise:
                return Otherwise(domain.oracle(model), change)

            found = await outcomes.of(0, draw, make)
            for name, value in found.items():
                sums[name] += sign * value / len(draws)
    return sums


def carried_held(seed: int, place: Path) -> list[tuple[str, bool, str]]:
    """Return, for each measure, whether the interval of its carried change holds the true one, and both in words."""
    kind = "persona"
    with ModelServer(ServerSettings(reply=planted(kind))) as server:
        _study(server.url, seed, place)
        auditing = Auditing(place / "run", Options(about=ABOUT, draws=8))
        auditing.ways = [each for each in auditing.ways if each.name in ("again", "persona")]
        found = anyio.run(auditing.audit)
    truths = anyio.run(_changes, auditing, kind, range(100, 124))
    told = []
    for claim in found.claims:
        [one] = claim.carried
        low, high, truth = one.change.low or 0.0, one.change.high or 0.0, truths[claim.measure]
        told.append((claim.measure, low <= truth <= high, f"{truth:.3g} in {low:.3g} to {high:.3g}"))
    return told


def audited(kind: str, seed: int, place: Path) -> tuple[Audit, int, int]:
    """Return the audit of a study with such a model, and the calls that study and audit made."""
    with ModelServer(ServerSettings(reply=planted(kind))) as server:
        _study(server.url, seed, place)
        calls = len(server.calls)
        found = anyio.run(Auditing(place / "run", Options(about=ABOUT, draws=0)).audit)
        return found, calls, len(server.calls) - calls


def _study(url: str, seed: int, place: Path) -> None:
    """Make a small run that asks the server."""
    config = load_config(
        None,
        overrides=[
            *("simulation.rounds=4", "simulation.ticks_per_round=24", f"simulation.seed={seed}"),
            *("population.size=200", "population.ambiguity=0.6", "population.posts_per_session=0.5"),
            *("population.activity.mean=0.9", "metrics.enabled=false", "oracle.backend=ollama"),
            *(f"llm.host={url}", "llm.systemone=off", "llm.method=json", "oracle.max_concurrency=16"),
            f"llm.temperature={0.8 if seed % 2 else 0.0:g}",
        ],
        environment={},
    )
    run(config, out=place / "run")


def main() -> None:
    """Print a line for each kind of model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=17)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[*FAULTS, SOUND])
    arguments = parser.parse_args()
    if "carried" in arguments.only:
        held = dict[str, list[bool]]()
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            with TemporaryDirectory() as place:
                for measure, is_held, told in carried_held(seed, Path(place)):
                    held.setdefault(measure, []).append(is_held)
                    print(f"  seed {seed}: {measure}: {told}{'' if is_held else ': missed'}", flush=True)
        for measure, found in held.items():
            print(f"carried: {measure}: {sum(found)} of {len(found)} intervals hold the truth", flush=True)
    for kind in (each for each in arguments.only if each != "carried"):
        good, worst, lost = 0, 0.0, list[str]()
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            with TemporaryDirectory() as place:
                audit, before, after = audited(kind, seed, Path(place))
            is_good = FINDS[kind](audit)
            good, worst = good + is_good, max(worst, after / before)
            lost += [] if is_good else [f"  seed {seed}: {'; '.join(findings_of(audit)) or 'nothing found'}"]
        word = "passed" if kind == SOUND else "found"
        print(
            f"{kind}: {good} of {arguments.seeds} {word}; calls up to {worst:.2f} times those of the study", flush=True
        )
        for line in lost:
            print(line, flush=True)


if __name__ == "__main__":
    main()
