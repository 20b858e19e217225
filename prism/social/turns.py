"""The turns of people, many at once: a chart's guards as a kernel, and a number for each outcome of a turn.

Many ticks are one call of a kernel where people are few: Python between two ticks would take longer than a tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any, Final

import numpy as np

from prism import kernels
from prism.agents.social_agent import ANYBODY
from prism.agents.turn import Decision, Source
from prism.agents.waves import Answered, Decisions, Forms, Kind, QuestionKind, Questions, Wave
from prism.columns import Ints, begins_run
from prism.config import FeedConfig
from prism.config.model import ACTIONS as INTENDED
from prism.config.model import IntentionsConfig, RelevanceConfig
from prism.domain import ALONE, Stretch, Turns
from prism.events import LIKES, POSTS, QUESTIONS
from prism.events import UPDATES as UPDATES_TABLE
from prism.expressions.tree import reads_view
from prism.kernels import Held
from prism.rng import Draw
from prism.rows import Values
from prism.social import tables as col
from prism.social.choice import ChoiceOracle
from prism.social.field_source import HEAD, FieldSource, drawn_in_view
from prism.social.kernels import choice_kernel, post_kernel, turn_kernel, view_kernel
from prism.social.kernels.choice_kernel import SEEN_COLUMNS
from prism.social.kernels.turn_kernel import (
    ASKED,
    DONE,
    EFFECT,
    NEXT,
    OPTIONS_MAX,
    SETTLED,
    UPDATES,
    WAVE,
    WAVES,
    ChoiceTables,
    StretchBuffers,
    TurnTables,
    WaveRoom,
)
from prism.social.kernels.view_kernel import TextTables
from prism.social.network import CONTEXTS
from prism.social.people.persona import Intentions
from prism.social.people.population import Population
from prism.social.posts.post import PostView
from prism.social.state import SocialState
from prism.social.tables import ChartTables, grown
from prism.social.ties.graph import FollowGraph
from prism.social.vocabulary import DRAFTED, intend
from prism.social.world import SocialWave, SocialWorld
from prism.statechart import Oracle
from prism.statechart.statechart import Rows, Statechart
from prism.statechart.transitions import Choice, Transition

LIMIT: Final = 8192  # the updates after which the event loop gets a turn: 5 to 10 ms of work
LIMIT_PLAIN: Final = 256  # the same in plain Python: about 20 ms
GUARDS_MAX: Final = 12
"""The most guards of one state and trigger that are read at once: every pattern of them has a place in a table."""


class SocialTurns(Turns):
    """The turns of people in one world. Choices are put to the oracle, or the first option is taken."""

    def __init__(self, world: SocialWorld, chart: Statechart[Any], intentions: IntentionsConfig, *, asks: bool) -> None:
        self._world, self._chart, self._asks = world, chart, asks
        self._intentions = Intentions(intentions)
        self.forms: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._choices: dict[int, Choice[Any]] = {}  # `{number of a question: its options}`
        self.asked: dict[int, QuestionKind] = {}
        self._wave: WaveRoom | None = None
        self._log: StretchBuffers | None = None
        self._hold = [Held() for _ in range(5)]
        self._decided: dict[tuple[int, str, str], int] = {}
        """`{(number of a question, option, source): the number of the update that takes it}`."""
        self._settled = np.zeros(0, dtype=np.int64)
        """The outcome of each question and option that an oracle has chosen, and SETTLED; 0: it is not known yet."""
        self._triggers, self._are_compiled = 0, False
        """The triggers for which there are tables; 0 before the first wave."""

    def number(self, kind: Kind) -> int:
        found = self._numbers.get(kind)
        if found is None:
            found = self._numbers[kind] = len(self.forms)
            self.forms.append(kind)
        return found

    def prepare(self) -> None:
        """Look up the outcome of each trigger in each state, and write the guards that decide it as a kernel.

        Nothing is done if that is done for all triggers, as kernels are now.
        """
        world, chart, triggers = self._world, self._chart, self._world.triggers_known
        world.follow_kernels()
        if (self._triggers, self._are_compiled) == (len(triggers), kernels.are_compiled()):
            return
        self._triggers, self._are_compiled = len(triggers), kernels.are_compiled()
        fixed, starts = np.full((2, len(triggers) * len(world.states_known)), ALONE, dtype=np.int64)
        views = np.zeros(len(fixed), dtype=np.bool_)
        self._with_view = np.array([world.has_view(trigger) for trigger in triggers], dtype=np.bool_)
        self._rows: dict[int, Rows[Any]] = {}
        drawn = drawn_in_view(Draw.CHART, Draw.CHART_NORMAL)
        fields, used, bodies = FieldSource(world.changing.tables, drawn, columns="t.own"), 0, list[str]()
        for group, (before, trigger) in enumerate(product(world.states_known, triggers)):
            rows = chart.rows(before, trigger)
            if rows is None:
                fixed[group] = self.number(Kind(trigger, before.value, before.value, Source.NO_ROW))
            elif rows.certain is not None:
                fixed[group] = self._of_selected(rows.certain, rows)
            elif (body := _body(fields, rows, group)) is not None:
                fixed[group], starts[group], self._rows[used] = col.GUARDED, used, rows
                views[group] = reads_view(rows.reads)
                used += 1 << len(rows.guarded)
                bodies.append(body)
        outcomes = np.full(used, col.UNKNOWN, dtype=np.int64)
        self._tables = ChartTables(self._triggers, fixed, starts, views, outcomes)
        traits, kind_of = world.traits.traits()
        weights = [self._intentions.weights(each) for each in traits]
        table = np.array([[*each, math.fsum(each)] for each in weights]).reshape(len(weights), len(INTENDED) + 1)
        text = "\n".join([HEAD, "def pattern(t, person, group, tick):", *bodies, "    return 0.0\n"])
        state = world.network.state
        pattern = kernels.pointer_to(kernels.generated("chart", text).pattern, state.t)
        state.t = state.t._replace(
            own=fields.columns(),
            settings=state.t.settings._replace(pattern=pattern),
            weights=table,
            kind_of=np.asarray(kind_of, dtype=np.int32),
        )

    def take(self, wave: Wave[Any], numbers: Ints) -> None:
        self.prepare()
        places = np.zeros(len(numbers), dtype=np.int64)
        while True:
            t = self._world.network.state.held
            turn_kernel.select(t, wave.tick, wave.agents, wave.codes, self._tables, numbers, places)
            unknown = (numbers == col.UNKNOWN).nonzero()[0]
            if not len(unknown):
                return
            for place in np.unique(places[unknown]).tolist():
                # A pattern of guards that has not been met yet.
                first = max(each for each in self._rows if each <= place)
                rows = self._rows[first]
                self._tables.outcomes[place] = self._of_selected(rows.outcome(place - first), rows)

    def questions(self, wave: Wave[Any], places: Ints, numbers: Ints) -> Questions[PostView] | None:
        """Return the questions of a wave in columns; None if one has a text of its own, or no post in view."""
        world, network = self._world, self._world.network
        if not network.has_plain_views:
            return None
        agents, codes = wave.agents[places], numbers[places]
        is_seen = world.people["current"][agents] >= network.living.first
        if not (is_seen & self._with_view[wave.codes[places]]).all():
            return None
        views = network.see(agents, wave.tick)
        columns = network.words.in_columns(wave.tick, views)
        return Questions(wave.tick, agents, self.asked, codes, columns, CONTEXTS, views)

    def settled(self, decisions: Decisions[Any]) -> Ints:
        questions = decisions.questions
        pairs = questions.codes * OPTIONS_MAX + decisions.chosen
        self._settled = grown(self._settled, OPTIONS_MAX * len(self.forms))
        numbers: Ints = self._settled[pairs]
        if not numbers.all():
            for asked, option in {divmod(pair, OPTIONS_MAX) for pair in pairs[numbers == 0].tolist()}:
                taken = self._taken(asked, self.asked[asked].options[option], Source.ORACLE.value)
                self._settled[asked * OPTIONS_MAX + option] = taken + SETTLED
            numbers = self._settled[pairs]
        numbers -= SETTLED
        numbers[self._world.people["entered"][questions.agents] > questions.tick] = ALONE
        return numbers

    def stretch(
        self, ticks: range, delay: int, answers: Forms, oracle: Oracle[Any], pending: Sequence[Answered]
    ) -> Stretch | None:
        """Run ticks in a kernel, if an embedded choice answers their questions and none needs more than kernels do."""
        world, network, state = self._world, self._world.network, self._world.network.state
        is_plain = network.has_plain_views and network.reshares_received is None
        is_more = world.changing.rows or world.memory is not None or world.config.run.record_feeds or world.drafts
        if not isinstance(oracle, ChoiceOracle) or is_more or not is_plain:
            return None
        # 1. What is known of the turns, and the answers that have not taken effect yet.
        self.prepare()
        choosing, source = oracle.for_kernels(self.asked), Source.ORACLE.value
        if choosing is None:
            return None
        moves = [self.settled(Decisions(ticks.start, asked, chosen, source)) for asked, chosen in pending]
        if any((each == ALONE).any() for each in moves):
            return None
        answers.learn(self.forms, self.asked)
        self._settled = grown(self._settled, OPTIONS_MAX * len(self.forms))
        known = TurnTables(answers.asks, world.kind_rows(answers.kinds), self._settled, self._with_view)
        if (known.kinds[:, EFFECT] > col.FEED).any():
            return None
        wave, log = self._rooms(len(world.people), len(answers.kinds), choosing.constants.shape[1], len(ticks))
        state.make_room(len(log.who))
        if ticks.start % world.ticks_per_round == 0:
            world.begin_round(ticks.start)
        log.progress[:], taken, before = 0, network.taken, 0
        for (questions, chosen), move in zip(pending, moves, strict=True):
            to = slice(before, before + len(questions))
            log.agents[to], log.codes[to], log.ticks[to] = questions.agents, questions.codes, questions.tick
            log.options[to], log.moves[to] = chosen, move
            before = to.stop
        log.progress[ASKED] = before
        # 2. The ticks.
        limit = LIMIT if kernels.are_compiled() else LIMIT_PLAIN
        tables = self._tables, known, choosing, wave, log
        held = (hold(each) for hold, each in zip(self._hold, tables, strict=True))
        turn_kernel.run_ticks(state.held, ticks.start, ticks.stop, delay, limit, *held)
        network.taken = int(state.t.counts.posts[col.END])
        done, left = ticks.start + int(log.progress[DONE]), int(log.progress[WAVE])
        world.ticks = done + (left >= 0)
        network.check_limits(done)
        rest = None if left < 0 else SocialWave(world, done, wave.due[:left].copy(), wave.codes[:left].copy())
        # 3. The progress of these ticks.
        done, asked, settled, updates = (int(log.progress[place]) for place in (DONE, ASKED, NEXT, UPDATES))
        # 4. Events are in the order of their waves, so each table has its rows in this order, too.
        posts = state.t.counts.posts
        events = state.t.events[: int(posts[col.EVENTS])]
        posts[col.EVENTS] = 0
        found: dict[str, tuple[Sequence[Values], Ints]] = {}
        what, happened = events["what"], network.rows_of(events, taken)
        for name, is_of in ((POSTS.name, (what > col.LIKE) & (what < col.FEED)), (LIKES.name, what == col.LIKE)):
            if name in happened:
                found[name] = happened[name], np.append(0, is_of.cumsum())[log.events[:done]]
        # 5. The answers.
        new = slice(before, asked)
        columns = network.words.in_columns(log.ticks[new], log.views[new].copy())
        agents, codes, options = log.agents[new].copy(), log.codes[new].copy(), log.options[new].copy()
        found[UPDATES_TABLE.name] = (log.who[:updates].copy(), log.numbers[:updates].copy()), log.ends[:done].copy()
        asks = log.asks[:done].cumsum()
        found[QUESTIONS.name] = (agents, codes, *columns), np.repeat(asks[:, None], WAVES, axis=1)
        # 6. The new questions whose answers have not taken effect, by their ticks.
        waiting, start = list[tuple[Questions[PostView], Ints]](), max(before, settled)
        starts = (start + begins_run(log.ticks[start:asked]).nonzero()[0]).tolist()
        for first, last in pairwise([*starts, asked]):
            here, tick = slice(first - before, last - before), int(log.ticks[first])
            some = Questions[PostView](tick, agents[here], self.asked, codes[here], columns, CONTEXTS, first=here.start)
            waiting.append((some, options[here]))
        return Stretch(
            ticks=done,
            tables=found,
            kinds=answers.kinds,
            asked_kinds=self.asked,
            triggers=int(log.turns[:done].sum()),
            updates=log.counts.tolist(),
            asked=asked - before,
            pending=waiting,
            wave=rest,
        )

    def _rooms(self, people: int, forms: int, options: int, ticks: int) -> tuple[WaveRoom, StretchBuffers]:
        # Nobody has more than one trigger in a tick, and a decision beside it. If more ask than there is room for, the
        # engine takes their wave. Memory that is not written is not taken.
        asks = LIMIT + people
        if self._wave is None or self._wave.room.shape[1] < options:
            self._wave = wave_of(people, asks, options)
        log = self._log
        if log is None or len(log.counts) < forms or len(log.ends) < ticks:
            self._log = log = log_of(LIMIT + 2 * people, asks, 2 * forms, ticks)
        for each in (log.counts, log.turns, log.asks):
            each[:] = 0
        return self._wave, log

    def decided(self, asked: int, decision: Decision, agent: int) -> int:
        """Return the outcome: ALONE if the person has moved since, or the decision has a reason or content."""
        if decision.reason or decision.content or decision.asked < self._world.people["entered"][agent]:
            return ALONE
        return self._taken(asked, decision.state, decision.source)

    def _taken(self, asked: int, option: str, source: str) -> int:
        key = asked, option, source
        if key not in self._decided:
            row = self._choices[asked].option(option)
            is_known = row is not None and row.target in self._chart.states and row.action is not intend
            self._decided[key] = self._of_row(row, source) if row is not None and is_known else ALONE
        return self._decided[key]

    # Tables

    def _of_selected(self, found: Transition[Any] | Choice[Any] | None, rows: Rows[Any]) -> int:
        if isinstance(found, Transition):
            return self._of_row(found, Source.RULE)
        if found is None:
            return self.number(Kind(rows.trigger, rows.source.value, rows.source.value, Source.NO_ROW))
        if not self._asks:
            return self._of_row(found.options[0], Source.RULE)
        if not 1 < len(found.options) < OPTIONS_MAX:
            return ALONE
        number = len(self.forms)
        self.forms.append(Kind(found.trigger, found.source.value, "", ""))
        self._choices[number] = found
        targets = tuple(target.value for target in found.targets)
        self.asked[number] = QuestionKind(found.trigger, found.source.value, targets)
        return number

    def _of_row(self, row: Transition[Any], source: str) -> int:
        """Return the number of the update that a row makes; ALONE if its action is not in the vocabulary."""
        if row.target is None:
            return ALONE
        kind = Kind(row.trigger, row.source.value, row.target.value, source)
        if row.action is None:
            return self.number(kind)
        if row.action is intend:
            if not self._world.has_view(row.trigger):
                return ALONE
            first = len(self.forms)
            self.forms += [kind._replace(effect=action) for action in INTENDED]
            return first + col.DRAWS
        drafted = DRAFTED.get(row.action)
        return ALONE if drafted is None else self.number(kind._replace(effect=drafted))


def _body(fields: FieldSource, rows: Rows[Any], group: int) -> str | None:
    """Return the lines that read the guards of rows; None if they cannot be read in columns."""
    if not rows.only_read or len(rows.guarded) > GUARDS_MAX:
        return None
    found = [fields.value(each) for each in rows.expressions]
    if None in found:
        return None
    text = " + ".join(f"{1 << place}.0 * ({each})" for place, each in enumerate(found))
    return "\n".join([f"    if group == {group}:", *fields.lines(rows.reads, 8), f"        return {text}"])


def _ints(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.int64)


def wave_of(people: int, asks: int, options: int) -> WaveRoom:
    of_people = {name: _ints(people) for name in ("due", "codes", "numbers", "places", "movers", "moves")}
    seen, draws, which = np.zeros((asks, SEEN_COLUMNS)), _ints(asks, 3), _ints(asks)
    return WaveRoom(**of_people, seen=seen, draws=draws, which=which, room=np.zeros((2, options)))


def log_of(updates: int, asks: int, forms: int, ticks: int) -> StretchBuffers:
    """Return room for updates of some forms, for questions, and for ticks with one more that is not done."""
    found = {name: _ints(updates) for name in ("who", "numbers")}
    found |= {name: _ints(ticks + 1) for name in ("turns", "asks")}
    found |= {name: _ints(ticks + 1, WAVES) for name in ("ends", "events")}
    found |= {name: _ints(asks) for name in ("agents", "codes", "ticks", "options", "moves")}
    views = np.zeros(asks, dtype=col.VIEW_FIELDS)
    return StretchBuffers(progress=_ints(WAVE + 1), counts=_ints(forms), views=views, **found)


_so_far: Final = [0]  # the person-ticks of all runs of this process that were made ready: a worker does many small ones
_called: Final[list[bool]] = []


def make_ready(person_ticks: int) -> None:
    """Compile or load the kernels, if that ends the runs of this process sooner, the next one included."""
    _so_far[0] += person_ticks
    if _called or not kernels.are_wanted(_so_far[0]):
        return
    _called.append(True)
    with kernels.kept():
        kernels.compile_kernels()
        people = Population(personas=(ANYBODY, ANYBODY), graph=FollowGraph(2, [0], [1]))
        state = SocialState(people, FeedConfig(), 0, 24, RelevanceConfig())
        state.make_room(2)
        state.t = state.t._replace(activity=np.zeros(2))
        t = state.held
        due, codes = (np.zeros(2, dtype=np.int64) for _ in range(2))
        nobody = due[:0]
        turn_kernel.begin_round(t, 0, 1.0)
        turn_kernel.take_due(t, 0, due, codes)
        kinds, truths = np.zeros((1, turn_kernel.KIND_COLUMNS), dtype=np.int64), np.zeros(1, dtype=np.bool_)
        turn_kernel.apply(t, 0, nobody, nobody, kinds)
        chart = ChartTables(1, due, due, truths, due)
        turn_kernel.select(t, 0, nobody, nobody, chart, nobody, nobody)
        wave, log = wave_of(2, 1, 1), log_of(2, 1, 1, 1)
        views = log.views[:0]
        post_kernel.see(t, nobody, 0, views)
        some, table = np.zeros((1, 1)), np.zeros((1, 1), dtype=np.int64)
        seen, draws = wave.seen[:0], wave.draws[:0]
        choice_kernel.look(0, nobody, views, seen, draws)
        choice_kernel.choose(state.t.key, some, table, due, due, some[0], seen, draws, some, due)
        text = np.zeros(1, dtype=np.uint8)
        words = Held()(TextTables(text, due, text, due, text, due))
        view_kernel.write_texts(state.t.key, views, words, text, text, text, log.events)
        view_kernel.write_triggers(t, state.t.key, 0, nobody, nobody, truths, words, text, due, views, text, due)
        post_kernel.act_all(t, kinds[:0, :3].copy(), 0)
        post_kernel.change_lists(t, nobody, nobody, nobody)
        known = TurnTables(due, kinds, due, truths)
        choice = ChoiceTables(state.t.key, some[0], some, table, due, due, some[0], some[0])
        turn_kernel.run_ticks(t, 0, 0, 0, 0, chart, known, choice, wave, log)
