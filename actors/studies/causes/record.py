"""The records of what made an outcome: each cause that was tried, what all of a kind come to, and chance beside both.

They are plain data: `msgspec.json.encode` gives the form that `docs/cause.md` describes.
"""

from __future__ import annotations

import msgspec

from prism.experiment.intervals import Interval


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that was undone in another future, and what that changed.

    Args:
        kind: `interventions`, `people`, `decisions`, `ties` or `posts`.
        what: the thing, in words.
        tick: the tick from which the other future departs.
        agent: the person who falls silent, who decided, who follows, or who published; None for an intervention.
        whom: the person who is followed; None for anything but a tie.
        place: the intervention's place in the configuration's list, from 0 on; None for anything else.
        post: the id of a post; None for anything else.
        was: the option that a decision took, or the kind of a post: `original`, `reply` or `reshare`; else empty.
        would_be: the option that is taken instead; empty for anything but a decision.
        chance: the chance that it was tried: 1 if all of its kind were.
        value: the measure of the other future.
        effect: the measure as recorded, less that of the other future: what the thing has added.
        other_draws: the same effect under other draws; None if it was not looked at.
    """

    kind: str
    what: str
    tick: int
    agent: int | None = None
    whom: int | None = None
    place: int | None = None
    post: int | None = None
    was: str = ""
    would_be: str = ""
    chance: float
    value: float
    effect: float
    other_draws: Interval | None = None


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates of one kind, and the sum of their effects.

    Args:
        candidates: how many there are; tried: those that were undone; with_effect: those that changed the measure.
        total: the sum of the effects of all candidates, estimated from those that were tried; None if none was.
        low, high: its interval; None if all were tried, or too few for an interval.
    """

    kind: str
    candidates: int
    tried: int
    with_effect: int
    total: float | None = None
    low: float | None = None
    high: float | None = None


class GroupShare(msgspec.Struct, frozen=True, kw_only=True):
    """The share of a group of people in the outcome: its Shapley value.

    Args:
        group: the value of the attribute that makes the group; people: how many have it.
        share: with an interval if only some of the orders of the groups were looked at.
    """

    group: str
    people: int
    share: Interval


class Causes(msgspec.Struct, frozen=True, kw_only=True):
    """The things that made an outcome, the largest effect first.

    Args:
        run: the run's directory; of: the measure; value: its value in the run.
        ticks: the whole ticks of the run.
        since: the tick from which people fall silent and ties end.
        tried: what was tried of each kind.
        causes: those with the largest effects, also under other draws; smaller: the others that have an effect.
        attribute: the attribute that makes the groups; empty if no groups were asked for.
        groups: the shares of groups of people, which add up to the value less `without_groups`: its value with all of
            them silent, or None if no groups were asked for.
        futures: how many other futures were run, those under other draws included.
        kept: the questions of these futures that keep their recorded answers; computed: those that were never asked,
            and that the embedded oracle answers. Both are 0 for a run whose oracle computes its answers.
        asked: those that the run never asked and that were put to its model now; taped: those that an earlier search
            has put to it, so that their answers are on the tape.
        notes: limits of the result, a sentence each.
    """

    run: str
    of: str
    value: float
    ticks: int
    since: int
    tried: tuple[Tried, ...]
    causes: tuple[Cause, ...]
    smaller: tuple[Cause, ...] = ()
    attribute: str = ""
    groups: tuple[GroupShare, ...] = ()
    without_groups: float | None = None
    futures: int
    kept: int
    computed: int
    asked: int = 0
    taped: int = 0
    notes: tuple[str, ...] = ()
