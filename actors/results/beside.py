"""The context of a run's measures for an answer in sentences: its cascades, its fallbacks, its origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from actors.record.manifest import CONFIG, read_manifest, read_summary
from actors.record.run import read_resolved
from actors.results.measures import ROUNDS_PREFIX, numbers_of, rounds_place
from actors.runs.manifest import OWN_PACKAGE
from prism.answers import MadeOf
from prism.config import calibration_label
from prism.errors import PrismError

LEVELS = ("inflation", "interest_rate", "unemployment", "gdp_growth")
"""Columns of `rounds.csv` that are levels: their course may lie above their last value."""


class Beside(NamedTuple):
    """The context of the measures of a run."""

    sizes: Mapping[int, int] = {}  # `{posts: cascades of that size}`; empty in a world without cascades
    values: Mapping[str, float] = {}  # `{place: value}` of the measures that may point the other way
    fallback_share: float = 0.0  # the share of the oracle's decisions that are fallbacks, 0 to 1
    # the data that its settings are calibrated on, in words; None if they are not calibrated
    calibration: str | None = None
    prism: str = ""  # the version of PRISM that began it; empty if it is not known
    inputs: Mapping[str, str] = {}  # `{name of an input file: SHA-256}`
    seed: int = -1  # of the run; -1 if it is not known


def companions(place: str) -> tuple[str, ...]:
    """Return the places of measures of the same runs that may contradict a measure.

    For a mean over the rounds it is the median; for a level at the end, its mean over the rounds.
    """
    if place in LEVELS:
        return (f"{ROUNDS_PREFIX}mean.{place}",)
    if not place.startswith(ROUNDS_PREFIX):
        return ()
    column, over = rounds_place(place)
    if over == "mean":
        return (f"{ROUNDS_PREFIX}median.{column}",)
    return (f"{ROUNDS_PREFIX}mean.{column}",) if not over and column in LEVELS else ()


def read_beside(path: Path, places: Iterable[str], *, with_origin: bool = True) -> Beside:
    """Return the context of the measures of a run in a directory; parts that cannot be read are left out.

    Args:
        with_origin: whether calibration, version and inputs are read, too.
    """
    summary, numbers, values = read_summary(path), numbers_of(path), {}
    for place in places if summary else ():  # numbers of a run under way are not comparable
        try:
            values[place] = numbers.value(place)
        except PrismError:
            continue
    sizes = {int(size): count for size, count in summary.get("cascade_sizes", {}).items() if count}
    found = Beside(sizes=sizes, values=values, fallback_share=summary.get("fallback_share", 0.0))
    if not with_origin:
        return found
    try:
        manifest, config = read_manifest(path), read_resolved(path / CONFIG)
    except (PrismError, OSError, msgspec.MsgspecError):
        return found
    return found._replace(
        calibration=calibration_label(config),
        prism=manifest.packages.get(OWN_PACKAGE, ""),
        inputs={PurePath(name).name: digest for name, digest in manifest.inputs.items()},
        seed=manifest.seed,
    )


def made_of(runs: Iterable[Beside]) -> MadeOf:
    """Return the versions of PRISM and the input files of runs."""
    prism, inputs = dict[str, None](), dict[str, str]()
    for run in runs:
        if run.prism:
            prism[run.prism] = None
        inputs |= run.inputs
    return MadeOf(prism=list(prism), inputs=inputs)
