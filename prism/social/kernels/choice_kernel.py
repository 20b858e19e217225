"""The embedded choice of one question, and of many: the probability of each option, and the option that is drawn."""

from __future__ import annotations

import math
from typing import Any

from prism.kernel_rng import pick, unit
from prism.kernels import compiled_as, kernel
from prism.rng import Draw
from prism.social.posts.post import EXPOSURE_TICKS

_CHOICE = int(Draw.CHOICE)

FIXED, ENGAGES, SPREADS = range(3)
"""The forms of an option's utility: the constant alone; with the terms of the person and the post; and popularity."""

TOPIC, TIE, POPULARITY, FATIGUE, QUALITY, EXPOSURE, ACTIVITY, OWN = range(8)
"""The columns of what a person sees: of the post the topic match, whether its author is followed, the popularity, the
fatigue, the quality and the exposures; of the person the activity, and the part of V of traits and own attributes."""
SEEN_COLUMNS = 8
SCALE = 7
WEIGHTS = ("topic", "tie", "popularity", "fatigue", "quality", "exposure", "activity", "scale")
"""The weights, in the order of the columns up to the activity, and the scale."""

AGENT, TICKS, INDEX = range(3)  # the columns of a draw: as `prism.rng.uniform` takes them


def sum_by_parts(values: Any, room: Any) -> Any:
    """Do what `exact_sum` does.

    The sum so far is kept as parts that share no bits, ascending; so nothing is lost before the end.
    Source: Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates" (1997).
    """
    parts = 0
    for at in range(len(values)):
        # 1. Add a value to each part, and keep what the sum of the two loses.
        value, kept = values[at], 0
        for part in range(parts):
            larger, smaller = value, room[part]
            if abs(larger) < abs(smaller):
                larger, smaller = smaller, larger
            value = larger + smaller
            lost = smaller - (value - larger)
            if lost:
                room[kept] = lost
                kept += 1
        room[kept] = value
        parts = kept + 1
    # 2. Add the parts from the largest on, until something is lost.
    total, lost = 0.0, 0.0
    while parts and not lost:
        parts -= 1
        before = total
        total = before + room[parts]
        lost = room[parts] - (total - before)
    # 3. What is lost is half of the last bit or less. If it is half, the next part says on which side the sum is.
    if parts and (lost > 0.0) == (room[parts - 1] > 0.0):
        further = total + 2.0 * lost
        if further - total == 2.0 * lost:
            return further
    return total


@compiled_as(sum_by_parts)
def exact_sum(values: Any, room: Any) -> Any:  # noqa: ARG001  # machine code needs the room
    """Return the sum of numbers, rounded once; there is room for as many."""
    return math.fsum(values)


@kernel
def utility(constant: Any, form: Any, b: Any, seen: Any) -> Any:
    """Return V of an option, by the weights `b` and what the person sees."""
    if form == FIXED:
        return constant
    total = constant + b[TOPIC] * seen[TOPIC] + b[TIE] * seen[TIE] + b[ACTIVITY] * seen[ACTIVITY]
    total += b[POPULARITY] * seen[POPULARITY] if form == SPREADS else 0.0
    total -= b[FATIGUE] * seen[FATIGUE]
    total += b[QUALITY] * math.log(seen[QUALITY]) if b[QUALITY] else 0.0
    return total + b[EXPOSURE] * (seen[EXPOSURE] - 1.0) + seen[OWN]


@kernel
def weigh(constants: Any, forms: Any, b: Any, seen: Any, weights: Any, room: Any) -> None:
    """Write down the probability of each option of a question, which add up to 1; there is room for as many numbers."""
    # exp(V / scale) over the sum of them all. The highest V is taken off first: exp would overflow, and the quotients
    # stay the same. The sum is exact, so that it does not depend on the order of options.
    count = len(constants)
    highest = -math.inf
    for option in range(count):
        weights[option] = utility(constants[option], forms[option], b, seen) / b[SCALE]
        highest = max(highest, weights[option])
    for option in range(count):
        weights[option] = math.exp(weights[option] - highest)
    total = exact_sum(weights, room)
    for option in range(count):
        weights[option] /= total


@kernel
def look(tick: Any, agents: Any, views: Any, seen: Any, draws: Any) -> None:
    """Write down the draws about posts, and what people see of them, but for the columns of the people.

    Args:
        views: as `post_kernel.see` writes them; draws: as `prism.social.posts.post.key_about` says.
    """
    for at in range(len(agents)):
        view = views[at]
        seen[at, TOPIC], seen[at, TIE] = view.topic_match, view.followed
        seen[at, POPULARITY], seen[at, FATIGUE] = view.popularity, view.fatigue
        seen[at, QUALITY], seen[at, EXPOSURE] = view.quality, view.exposures
        draws[at, AGENT], draws[at, INDEX] = agents[at], view.origin
        # A view without an origin was made by hand: its draws are those of the tick.
        draws[at, TICKS] = view.viewed + (view.exposures - 1) * EXPOSURE_TICKS if view.origin else tick


@kernel
def choose(
    key: Any, constants: Any, forms: Any, sizes: Any, which: Any, b: Any, seen: Any, draws: Any, room: Any, chosen: Any
) -> None:
    """Write down the number of the option drawn in each question.

    Args:
        constants, forms: of the options of each kind of question, and sizes: how many each kind has.
        which: the kind of each question.
        chosen: of a question without probabilities, because a weight of a person is too large, it gets -1.
    """
    # Shapes, of q questions and kinds of at most o options: constants, forms (kinds, o); seen (q, SEEN_COLUMNS); draws
    # (q, 3); room (2, o). What is behind the options of a kind in a row is not read.
    for at in range(len(seen)):
        kind, count = which[at], sizes[which[at]]
        probabilities = room[0, :count]
        weigh(constants[kind, :count], forms[kind, :count], b, seen[at], probabilities, room[1])
        drawn = unit(key, draws[at, AGENT], draws[at, TICKS], _CHOICE, draws[at, INDEX])
        chosen[at] = pick(probabilities, count, exact_sum(probabilities, room[1]), drawn)
