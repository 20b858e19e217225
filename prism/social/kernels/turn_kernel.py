"""A wave of the world: the people who are due, the outcomes of their turns, and their next triggers; and some ticks.

Some ticks are one call. It does what the engine does tick by tick, through the same kernels and the embedded choice. At
a wave in which somebody must take the turn alone, or whose outcome is not in the tables yet, it stops: the engine takes
that wave.

People are handled one at a time, in the order of their numbers. A person sees the posts and counts of those before them
in the wave, and nothing of those after them.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats, Ints
from prism.domain import ALONE
from prism.kernel_rng import below, delay_ticks, pick, unit
from prism.kernels import address_of, bring, called, kernel
from prism.rng import Draw
from prism.social import tables as col
from prism.social.kernels.choice_kernel import ACTIVITY, OWN, choose, look
from prism.social.kernels.feed_kernel import build_feed
from prism.social.kernels.post_kernel import act, drawn_about, has_view, note, place_in_feed, see
from prism.social.posts.post import NO_POST

_ONLINE, _ARRIVAL, _PUBLISHES = int(Draw.ONLINE), int(Draw.ARRIVAL), int(Draw.PUBLISHES)
_INTENTION = int(Draw.INTENTION)
_ATTENTION, _DELAY = int(Draw.ATTENTION), int(Draw.DELAY)

TARGET, IS_END, EFFECT, TO_BE, BARS, CHANGE = range(6)
"""The columns of kinds of updates: the state that is entered, or UNMOVED; 1 if the end of the round led there; the
number of the effect; the number of the action that is pending from then on, or -1 for what was; 1 if it is a
quarantine; and the number of the changes of attributes, of which the world takes care before."""
KIND_COLUMNS = 6
AHEAD = 8  # the people of a wave whose records are fetched while others take their turns


@kernel
def begin_round(tables: Any, tick: Any, factor: Any) -> None:
    """Plan who comes online in the round that begins, when, and whether with an original; `factor` is of the hour."""
    t = address_of(tables)
    people, key = t.people, t.key
    for person in range(t.settings.low, t.settings.high):
        # 1. Who may come: a silence that ends as this round begins counts no more.
        if people[person].silent == tick:
            people[person].silent = 0
        if t.roles[people[person].state] != col.OFFLINE or people[person].barred or people[person].silent:
            continue
        # 2. Who comes, who begins with an original, and when. Each has a draw of its own, so that another activity
        #    changes no arrival.
        if unit(key, person, tick, _ONLINE, 0) >= t.activity[person] * factor:
            continue
        posts = False
        if t.settings.may_post:
            posts = unit(key, person, tick, _PUBLISHES, 0) < t.rates[person if len(t.rates) > 1 else 0]
        t.due[person] = tick + below(t.settings.window, key, person, tick, _ARRIVAL, 0)
        people[person].next = col.WANTS_TO_POST if posts else col.FEED_READY


@kernel
def take_online(t: Any, tick: Any, due: Any, codes: Any) -> Any:
    """Write down, in the last tick of a round, everybody who is online and does not deliberate; return how many."""
    count = 0
    for person in range(t.settings.low, t.settings.high):
        row = t.people[person]
        # The round's end replaces any trigger that is planned. A person who deliberates keeps one of a later tick.
        if t.due[person] == tick or not (row.waits or row.barred):
            t.due[person] = col.NEVER
        if row.waits or row.barred or t.roles[row.state] == col.OFFLINE:
            continue
        if row.silent and row.silent != tick + 1:
            continue  # a session that a silence has interrupted ends in the last tick of the silence
        due[count], codes[count] = person, col.ROUND_ENDS
        count += 1
    return count


@kernel
def take_due(tables: Any, tick: Any, due: Any, codes: Any) -> Any:
    """Write down who is due, ascending, and the numbers of their triggers; return how many they are.

    In the last tick of a round everybody who is online and does not deliberate is due, because the round ends.
    """
    t = address_of(tables)
    people, feeds = t.people, t.counts.feeds
    if tick % t.settings.ticks_per_round == t.settings.ticks_per_round - 1:
        return take_online(t, tick, due, codes)
    # 1. The people with a trigger, without a branch, which the processor would often guess wrongly.
    planned = count = 0
    for person in range(t.settings.low, t.settings.high):
        due[planned] = person
        planned += t.due[person] == tick
    # 2. The trigger of each; silent people get none.
    for at in range(planned):
        if at + AHEAD < planned:
            bring(people[due[at + AHEAD]])
        person = due[at]
        row = people[person]
        t.due[person] = col.NEVER
        if row.silent:
            continue
        due[count], codes[count] = person, row.next
        count += 1
        if row.current != NO_POST:
            feeds[col.SEEN] += row.next == col.SEES_POST
            feeds[col.CONSIDERED] += row.next == col.DECIDES
    return count


@kernel
def select(tables: Any, tick: Any, agents: Any, codes: Any, chart: Any, numbers: Any, places: Any) -> None:
    """Write the outcomes of people's turns, by the numbers of their triggers and `ChartTables`.

    Args:
        places: gets the place of the outcome, for those whose outcome depends on guards.
    """
    t = address_of(tables)
    for at in range(len(agents)):
        # Bring the posts in view of those who come soon; their own records are in the cache already.
        if at + AHEAD < len(agents) and has_view(t, agents[at + AHEAD]):
            bring(t.posts[t.people[agents[at + AHEAD]].current - t.counts.posts[col.BASE]])
        person = agents[at]
        # 1. Outcomes that are the same for everybody in this state.
        group = t.people[person].state * chart.triggers + codes[at]
        number = chart.fixed[group]
        # 2. Outcomes that depend on guards: bit g of the pattern is guard g. Guards that read the post in view cannot
        #    be read if that is forgotten: then the turn is taken alone.
        if number == col.GUARDED:
            number = ALONE
            if not chart.views[group] or has_view(t, person):
                places[at] = chart.starts[group] + np.int64(called(t.settings.pattern, t, person, group, tick))
                number = chart.outcomes[places[at]]
        # 3. Outcomes that depend on the person's intention: the updates of the actions stand one after the other.
        if number >= col.DRAWS:
            weights = t.weights[t.kind_of[person]]
            drawn, count = drawn_about(t, person, tick, _INTENTION), len(weights) - 1
            number += pick(weights, count, weights[count], drawn) - col.DRAWS
        numbers[at] = number


@kernel
def is_fresh(t: Any, person: Any, tick: Any) -> Any:
    """Return whether a person's session belongs to the round of the next tick. After a late decision it may not."""
    return t.people[person].session_round == (tick + 1) // t.settings.ticks_per_round


