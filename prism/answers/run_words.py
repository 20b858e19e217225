"""A run in sentences: what people did, or where an economy ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prism.answers.limits import caveats
from prism.answers.measure_words import figure, indicator_in_words
from prism.answers.names import RATES
from prism.wording import counted

HOUR_S, DAY_S = 3600.0, 86_400.0
_ONE_RUN = "This is one run under one seed: another seed gives other numbers."


def run_in_words(  # noqa: PLR0913  # what happened, and what limits it
    world: Mapping[str, Any],
    *,
    agents: int,
    rounds: int,
    simulated_s: float,
    calibration: str | None,
    fallbacks: float,
    own: str = "",
) -> list[str]:
    """Return what happened in a run, and what limits it, a sentence each; none for a domain without words of its own.

    Args:
        world: the totals of its world.
        rounds: whole rounds that were run.
        simulated_s: the simulated time of the run.
        calibration: what it is calibrated on, in words; None if it is not.
        fallbacks: the share of its choices that were made without the oracle, 0 to 1.
        own: what a domain itself says of its run, as `prism.domain.HasWords` has it; empty if it says nothing.
    """
    if own:
        told = [own]
    elif "cascade_sizes" in world:
        told = list(_people(world, agents, f"{counted(rounds, 'round')} ({_time(simulated_s)})"))
    elif all(name in world for name in RATES):
        told = list(_economy(world, rounds))
    else:
        return []
    return [*told, _ONE_RUN, *caveats({"": calibration}, {"of all": fallbacks} if fallbacks else {}, 0, 0)]


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
    """Return simulated time in words: days, or hours where it is short."""
    if seconds >= 2 * DAY_S:
        return f"{figure(seconds / DAY_S)} days"
    return f"{figure(seconds / HOUR_S)} hours"
