"""The files of small experiments: as a user writes them, and as a directory that is made without a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.studies.experiments.record import read_experiment_record
from tests.plain import plain_text

BASE = plain_text("""
simulation: {rounds: 2, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
""")
EXPERIMENT = """\
question: Does a chronological feed make fewer likes?
base: base.yaml
design:
  conditions:
    chronological: {feed.algorithm: chronological}
    random: {feed.algorithm: random, feed.size: 3}
seeds: 3
measures:
  likes: likes
  engagement: engagement
  posts: rounds.posts
hypotheses:
  - {measure: likes, contrast: [chronological, random]}
"""


def write_experiment(directory: Path, text: str = EXPERIMENT, base: str = BASE) -> Path:
    """Write the experiment and its base, and return the path of the experiment."""
    (directory / "base.yaml").write_text(base)
    (directory / "e.yaml").write_text(text)
    return directory / "e.yaml"


CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "size=2 algorithm=hot": {"feed.size": 2, "feed.algorithm": "hot"},
    "size=8 algorithm=hot": {"feed.size": 8, "feed.algorithm": "hot"},
}
HYPOTHESES: Sequence[Mapping[str, Any]] = (
    {"measure": "likes", "contrast": ["size=2 algorithm=hot", "size=8 algorithm=hot"], "alternative": "less"},
)
SEEDS = 8


def write_experiment_directory(
    path: Path,
    *,
    conditions: Mapping[str, Mapping[str, Any]] = CONDITIONS,
    hypotheses: Sequence[Mapping[str, Any]] = HYPOTHESES,
    question: str = "Do short feeds make fewer likes?",
    measures: Mapping[str, str] | None = None,
    done: int | None = None,
    has_factors: bool = True,
    cells_done: int = 0,
) -> Path:
    """Write a directory in which the first cells are done; likes are 10 times the condition's place, plus the seed.

    Args:
        done: the cells that have a run; all of them by default.
        cells_done: the results that there were when the plan was made.
    """
    (path / "plans").mkdir(parents=True)
    named = list(conditions)
    cells = [
        (name, seed, f"{place:04x}{seed:016x}") for place, name in enumerate(named) for seed in range(1, SEEDS + 1)
    ]
    experiment = {
        "source": "e.yaml",
        "question": question,
        "base": "base.yaml",
        "settings": {"simulation.rounds": 6},
        "design": {"kind": "factorial" if has_factors else "list"},
        "conditions": [
            {"name": name, "settings": settings, "factors": settings if has_factors else {}}
            for name, settings in conditions.items()
        ],
        "seeds": list(range(1, SEEDS + 1)),
        "measures": measures or {"likes": "likes"},
        "hypotheses": hypotheses,
        "thresholds": [{"measure": "likes", "most": 1000}],
        "alpha": 0.05,
    }
    plan = {
        "hash": "ab" * 32,
        "cells_done": cells_done,
        "experiment": experiment,
        "own_code": {},
        "meanings": {name: f"hash of {name}" for name in named},
        "cells": cells,
    }
    (path / "plans" / f"001-{'ab' * 8}.json").write_text(json.dumps(plan))
    for place, (_, seed, key) in enumerate(cells[:done]):
        write_cell(path / "cells" / key, likes=10 * (place // SEEDS) + seed)
    return path


def write_cell(path: Path, likes: int) -> None:
    """Write what a report reads of a cell that is done: its summary, and its rounds."""
    path.mkdir(parents=True)
    sizes = {"1": 60, "2": 20 + likes, "5": 3}
    (path / "summary.json").write_text(json.dumps({"status": "done", "likes": likes, "cascade_sizes": sizes}))
    rows = [f"{each},{24 * each},{likes * each},{3 * each}" for each in range(1, 7)]
    (path / "rounds.csv").write_text("\n".join(["round,tick,likes,posts", *rows, ""]))


def write_end(path: Path, **extras: Any) -> None:
    """Write table and outcome as the command does at its end, of all cells that are done.

    Args:
        extras: further entries of the outcome.
    """
    record = read_experiment_record(path)
    rows = [
        f'"{name}",{seed},"{measure}",{value}'
        for (name, seed), found in record.values.items()
        for measure, value in found.items()
    ]
    (path / "results.csv").write_text("\n".join(["condition,seed,measure,value", *rows, ""]))
    outcome = msgspec.to_builtins(record.outcome) | extras
    (path / "outcome.json").write_bytes(msgspec.json.encode(outcome))