@kernel
def plan(t: Any, person: Any, tick: Any, trigger: Any) -> None:
    """Make a trigger the next one of a person, in place of the one before."""
    t.due[person], t.people[person].next = tick, trigger


@kernel
def wait(t: Any, person: Any, state: Any, tick: Any) -> None:
    """Plan the trigger with which a state ends by itself; for a state without a delay, a timeout."""
    # A delay is (law, first number, second number, trigger), all as floats: the table has one type.
    delay = t.delays[state]
    law = np.int64(delay[0])
    if law == col.ATTRIBUTE:
        ticks = delay_ticks(0, t.attributes[person, np.int64(delay[1])], 0.0, 0.0)
    else:
        ticks = delay_ticks(law, delay[1], delay[2], drawn_about(t, person, tick, _DELAY) if law else 0.0)
    plan(t, person, tick + ticks, np.int64(delay[3]))


@kernel
def browse(t: Any, person: Any, state: Any, tick: Any) -> None:
    """Bring the next post of the feed into a person's view, or plan the delay if there is none."""
    row = t.people[person]
    if not is_fresh(t, person, tick):  # a decision came after the end of its round: this session is over
        plan(t, person, tick + 1, col.ROUND_ENDS)
    elif row.left > 0:
        row.current, row.came = t.feed[person, row.shown - row.left], tick
        row.left -= 1
        plan(t, person, tick + 1, col.SEES_POST)
    else:
        wait(t, person, state, tick)


@kernel
def attend(t: Any, person: Any, tick: Any) -> None:
    """Plan the trigger that follows a look at a post.

    The probability of a close look is `attention` to the power of the post's place in the feed (position bias).
    Source: the examination hypothesis of click models, Craswell et al. (2008).
    """
    chance = math.pow(t.settings.attention, place_in_feed(t, person) * 1.0)
    plan(t, person, tick + 1, col.DECIDES if drawn_about(t, person, tick, _ATTENTION) < chance else col.IGNORES)


@kernel
def rejoin(t: Any, person: Any, tick: Any, has_ended: Any) -> None:
    """Plan the return of somebody offline for the rest of the feed, or end the session."""
    row = t.people[person]
    row.current = NO_POST
    if not has_ended and row.left > 0 and is_fresh(t, person, tick):
        plan(t, person, tick + 1, col.FEED_READY)
    else:
        row.left = col.CLOSED


