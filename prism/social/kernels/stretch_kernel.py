"""Some ticks in one call: the people who are due, the outcomes of their turns, and the embedded choice.

It does what the engine does tick by tick, through the same kernels. At a wave in which somebody must take the turn
alone, or whose outcome is not in the tables yet, it stops: the engine takes that wave.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats, Ints
from prism.kernels import address_of, kernel
from prism.social import tables as col
from prism.social.kernels.choice_kernel import ACTIVITY, OWN, choose, look
from prism.social.kernels.post_kernel import see
from prism.social.kernels.turn_kernel import apply, select, take_due

OPTIONS_MAX: Final = 64
"""A question with as many options or more is asked by its agent alone."""
SETTLED: Final = 2
"""Is added to the outcome of an option that is known."""

DONE, ASKED, NEXT, UPDATES, WAVE = range(5)
"""The places of the results of a call: the ticks, the questions, those whose answers have taken effect, the updates,
and the number of people in the wave that is left to the engine, or -1."""
PROGRESS = 5
WAVES = 2
"""The waves of a tick: triggers, and then decisions."""


class TurnTables(NamedTuple):
    """Tables of the turns of a chart, by the numbers of their outcomes.

    Args:
        asks: 1 for a question.
        kinds: the rows of `prism.social.kernels.turn_kernel.apply`.
        settled: the outcome of each question and option plus SETTLED; 0 if it is not known.
        with_view: whether a trigger carries the post in view, by its number.
    """

    asks: Ints
    kinds: Ints
    settled: Ints
    with_view: NDArray[np.bool_]


class ChoiceTables(NamedTuple):
    """The embedded choice.

    Args:
        key: `prism.kernel_rng.keys_of` its seed; weights: as for `prism.social.kernels.choice_kernel`.
        constants, forms, sizes: the options of kinds of questions; of_codes: the kind of each number; -1: not known.
        activity, own: of each person, as columns of what is seen.
    """

    key: NDArray[np.uint64]
    weights: Floats
    constants: Floats
    forms: Ints
    sizes: Ints
    of_codes: Ints
    activity: Floats
    own: Floats


class Wave(NamedTuple):
    due: Ints
    codes: Ints
    numbers: Ints
    places: Ints
    movers: Ints
    moves: Ints
    seen: Floats
    draws: Ints
    which: Ints
    room: Floats


class StretchBuffers(NamedTuple):
    """Room for the results of some ticks.

    Args:
        progress: by the places above.
        counts: updates by their number; turns: how many people were due.
        who, numbers: of the updates; ends: how many there are after each wave of each tick.
        asks: how many questions each tick has; events: how many events there are after each wave of each tick.
        agents, codes, ticks, options, moves: of the questions, with the outcome of each: first those that were asked
            before.
        views: what they are about.
    """

    progress: Ints
    counts: Ints
    turns: Ints
    who: Ints
    numbers: Ints
    ends: Ints
    asks: Ints
    events: Ints
    agents: Ints
    codes: Ints
    ticks: Ints
    options: Ints
    moves: Ints
    views: NDArray[Any]


@kernel
def are_known(t: Any, count: Any, known: Any, choosing: Any, wave: Any) -> Any:
    """Return whether a kernel can take the turns of a wave, whose numbers it has."""
    # Left to the engine: a turn that is taken alone or not looked up yet, a kind of question that the choice does not
    # know, and a question without a post in view, whose bytes are none of `write_views`.
    for at in range(count):
        number, person = wave.numbers[at], wave.due[at]
        if number < 0:
            return False
        if not known.asks[number]:
            continue
        if number >= len(choosing.of_codes) or choosing.of_codes[number] < 0:
            return False
        if t.people[person].current < t.counts.posts[col.FIRST] or not known.with_view[wave.codes[at]]:
            return False
    return True


@kernel
def part(count: Any, known: Any, wave: Any, log: Any) -> Any:
    """Part those who ask from those who move; return how many ask, or -1 without room for them, and how many move."""
    asked, moved, first = 0, 0, log.progress[ASKED]
    most = min(len(log.agents) - first, len(wave.which))
    for at in range(count):
        if known.asks[wave.numbers[at]]:
            if asked == most:
                return -1, 0
            log.agents[first + asked], log.codes[first + asked] = wave.due[at], wave.numbers[at]
            asked += 1
        else:
            wave.movers[moved], wave.moves[moved] = wave.due[at], wave.numbers[at]
            moved += 1
    return asked, moved


@kernel
def answer(t: Any, tick: Any, asked: Any, known: Any, choosing: Any, wave: Any, log: Any) -> Any:
    """Write down and answer the questions that come next in the log; return whether all their outcomes are known."""
    first = log.progress[ASKED]
    agents, codes = log.agents[first : first + asked], log.codes[first : first + asked]
    views, seen, draws = log.views[first : first + asked], wave.seen[:asked], wave.draws[:asked]
    # 1. What each of them sees, straight into the log.
    see(t, agents, tick, views)
    look(tick, agents, views, seen, draws)
    for at in range(asked):
        seen[at, ACTIVITY], seen[at, OWN] = choosing.activity[agents[at]], choosing.own[agents[at]]
        wave.which[at] = choosing.of_codes[codes[at]]
        log.ticks[first + at] = tick
    # 2. What each of them chooses, straight into the log.
    which, options = wave.which[:asked], log.options[first : first + asked]
    constants, forms, sizes = choosing.constants, choosing.forms, choosing.sizes
    choose(choosing.key, constants, forms, sizes, which, choosing.weights, seen, draws, wave.room, options)
    # 3. The outcome of each choice. If one is not in the table yet, nothing is committed: the log's ASKED still stands
    #    before these questions, and the engine takes the whole wave.
    for at in range(first, first + asked):
        move = 0 if log.options[at] < 0 else known.settled[log.codes[at] * OPTIONS_MAX + log.options[at]]
        if move < SETTLED:
            return False
        log.moves[at] = move - SETTLED
    return True


@kernel
def commit(t: Any, tick: Any, which: Any, agents: Any, moves: Any, known: Any, log: Any) -> None:
    """Write down and apply the updates of a wave of a tick, the first or the second."""
    progress = log.progress
    first = progress[UPDATES]
    for at in range(len(moves)):
        log.counts[moves[at]] += 1
        log.who[first + at], log.numbers[first + at] = agents[at], moves[at]
    apply(t, tick, agents, moves, known.kinds)
    progress[UPDATES] += len(moves)
    for after in range(which, WAVES):
        log.ends[progress[DONE], after] = progress[UPDATES]
        log.events[progress[DONE], after] = t.counts.posts[col.EVENTS]


@kernel
def take_wave(t: Any, tick: Any, count: Any, known: Any, choosing: Any, wave: Any, log: Any) -> Any:
    """Take the turns of those who are due, whose numbers the wave has; return whether it could be done."""
    # 1. Nothing is written to the world before it is certain that the whole wave can be done here.
    if not are_known(t, count, known, choosing, wave):
        return False
    asked, moved = part(count, known, wave, log)
    if asked < 0 or (asked and not answer(t, tick, asked, known, choosing, wave, log)):
        return False
    # 2. Those who ask wait; the others' updates take effect.
    first = log.progress[ASKED]
    for at in range(first, first + asked):
        t.people[log.agents[at]].waits = 1
    log.progress[ASKED] += asked
    log.asks[log.progress[DONE]] = asked
    commit(t, tick, 0, wave.movers[:moved], wave.moves[:moved], known, log)
    return True


@kernel
def run_ticks(
    tables: Any,
    tick: Any,
    until: Any,
    delay: Any,
    limit: Any,
    chart_tables: Any,
    known_tables: Any,
    choice_tables: Any,
    for_wave: Any,
    for_log: Any,
) -> None:
    """Run ticks from one on to before `until`, as long as there is room.

    Args:
        delay: the ticks after which an answer takes effect.
        limit: the updates after which no further tick is run.
        chart_tables: `ChartTables`; known_tables: `TurnTables`; choice_tables: `ChoiceTables`.
        for_wave: `Wave`; for_log: `StretchBuffers`, in which everything that is counted is 0, but for the questions
            asked before.
    """
    t, chart, known = address_of(tables), address_of(chart_tables), address_of(known_tables)
    choosing, wave, log = address_of(choice_tables), address_of(for_wave), address_of(for_log)
    progress = log.progress
    progress[WAVE] = -1
    while tick < until and progress[UPDATES] < limit:
        # 1. Before its waves a tick has nothing.
        for after in range(WAVES):
            log.ends[progress[DONE], after] = progress[UPDATES]
            log.events[progress[DONE], after] = t.counts.posts[col.EVENTS]
        # 2. The wave of triggers. If it is left to the engine, `due` and `codes` stay in the room for it.
        count = take_due(t, tick, wave.due, wave.codes)
        if count:
            select(t, tick, wave.due[:count], wave.codes[:count], chart, wave.numbers, wave.places)
            if not take_wave(t, tick, count, known, choosing, wave, log):
                progress[WAVE] = count
                return
        # 3. The decisions that take effect in this tick: after its wave, as the engine has it. The log is a queue:
        #    questions are in it in the order of ticks, and NEXT is the first without effect.
        start = stop = progress[NEXT]
        while stop < progress[ASKED] and log.ticks[stop] + delay <= tick:
            stop += 1
        if stop > start:
            commit(t, tick, 1, log.agents[start:stop], log.moves[start:stop], known, log)
            progress[NEXT] = stop
        # 4. The end of the tick.
        log.turns[progress[DONE]] = count
        progress[DONE] += 1
        tick += 1
