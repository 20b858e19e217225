"""The share of planted faults that an audit finds, and of sound models that pass it, over seeds.

Each study is a small run with a scripted model behind a socket (`tests.standin.planted`), half of them at
temperature 0.
A fault is found if the audit names it; a sound model passes if the audit finds nothing against the study.

    nice python -m benchmarks.audits [--seeds 17] [--first 1] [--only sound first ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio

from actors.results.api import run
from actors.studies.audit.audit import Auditing, Options
from prism.audit import Audit, findings_of
from prism.config import load_config
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


def audited(kind: str, seed: int, place: Path) -> tuple[Audit, int, int]:
    """Return the audit of a study with such a model, and the calls that study and audit made."""
    with ModelServer(ServerSettings(reply=planted(kind))) as server:
        config = load_config(
            None,
            overrides=[
                *("simulation.rounds=4", "simulation.ticks_per_round=24", f"simulation.seed={seed}"),
                *("population.size=200", "population.ambiguity=0.6", "population.posts_per_session=0.5"),
                *("population.activity.mean=0.9", "metrics.enabled=false", "oracle.backend=ollama"),
                *(f"llm.host={server.url}", "llm.systemone=off", "llm.method=json", "oracle.max_concurrency=16"),
                f"llm.temperature={0.8 if seed % 2 else 0.0:g}",
            ],
            environment={},
        )
        run(config, out=place / "run")
        calls = len(server.calls)
        found = anyio.run(Auditing(place / "run", Options(about=ABOUT, draws=0)).audit)
        return found, calls, len(server.calls) - calls


def main() -> None:
    """Print a line for each kind of model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=17)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[*FAULTS, SOUND])
    arguments = parser.parse_args()
    for kind in arguments.only:
        good, worst, told = 0, 0.0, list[str]()
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            with TemporaryDirectory() as place:
                found, before, after = audited(kind, seed, Path(place))
            is_good = FINDS[kind](found)
            good, worst = good + is_good, max(worst, after / before)
            told += [] if is_good else [f"  seed {seed}: {'; '.join(findings_of(found)) or 'nothing found'}"]
        word = "passed" if kind == SOUND else "found"
        print(
            f"{kind}: {good} of {arguments.seeds} {word}; calls up to {worst:.2f} times those of the study", flush=True
        )
        for line in told:
            print(line, flush=True)


if __name__ == "__main__":
    main()