@kernel
def move(t: Any, person: Any, after: Any, tick: Any) -> None:
    """Commit a transition. Who comes online begins a session of the round."""
    row = t.people[person]
    before = row.state
    # Ticks inside so far, at any tick T: inside[1] + T * inside[0]. Each entry takes its tick off, each exit adds it.
    t.inside[before, 0] -= 1
    t.inside[before, 1] += tick
    t.inside[after, 0] += 1
    t.inside[after, 1] -= tick
    row.state, row.entered = after, tick
    if t.roles[before] == col.OFFLINE and t.roles[after] != col.OFFLINE and not is_fresh(t, person, tick):
        row.session_round, row.left = (tick + 1) // t.settings.ticks_per_round, col.CLOSED


@kernel
def stay(t: Any, person: Any, bars: Any, tick: Any) -> None:
    """Plan a timeout for somebody whose turn moved them nowhere, or remove who is quarantined for good."""
    row = t.people[person]
    if bars:
        row.barred, t.due[person] = 1, col.NEVER
    elif t.roles[row.state] != col.OFFLINE:
        plan(t, person, max(tick + 1, row.entered + t.settings.patience), col.TIMEOUT)


@kernel
def apply(tables: Any, tick: Any, agents: Any, codes: Any, kinds: Any) -> None:
    """Commit the turns of people, ascending: move each, carry out the effect, build the feed, plan the next trigger.

    Args:
        codes: the number of each one's update among the kinds; kinds: a row each.
    """
    t = address_of(tables)
    for at in range(len(agents)):
        if at + AHEAD < len(agents):
            later = agents[at + AHEAD]
            bring(t.people[later])
            bring(t.timeline[later])
            bring(t.seen[later])
        # 1. The turn is over, and its action is pending from now on.
        person, kind = agents[at], kinds[codes[at]]
        row = t.people[person]
        row.waits = 0
        after = kind[TARGET]
        if kind[TO_BE] >= 0:
            row.pending = kind[TO_BE]
        if after == col.UNMOVED:
            stay(t, person, kind[BARS], tick)
            continue
        # 2. The state, then the effect: it is about the post that is in view until step 3 brings another one.
        move(t, person, after, tick)
        if kind[EFFECT] and not row.silent:
            act(t, person, kind[EFFECT], row.current, tick)
        # 3. What comes next, by the role of the new state.
        role = t.roles[after]
        if role == col.BROWSE:
            if row.left == col.CLOSED and is_fresh(t, person, tick):
                build_feed(t, person, tick)
                if t.settings.notes_feeds:
                    note(t, person, col.FEED, row.shown, 0, 0)
            browse(t, person, after, tick)
        elif role == col.ATTEND:
            attend(t, person, tick)
        elif role == col.OFFLINE:
            rejoin(t, person, tick, kind[IS_END])
        else:
            wait(t, person, after, tick)


# Some ticks in one call

OPTIONS_MAX: Final = 64  # a question with as many options or more is asked by its agent alone
SETTLED: Final = 2  # is added to the outcome of an option that is known

DONE, ASKED, NEXT, UPDATES, WAVE = range(5)
"""The places of the results of a call: the ticks, the questions, those whose answers have taken effect, the updates,
and the number of people in the wave that is left to the engine, or -1."""
WAVES = 2  # the waves of a tick: triggers, and then decisions


class TurnTables(NamedTuple):
    """Tables of the turns of a chart, by the numbers of their outcomes."""

    asks: Ints  # 1 for a question
    kinds: Ints  # the rows of `apply`
    settled: Ints  # the outcome of each question and option plus SETTLED; 0 if it is not known
    with_view: NDArray[np.bool_]  # whether a trigger carries the post in view, by its number


class ChoiceTables(NamedTuple):
    """The embedded choice."""

    key: NDArray[np.uint64]  # `prism.kernel_rng.keys_of` its seed
    weights: Floats  # as for `prism.social.kernels.choice_kernel`
    constants: Floats  # of the options of kinds of questions, a row each, as `forms` are
    forms: Ints
    sizes: Ints  # how many options each kind has
    of_codes: Ints  # the kind of each number; -1: not known
    activity: Floats  # of each person, as a column of what is seen
    own: Floats  # the same


class WaveRoom(NamedTuple):
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
    """Room for the results of some ticks. Questions that were asked before come first."""

    progress: Ints  # by the places above
    counts: Ints  # updates by their number
    turns: Ints  # how many people were due in each tick
    who: Ints  # of the updates
    numbers: Ints  # of the updates
    ends: Ints  # how many updates there are after each wave of each tick
    asks: Ints  # how many questions each tick has
    events: Ints  # how many events there are after each wave of each tick
    agents: Ints  # of the questions, as the following are
    codes: Ints
    ticks: Ints
    options: Ints
    moves: Ints  # the outcome of each
    views: NDArray[Any]  # what they are about


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
        for_wave: `WaveRoom`; for_log: `StretchBuffers`, in which everything that is counted is 0, but for the questions
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
