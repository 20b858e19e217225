"""Many ticks of a small population in one kernel call: Python between two ticks would take longer than the ticks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from prism.agents.answer_kernel import NUMBER_BYTES
from prism.agents.forms import HEADS, Forms
from prism.agents.questions import QuestionKind, Questions
from prism.columns import Ints
from prism.domain import Stretch
from prism.kernels import are_compiled
from prism.social import tables as col
from prism.social.kernels import stretch_kernel
from prism.social.kernels.choice_kernel import SEEN_COLUMNS
from prism.social.kernels.stretch_kernel import (
    ASKED,
    DONE,
    LENGTH,
    NEXT,
    PROGRESS,
    TAKEN,
    WAVE,
    ChoiceTables,
    StretchBuffers,
    TurnTables,
    Wave,
)
from prism.social.kernels.turn_kernel import EFFECT
from prism.social.kernels.view_kernel import EVENT_BYTES
from prism.social.posts.post import PostView
from prism.social.tables import ChartTables
from prism.social.view_words import decode_question
from prism.social.world import SocialWave, SocialWorld

PEOPLE_MAX: Final = 8192
"""The largest population whose ticks are run together. In a larger one kernels take most of the time anyway."""
UPDATES: Final = 8192
"""The updates after which the event loop gets a turn: 5 to 10 ms of work."""
UPDATES_PLAIN: Final = 256
"""The same in plain Python: about 20 ms."""


Pending = Sequence[tuple[Questions[PostView], Ints, Ints]]
"""Questions with their answers and the outcomes of these, oldest first."""


class Stretches:
    def __init__(self, world: SocialWorld) -> None:
        self._world = world
        self._wave: Wave | None = None
        self._log: StretchBuffers | None = None

    def are_possible(self) -> bool:
        """Return whether no tick of this world needs more than kernels do."""
        world, network = self._world, self._world.network
        is_plain = network.has_plain_views and network.reshares_received is None
        is_more = world.changing.rows or world.memory is not None or world.config.run.record_feeds or world.drafts
        return len(world.people) <= PEOPLE_MAX and is_plain and not is_more

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
        words = network.words
        words.learn(state.topics)
        people = len(world.people)
        of_turn = 2 * (HEADS.shape[1] + 2 * NUMBER_BYTES + forms.longest)
        events = 2 * (1 + state.at_once)  # of a turn and a decision: the act, and the feed that is built
        room = people * (of_turn + words.room + events * (EVENT_BYTES + words.words.longest))
        wave, log = self._rooms(people, room, len(forms.kinds), choosing.constants.shape[1], len(ticks))
        state.make_room(len(log.agents))
        if ticks.start % world.ticks_per_round == 0:
            world.begin_round(ticks.start)
        log.progress[:], log.progress[TAKEN] = 0, network.taken
        before = log.progress[ASKED] = _put_in(log, pending)
        limit = UPDATES if are_compiled() else UPDATES_PLAIN
        stretch_kernel.run_ticks(
            state.t, ticks.start, ticks.stop, delay, limit, room, chart, known, choosing, words.tables, wave, log
        )
        network.taken = int(state.t.counts.posts[col.END])
        done, left = ticks.start + int(log.progress[DONE]), int(log.progress[WAVE])
        world.ticks = done + (left >= 0)
        network.check_limits(done)
        rest = None if left < 0 else SocialWave(world, done, *_copied(left, wave.due, wave.codes))
        return _came_of(log, before, kinds, rest)

    def _rooms(self, people: int, room: int, forms: int, options: int, ticks: int) -> tuple[Wave, StretchBuffers]:
        """Return room for a wave and for a stretch, in which nothing is counted yet."""
        if self._wave is None or self._wave.room.shape[1] < options:
            self._wave = wave_of(people, options)
        log = self._log
        if log is None or len(log.out) < 2 * room or len(log.counts) < forms or len(log.ends) < ticks:
            self._log = log = log_of(UPDATES + 3 * people, 2 * room, 2 * forms, ticks)
        for each in (log.messages, log.counts, log.turns):
            each[:] = 0
        return self._wave, log


def _ints(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.int64)


def _put_in(log: StretchBuffers, pending: Pending) -> int:
    at = 0
    for questions, chosen, moves in pending:
        to = slice(at, at + len(questions))
        log.agents[to], log.codes[to], log.ticks[to] = questions.agents, questions.codes, questions.tick
        log.options[to], log.moves[to] = chosen, moves
        log.context_ends[to] = 0
        at = to.stop
    return at


def _copied(count: int, *arrays: Any) -> Iterator[Any]:
    return (array[:count].copy() for array in arrays)


def _came_of(log: StretchBuffers, before: int, kinds: Mapping[int, QuestionKind], wave: SocialWave | None) -> Stretch:
    done, asked, length, settled = (int(log.progress[place]) for place in (DONE, ASKED, LENGTH, NEXT))
    content, ends = log.out[:length].tobytes(), [0, *log.ends[:done].tolist()]
    return Stretch(
        frames=[content[start:end] for start, end in pairwise(ends)],
        messages=log.messages[:done].tolist(),
        triggers=int(log.turns[:done].sum()),
        updates=log.counts.tolist(),
        asked=asked - before,
        pending=[*_pending(log, kinds, max(before, settled), asked)],
        wave=wave,
    )


def _pending(
    log: StretchBuffers, kinds: Mapping[int, QuestionKind], start: int, stop: int
) -> Iterator[tuple[Questions[PostView], Ints]]:
    """Yield the questions of each tick from a place on to before another, and their answers."""
    starts = [start + int(place) for place in np.flatnonzero(np.diff(log.ticks[start:stop], prepend=-1))]
    for first, last in pairwise([*starts, stop]):
        ends = log.context_ends[first:last]
        about = int(log.context_ends[first - 1]) if first else 0
        contexts = log.contexts[about : int(ends[-1])].copy()
        some, tick = slice(first, last), int(log.ticks[first])
        agents, codes = log.agents[some].copy(), log.codes[some].copy()
        questions = Questions(tick, agents, kinds, codes, contexts, ends - about, decode_question)
        yield questions, log.options[some].copy()


def wave_of(people: int, options: int) -> Wave:
    shares = np.zeros((people, col.SHARE_COLUMNS))
    return Wave(
        due=_ints(people),
        codes=_ints(people),
        numbers=_ints(people),
        places=_ints(people),
        movers=_ints(people),
        moves=_ints(people),
        wholes=_ints(people, col.VIEW_COLUMNS),
        shares=shares,
        bits=shares.view(np.uint64),
        ends=_ints(people),
        seen=np.zeros((people, SEEN_COLUMNS)),
        draws=_ints(people, 3),
        which=_ints(people),
        room=np.zeros((2, options)),
    )


def log_of(updates: int, length: int, forms: int, ticks: int) -> StretchBuffers:
    """Return room for so many updates of so many forms, bytes, and ticks."""
    return StretchBuffers(
        progress=_ints(PROGRESS),
        out=np.zeros(length, dtype=np.uint8),
        ends=_ints(ticks),
        messages=_ints(ticks + 1),  # the tick that is not done is counted, too
        counts=_ints(forms),
        turns=_ints(ticks),
        agents=_ints(updates),
        codes=_ints(updates),
        ticks=_ints(updates),
        options=_ints(updates),
        moves=_ints(updates),
        contexts=np.zeros(length, dtype=np.uint8),
        context_ends=_ints(updates),
        wrote=_ints(2),
    )
