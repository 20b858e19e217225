"""A run in sentences: what people did, or where an economy ended, and what limits a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from prism.answers.measure_words import RATES, figure, indicator_in_words
from prism.wording import counted

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0
_ONE_RUN = "This is one run under one seed: another seed gives other numbers."


def run_in_words(  # what happened, and what limits it
    world: Mapping[str, Any],
    *,
    agents: int,
    rounds: int,
    ticks_beyond: int = 0,
    simulated_s: float,
    calibration: str | None,
    fallbacks: float,
    own: str = "",
) -> list[str]:
    """Return what happened in a run, and what limits it, a sentence each; empty for a domain without words.

    Args:
        world: the totals of its world.
        rounds: whole rounds that were run; `ticks_beyond`: the ticks after them.
        simulated_s: the simulated time of the run.
        calibration: what it is calibrated on, in words; None if it is not.
        fallbacks: the share of its choices that were made without the oracle, 0 to 1.
        own: the domain's own sentence on its run, by `prism.domain.HasWords`; empty if it has none.
    """
    if own:
        told = [own]
    elif "cascade_sizes" in world:
        lengths = [counted(rounds, "round") if rounds else "", counted(ticks_beyond, "tick") if ticks_beyond else ""]
        length = " and ".join(filter(None, lengths)) or "0 rounds"
        told = list(_people(world, agents, f"{length} ({_time(simulated_s)})"))
    elif all(name in world for name in RATES):
        told = list(_economy(world, rounds))
    else:
        return []
    share = f"{figure(100 * fallbacks, 2)}% of the choices are fallbacks, made without the oracle."
    first = [share] if fallbacks else []
    return [*first, *told, _ONE_RUN, *caveats({"": calibration}, {}, 0, 0)]


def _people(world: Mapping[str, Any], agents: int, length: str) -> Iterator[str]:
    people = counted(agents, "person", "people")
    wrote = f"{counted(world['posts'], 'post')} and {counted(world['replies'], 'reply', 'replies')}"
    made = f"made {counted(world['reshares'], 'reshare')} and gave {counted(world['likes'], 'like')}"
    yield f"In {length} {people} wrote {wrote}, {made}."
    if world["posts"]:
        largest, alone = world["largest_cascade"]["size"], world["cascades_alone"]
        if largest < 2:
            yield "Nobody answered or reshared a post."
            return
        yield (
            f"The largest cascade had {counted(largest, 'post')}, the median cascade "
            f"{figure(world['cascade_size_median'])}; {figure(100 * alone, 2)}% of the posts got no reply or reshare."
        )


def _economy(world: Mapping[str, Any], rounds: int) -> Iterator[str]:
    values = [f"{indicator_in_words(name)} was {figure(world[name])}%" for name in RATES]
    yield f"After {counted(rounds, 'quarter')} {', '.join(values[:-1])} and {values[-1]}."
    proposed, applied = world.get("proposed", 0), world.get("applied", 0)
    if proposed:
        yield f"Of {counted(proposed, 'proposal')}, {applied:,} {'was' if applied == 1 else 'were'} applied."


def _time(seconds: float) -> str:
    """Return simulated time in words, in the largest unit of which there are two or more; else in seconds."""
    for size, unit in ((DAY_S, "days"), (HOUR_S, "hours"), (MINUTE_S, "minutes")):
        if seconds >= 2 * size:
            return f"{figure(seconds / size)} {unit}"
    return f"{figure(seconds)} seconds"


def caveats(
    calibrations: Mapping[str, str | None], fallbacks: Mapping[str, float], missing: int, exploratory: int
) -> list[str]:
    """Return what limits every answer of an experiment or a comparison, a sentence each.

    Args:
        calibrations: `{condition as it stands in a sentence: what its world is calibrated on, or None}`.
        fallbacks: `{condition as it stands in a sentence: the share of choices made without the oracle}`.
        missing: cells without a result.
        exploratory: hypotheses that were made after the first result.
    """
    labels = list(dict.fromkeys(calibrations.values()))
    found = []
    if labels == [None]:
        found.append("The world is not calibrated on data: it shows directions, and not the sizes of a real world.")
    elif labels:
        said = {name: label or "not calibrated" for name, label in calibrations.items()}
        one = [f"{labels[0]}"] if len(labels) == 1 else [f"{name} {label}" for name, label in said.items()]
        found.append(f"The world is {'; '.join(one)}.")
    if any(fallbacks.values()):
        said_of = ", ".join(f"{figure(100 * share, 2)}% {name}" for name, share in fallbacks.items())
        found.append(f"Some choices were made without the oracle, by a fallback: {said_of}.")
    if missing:
        have = "has" if missing == 1 else "have"
        found.append(f"{counted(missing, 'cell')} {have} no result, so the means may be of unlike runs.")
    if exploratory:
        were, need = ("was", "needs") if exploratory == 1 else ("were", "need")
        noun = counted(exploratory, "comparison")
        found.append(f"{noun} {were} not planned before the first result, and {need} new seeds to count.")
    return found


class MadeOf(msgspec.Struct, frozen=True, kw_only=True):
    prism: list[str]  # the versions of PRISM
    inputs: dict[str, str]  # `{name of an input file: SHA-256}`

    def __str__(self) -> str:
        files = ", ".join(self.inputs)
        version = ", ".join(self.prism) or "of an unknown version"
        return f"PRISM {version}; {f'inputs: {files}' if files else 'no input files'}."
