"""Ticks in one kernel call: many if people are few, as Python between two ticks would take longer than a tick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from prism import kernels
from prism.agents.questions import Forms, QuestionKind, Questions
from prism.agents.social_agent import ANYBODY
from prism.columns import Ints, begins_run
from prism.config import FeedConfig
from prism.config.model import RelevanceConfig
from prism.domain import Stretch
from prism.events import LIKES, POSTS, QUESTIONS
from prism.events import UPDATES as UPDATES_TABLE
from prism.kernels import Held, are_compiled
from prism.rows import Values
from prism.social import tables as col
from prism.social.kernels import choice_kernel, post_kernel, stretch_kernel, turn_kernel, view_kernel
from prism.social.kernels.choice_kernel import SEEN_COLUMNS
from prism.social.kernels.stretch_kernel import (
    ASKED,
    DONE,
    NEXT,
    PROGRESS,
    UPDATES,
    WAVE,
    WAVES,
    ChoiceTables,
    StretchBuffers,
    TurnTables,
    Wave,
)
from prism.social.kernels.turn_kernel import EFFECT
from prism.social.kernels.view_kernel import TextTables
from prism.social.people.population import Population
from prism.social.posts.post import PostView
from prism.social.state import SocialState
from prism.social.tables import ChartTables
from prism.social.ties.graph import FollowGraph
from prism.social.view_words import CONTEXTS
from prism.social.world import SocialWave, SocialWorld

LIMIT: Final = 8192
"""The updates after which the event loop gets a turn: 5 to 10 ms of work."""
LIMIT_PLAIN: Final = 256
"""The same in plain Python: about 20 ms."""


Pending = Sequence[tuple[Questions[PostView], Ints, Ints]]
"""Questions with their answers and the outcomes of these, oldest first."""


class Stretches:
    def __init__(self, world: SocialWorld) -> None:
        self._world = world
        self._wave: Wave | None = None
        self._log: StretchBuffers | None = None
        self._hold = [Held() for _ in range(5)]

    def are_possible(self) -> bool:
        """Return whether no tick of this world needs more than kernels do."""
        world, network = self._world, self._world.network
        is_plain = network.has_plain_views and network.reshares_received is None
        is_more = world.changing.rows or world.memory is not None or world.config.run.record_feeds or world.drafts
        return is_plain and not is_more

    def run(  # each thing that a kernel reads once
        self,
        ticks: range,
        delay: int,
        chart: ChartTables,
        known: TurnTables,
        choosing: ChoiceTables,
        forms: Forms,
        pending: Pending,
        kinds: Mapping[int, QuestionKind],
    ) -> Stretch | None:
        """Run the first of these ticks, and others, as long as they need nothing else; None if they do.

        Args:
            delay: the ticks after which an answer takes effect.
            chart, known: what is known of the turns; forms: the answers so far.
            pending: the answers that have not taken effect yet; kinds: those of questions, by number.
        """
        world, network, state = self._world, self._world.network, self._world.network.state
        if (known.kinds[:, EFFECT] > col.FEED).any():
            return None
        wave, log = self._rooms(len(world.people), len(forms.kinds), choosing.constants.shape[1], len(ticks))
        state.make_room(len(log.who))
        if ticks.start % world.ticks_per_round == 0:
            world.begin_round(ticks.start)
        log.progress[:], taken = 0, network.taken
        at = 0
        for questions, chosen, moves in pending:
            to = slice(at, at + len(questions))
            log.agents[to], log.codes[to], log.ticks[to] = questions.agents, questions.codes, questions.tick
            log.options[to], log.moves[to] = chosen, moves
            at = to.stop
        before = log.progress[ASKED] = at
        limit = LIMIT if are_compiled() else LIMIT_PLAIN
        held = (hold(each) for hold, each in zip(self._hold, (chart, known, choosing, wave, log), strict=True))
        stretch_kernel.run_ticks(state.held, ticks.start, ticks.stop, delay, limit, *held)
        network.taken = int(state.t.counts.posts[col.END])
        done, left = ticks.start + int(log.progress[DONE]), int(log.progress[WAVE])
        world.ticks = done + (left >= 0)
        network.check_limits(done)
        rest = None if left < 0 else SocialWave(world, done, wave.due[:left].copy(), wave.codes[:left].copy())
        # The progress of these ticks, as the kernel has noted it.
        done, asked, settled, updates = (int(log.progress[place]) for place in (DONE, ASKED, NEXT, UPDATES))
        # Events are in the order of their waves, so each table has its rows in this order, too.
        posts = network.state.t.counts.posts
        events = network.state.t.events[: int(posts[col.EVENTS])]
        posts[col.EVENTS] = 0
        tables: dict[str, tuple[Sequence[Values], Ints]] = {}
        what, happened = events["what"], network.rows_of(events, taken)
        for name, is_of in ((POSTS.name, (what > col.LIKE) & (what < col.FEED)), (LIKES.name, what == col.LIKE)):
            if name in happened:
                tables[name] = happened[name], np.append(0, is_of.cumsum())[log.events[:done]]
        # The answers.
        new = slice(before, asked)
        columns = network.in_columns(log.ticks[new], log.views[new].copy())
        agents, codes = log.agents[new].copy(), log.codes[new].copy()
        tables[UPDATES_TABLE.name] = (log.who[:updates].copy(), log.numbers[:updates].copy()), log.ends[:done].copy()
        asks = log.asks[:done].cumsum()
        tables[QUESTIONS.name] = (agents, codes, *columns), np.repeat(asks[:, None], WAVES, axis=1)
        return Stretch(
            ticks=done,
            tables=tables,
            kinds=forms.kinds,
            asked_kinds=kinds,
            triggers=int(log.turns[:done].sum()),
            updates=log.counts.tolist(),
            asked=asked - before,
            pending=[*_pending(log, kinds, columns, before, max(before, settled), asked)],
            wave=rest,
        )

    def _rooms(self, people: int, forms: int, options: int, ticks: int) -> tuple[Wave, StretchBuffers]:
        """Return room for a wave and for a stretch, in which nothing is counted yet."""
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


def _ints(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.int64)


def _pending(
    log: StretchBuffers,
    kinds: Mapping[int, QuestionKind],
    columns: Sequence[Values],
    before: int,
    start: int,
    stop: int,
) -> Iterator[tuple[Questions[PostView], Ints]]:
    """Yield the questions of each tick from a place on to before another, and their answers.

    Args:
        columns: what questions are about, from the place `before` on.
    """
    starts = (start + begins_run(log.ticks[start:stop]).nonzero()[0]).tolist()
    for first, last in pairwise([*starts, stop]):
        some, tick = slice(first, last), int(log.ticks[first])
        agents, codes = log.agents[some].copy(), log.codes[some].copy()
        questions: Questions[PostView] = Questions(tick, agents, kinds, codes, columns, CONTEXTS, first=first - before)
        yield questions, log.options[some].copy()


def wave_of(people: int, asks: int, options: int) -> Wave:
    return Wave(
        due=_ints(people),
        codes=_ints(people),
        numbers=_ints(people),
        places=_ints(people),
        movers=_ints(people),
        moves=_ints(people),
        seen=np.zeros((asks, SEEN_COLUMNS)),
        draws=_ints(asks, 3),
        which=_ints(asks),
        room=np.zeros((2, options)),
    )


def log_of(updates: int, asks: int, forms: int, ticks: int) -> StretchBuffers:
    """Return room for updates of some forms, for questions, and for ticks with one more that is not done."""
    return StretchBuffers(
        progress=_ints(PROGRESS),
        counts=_ints(forms),
        turns=_ints(ticks + 1),
        who=_ints(updates),
        numbers=_ints(updates),
        ends=_ints(ticks + 1, WAVES),
        asks=_ints(ticks + 1),
        events=_ints(ticks + 1, WAVES),
        agents=_ints(asks),
        codes=_ints(asks),
        ticks=_ints(asks),
        options=_ints(asks),
        moves=_ints(asks),
        views=np.zeros(asks, dtype=col.VIEW_FIELDS),
    )


_so_far: Final = [0]
"""The person-ticks of all runs of this process that were made ready: a worker does many small ones."""
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
        stretch_kernel.run_ticks(t, 0, 0, 0, 0, chart, known, choice, wave, log)
