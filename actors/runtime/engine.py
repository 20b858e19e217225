"""The engine: the clock, the barrier, and the only writer of the world.

In tick t it sends each due agent one trigger, waits until each has answered once, sorts the answers by agent and
applies them. An ambiguous turn comes back as a question for the oracle: the decision takes effect in tick t + k, and
the clock waits only if the answer has not come by then. In `realtime` the first option is taken instead.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from time import perf_counter
from typing import Any, Final

import anyio
import msgspec
import numpy as np

from actors.core.errors import ActorError
from actors.core.events import InterventionMade, emit
from actors.core.frames import RunningDigest
from actors.core.kinds import KindNumbers, recorded_tables
from actors.core.mailbox import Mailbox
from actors.core.messages import LATE, Codec, Decided, QuestionName
from actors.core.ports import Observer, Record
from actors.core.snapshot import Exchange
from actors.core.state import EngineState, RunState
from actors.runtime.activation import Activation, Answers
from actors.runtime.counters import Counters
from prism.agents import FALLBACKS, Decision, Question, Source, Trigger
from prism.agents.waves import Answered, Decisions, Kind, Questions, Updates
from prism.columns import Bundles, Column, Ints
from prism.config import Config
from prism.config.interventions import InterventionConfig, planned
from prism.domain import Stretch, World
from prism.events import INTERVENTIONS, Happened
from prism.rows import Heap, TickRows, columns_of

AnswerNow = Callable[[Sequence[Question[Any]]], Sequence[Decided] | None]
ChooseNow = Callable[[Questions[Any]], Ints | None]


class OpenQuestions:
    """The agents that deliberate: their open questions, at most one of each, until when, and the answers so far."""

    def __init__(self, codec: Codec, oracle: Mailbox[bytes], answer_now: AnswerNow, choose_now: ChooseNow) -> None:
        self._answer_now, self._choose_now = answer_now, choose_now
        self.late = 0
        """Decisions whose answers came too late, in `realtime`."""
        self.fallbacks: Counter[str] = Counter()
        """`{reason: decisions that took effect and were not the oracle's}`. It follows from the journal alone."""
        self._codec = codec
        self._oracle = oracle
        self._asked: dict[int, Question[Any]] = {}
        self._due: dict[int, list[int]] = {}
        """`{tick: agents whose decisions take effect in it}`, each list in the order of asking."""
        self._decided: dict[int, Decided] = {}
        self._chosen: dict[int, Answered] = {}
        """`{tick: the questions in columns whose answers take effect in it}`: all those of one wave."""
        self._unsent: deque[tuple[Question[Any], bytes]] = deque()
        """Encoded questions that were not sent yet: of this wave, or without room in the oracle's mailbox."""

    def open(self, question: Question[Any], due: int) -> None:
        """Add a question whose agent deliberates until the tick `due`. It must not deliberate already."""
        if (before := self._asked.get(question.agent)) is not None:
            raise ActorError(
                f"agent {question.agent} asked a question in tick {question.tick:,}, and its question of tick "
                f"{before.tick:,} has no decision yet: a world sends no trigger to an agent that deliberates "
                "(World.deliberates); with population.deliberation_minutes=0 decisions take effect in the tick "
                "of their questions"
            )
        self._asked[question.agent] = question
        self._due.setdefault(due, []).append(question.agent)

    def choose(self, questions: Questions[Any], due: int) -> bool:
        """Add the questions of a wave with their answers, and return True, if these are computed at once.

        A second wave of the same tick goes one by one.
        """
        chosen = None if due in self._chosen else self._choose_now(questions)
        if chosen is not None:
            self._chosen[due] = questions, chosen
        return chosen is not None

    def chosen(self) -> list[Answered] | None:
        """Return the open questions with their answers, oldest first; None if one is not in columns."""
        return None if self._asked else [*self._chosen.values()]

    def settle(self, stretch: Stretch, tick: int, deliberation: int) -> None:
        """Take over the outcomes of questions in the ticks before this one."""
        for due in [due for due in self._chosen if due < tick]:
            del self._chosen[due]
        self._chosen |= {each[0].tick + deliberation: each for each in stretch.pending}

    def take_chosen(self, tick: int) -> Decisions[Any] | None:
        """Remove the questions in columns whose answers take effect in this tick, and return these; None for none."""
        if tick not in self._chosen:
            return None
        questions, chosen = self._chosen.pop(tick)
        return Decisions(tick, questions, chosen, Source.ORACLE.value)

    def ask(self, question: Question[Any], encoded: bytes) -> None:
        """Queue a question for the oracle; `offer` sends it."""
        self._unsent.append((question, encoded))

    def ask_again(self, end: int) -> None:
        """Ask the questions that a checkpoint left open and whose answers can take effect before the tick `end`."""
        for tick in sorted(self._due):
            if tick < end:
                for agent in self._due[tick]:
                    if agent not in self._decided:
                        self.ask(self._asked[agent], self._codec.encode(self._asked[agent]))
        self.offer()

    def offer(self) -> None:
        """Send queued questions, or have them answered at once. It never waits for room, so it cannot deadlock."""
        decided = self._answer_now([question for question, _ in self._unsent]) if self._unsent else None
        if decided is not None:
            self._unsent.clear()
            self._decided.update({each.agent: each for each in decided})
        while self._unsent and self._oracle.put(self._unsent[0][1]):
            self._unsent.popleft()

    def add_answers(self, batch: Iterable[bytes]) -> None:
        """Keep the answers in a batch until they take effect, except those that came too late, in `realtime`."""
        for encoded in batch:
            decided = self._codec.decided(encoded)
            if self.is_open((decided.agent, decided.asked, decided.trigger)):
                self._decided[decided.agent] = decided
        self.offer()

    @property
    def number(self) -> int:
        return len(self._asked) - len(self._decided)

    def due(self, tick: int) -> list[int]:
        return self._due.get(tick, [])

    def take_due(self, tick: int) -> list[int]:
        return self._due.pop(tick, [])

    def any_unanswered(self, agents: Iterable[int]) -> bool:
        return any(agent not in self._decided for agent in agents)

    def discard_answers(self, agents: Iterable[int]) -> None:
        for agent in agents:
            self._decided.pop(agent, None)

    def close_all(self, agents: Sequence[int], tick: int) -> list[Trigger[Any]]:
        triggers = list[Trigger[Any]]()
        for agent in agents:
            question, decided = self._asked.pop(agent), self._decided.pop(agent, None)
            if decided is None:
                self.late += 1
                decision = Decision(question.options[0], Source.TIMEOUT, question.tick, LATE)
            else:
                decision = Decision(decided.state, decided.source, decided.asked, decided.reason, decided.content)
            if decision.source in FALLBACKS:
                self.fallbacks[decision.reason] += 1
            triggers.append(Trigger(tick, agent, question.trigger, question.context, decision))
        return triggers

    def is_open(self, name: QuestionName) -> bool:
        agent, asked, trigger = name
        question = self._asked.get(agent)
        is_this = question is not None and (question.tick, question.trigger) == (asked, trigger)
        return is_this and agent not in self._decided

    def asked(self) -> tuple[tuple[int, bytes], ...]:
        """Return `(tick in which the decision takes effect, the question)` of each, ascending."""
        encode = self._codec.encode
        one_by_one = [(tick, encode(self._asked[agent])) for tick in self._due for agent in self._due[tick]]
        chosen = [(tick, encode(question)) for tick, (questions, _) in self._chosen.items() for question in questions]
        return tuple(sorted([*one_by_one, *chosen], key=itemgetter(0)))

    def decided(self) -> tuple[bytes, ...]:
        source = Source.ORACLE.value
        chosen = [
            Decided(question.tick, question.agent, question.trigger, question.options[number], source)
            for questions, numbers in self._chosen.values()
            for question, number in zip(questions, numbers.tolist(), strict=True)
        ]
        return tuple(map(self._codec.encode, [*self._decided.values(), *chosen]))

    def restore(self, state: EngineState) -> None:
        self.late, self.fallbacks = state.late, Counter(state.fallbacks)
        for due, encoded in state.asked:
            self.open(self._codec.question(encoded), due)
        for encoded in state.decided:
            answer = self._codec.decided(encoded)
            self._decided[answer.agent] = answer


StretchOf = Callable[[range, Sequence[Answered]], Stretch | None]


async def do_nothing() -> None:
    """Do nothing between two ticks."""


class EngineActor:
    """An actor that runs ticks.

    Args:
        answer_now: returns the oracle's answers to questions; None if they must be put into its mailbox.
        choose_now: returns those to questions in columns; None if they must be asked one by one.
        stretch: runs ticks together, as `prism.domain.Turns.stretch`.
    """

    exchange: Exchange | None = None
    """Counts of the bytes and seconds of exchanges with shards; None if the run has no shards."""
    on_computed: Callable[[int], None] | None = None
    """Called with the number of questions that shards have answered."""
    may_be_spent: Callable[[int], bool] = staticmethod(lambda _: False)
    """Returns whether so many open questions may reach a spend cap."""

    def __init__(  # noqa: PLR0913  # each of its neighbours once
        self,
        world: World,
        codec: Codec,
        agents: Activation,
        oracle: Mailbox[bytes],
        *,
        config: Config,
        counters: Counters,
        recorder: Record | None = None,
        observer: Observer | None = None,
        answer_now: AnswerNow = lambda _: None,
        choose_now: ChooseNow = lambda _: None,
        stretch: StretchOf = lambda *_: None,
    ) -> None:
        self._observer = observer or Observer()
        self.decisions = Mailbox[bytes]("decisions", config.run.mailbox_capacity)
        """The mailbox of the oracle's answers. The engine never waits for the oracle and agents at the same time."""
        self.digest = RunningDigest()
        self.counters = counters
        self.tick = 0
        """Ticks committed so far: the number of the next tick."""
        self._world, self._codec, self._agents, self._stretch_of = world, codec, agents, stretch
        self._deliberation = config.deliberation_ticks
        self._waits = config.oracle.mode == "pace"
        self.open_questions = OpenQuestions(codec, oracle, answer_now, choose_now)
        """The questions that have no answer yet, or whose answer has not taken effect yet."""
        self._tick_s = config.run.tick_s
        """The least time between the beginnings of two ticks. After a stall all later ticks are later: ticks without a
        pause would ask a server all at once while it is still recovering."""
        self._interventions: dict[int, list[tuple[int, InterventionConfig]]] = {}
        """`{tick: the number of each of its interventions in the whole run, and the intervention}`."""
        for number, (tick, each) in enumerate(planned(config.interventions, config.simulation.ticks_per_round)):
            self._interventions.setdefault(tick, []).append((number, each))
        self.reactions = Reactions()
        """The reactions to posts that interventions have published."""
        self.on_triggers: Callable[[Sequence[Trigger[Any]]], None] | None = None
        """Called with the triggers of each wave, before they are answered."""
        self.waits_since: float | None = None
        """The time since which the tick has waited for the oracle; None while it does not."""
        self.is_in_tick = False
        """True from the beginning of a tick until it is committed."""
        self.ticks_replayed = 0
        """Ticks done again that were in the journal already."""
        self._recorder = recorder or Record()
        self.tables = recorded_tables(world, codec.contexts)
        """The tables of the run's journal."""
        self.shapes = self._recorder.shapes or [table.shape for table in self.tables]
        self._kinds = KindNumbers()
        self._rows = TickRows(self.shapes)
        """The rows that this tick has committed so far."""
        self._end = 0
        self.is_stopping = False
        """True once no further tick is to be run."""
        self._before_tick: anyio.CancelScope | None = None

    @property
    def kinds(self) -> Sequence[Kind]:
        """The kinds of updates and questions so far, by their numbers in the journal."""
        return self._kinds.known

    async def run(
        self,
        ticks: int,
        on_tick: Callable[[int], None] = lambda _: None,
        between: Callable[[], Awaitable[None]] = do_nothing,
        every: int = 1,
    ) -> None:
        """Run until `ticks` ticks are committed. After a `stop`, end with the tick or ticks that are under way.

        Recorded ticks are run again without any pace, and before any stop: until then the record is ahead of the state
        in memory. The other arguments are those of `Simulation.run`; for ticks run together they are called at the end.
        """
        self._end = ticks
        self.open_questions.ask_again(ticks)  # the questions of a checkpoint: their mailbox ended with its process
        while self.tick < ticks and (not self.is_stopping or self.is_replaying or self.is_ahead):
            # 1. Near a spend cap the answers come before the tick, so that a stop at the cap finds it not begun.
            await self._await_before(self.tick)
            if self.is_stopping and not (self.is_replaying or self.is_ahead):
                break
            # 2. The tick, or several ticks that need no one in between.
            started, is_new = perf_counter(), not self.is_replaying
            begun = anyio.current_time() if self._tick_s else 0.0
            self.is_in_tick = True
            frames = await self._run_ticks(self.tick - self.tick % every + every)
            # 3. The record first, then the count: a tick that is counted is in the journal, or on its way there.
            for frame in frames:
                await self._recorder.commit(self.tick, frame)
                self.tick += 1
            self.is_in_tick = False
            # 4. Those who look at the run. `between` may write a checkpoint, so it comes after all counts.
            each_s = (perf_counter() - started) / len(frames)
            for tick in range(self.tick - len(frames), self.tick):
                if is_new:
                    self._observer.tick_ended(each_s)
                else:
                    self.ticks_replayed += 1
                    self.counters.activations_recorded = self.counters.activations
                    self._observer.tick_replayed()
                on_tick(tick + 1)
            await between()
            if is_new and self._tick_s:
                await anyio.sleep_until(begun + self._tick_s)

    async def _run_ticks(self, until: int) -> list[bytes]:
        """Run the next tick, and the ticks before `until` that can be run together with it; return their frames."""
        # 1. How far: not past the recorded ticks, the next intervention, or the last tick whose questions are answered.
        if self.is_replaying:
            until = min(until, self._recorder.recorded_ticks())
        until = min(
            [until, self._end - self._deliberation, *(tick for tick in self._interventions if tick >= self.tick)]
        )
        # 2. Together, if no one must see a single wave, and the answers to all open questions were computed at once.
        must_look = self.on_triggers is not None or self.reactions.are_counted or self._tick_s > 0.0
        pending, found = self.open_questions.chosen(), None
        if until > self.tick and pending is not None and not must_look:
            found = self._stretch_of(range(self.tick, until), pending)
        if found is None:
            return [await self._step(self.tick)]
        # 3. The same counts and frames as of ticks that were run one by one.
        self.counters.activations += found.triggers
        self.counters.add(found.kinds, found.updates)
        self.counters.questions += found.asked
        self.open_questions.settle(found, self.tick + found.ticks, self._deliberation)
        frames = [*map(self.digest.add, self._kinds.payloads(self.tick, found, self.shapes))]
        await asyncio.sleep(0)
        # 4. A wave that the stretch could not take has left the world within a tick, which is completed now.
        if found.wave is not None:
            frames.append(await self._step(self.tick + len(frames), found.wave))
        return frames

    @property
    def is_ahead(self) -> bool:
        """True if the next tick has begun elsewhere, so that it must be run."""
        return False

    async def columns(self) -> AsyncIterator[Column | bytes]:
        """Yield the world's columns, between two ticks; as bytes a block of agents that is packed already."""
        for column in self._world.columns():
            yield column

    def own_part(self, columns: Bundles) -> Bundles:
        """Return what the world needs of a checkpoint: all, without shards."""
        return columns

    async def scatter(self, state: RunState, columns: Bundles) -> None:
        """Let shards continue from a checkpoint."""

    async def gather(self) -> None:
        """Make counts and open questions whole, between two ticks, where shards have parts of them."""

    @property
    def is_replaying(self) -> bool:
        """True if the next tick, or the one under way, is in the journal already."""
        return self._recorder.is_recorded(self.tick)

    def stop(self) -> None:
        """Finish the tick, or those that are run together, and run no further one."""
        self.is_stopping = True
        if self._before_tick is not None:
            self._before_tick.cancel()

    def state(self) -> EngineState:
        self.open_questions.add_answers(self.decisions.take_all())
        return EngineState(
            tick=self.tick,
            link=self.digest.link,
            kinds=self._kinds.known,
            late=self.open_questions.late,
            fallbacks=dict(self.open_questions.fallbacks),
            asked=self.open_questions.asked(),
            decided=self.open_questions.decided(),
            reactions=self.reactions.state(),
        )

    def restore(self, state: EngineState) -> None:
        self.tick, self.digest.link = state.tick, state.link
        self._kinds = KindNumbers(state.kinds)
        self.open_questions.restore(state)
        self.reactions.restore(state.reactions)

    async def _step(self, tick: int, triggers: Sequence[Trigger[Any]] | None = None) -> bytes:
        """Run one tick in waves, and return its frame: the world's triggers, then the decisions due, then reactions.

        Each wave is committed, and its questions are asked, before the tick waits for a decision. So the oracle works
        on a whole tick's further questions while the clock waits for the slowest answer of k ticks ago. `triggers`: the
        world's, if the tick has begun already.
        """
        # 1. Interventions hold for the whole tick, so they come before the world says who is due.
        if tick in self._interventions:
            self._intervene(tick)
        if triggers is None:
            triggers = self._world.triggers(tick)
        while True:
            # 2. A wave: one trigger to each agent that is due, and one answer from each.
            self.counters.activations += len(triggers)
            await self._exchange(tick, triggers)
            # 3. The decisions that take effect in this tick, first those that must be waited for. Each goes to its
            #    agent as the same trigger once more.
            if due := self.open_questions.take_due(tick):  # without deliberation: the agents that asked in this wave
                await self._await_answers(due, tick)
                await self._exchange(tick, self.open_questions.close_all(due, tick))
            if (decisions := self.open_questions.take_chosen(tick)) is not None:
                await self._exchange(tick, decisions)
            # 4. What follows in the same tick, such as the review of a proposal, is another wave.
            if not (triggers := self._world.reactions(tick)):
                break
        # 5. The frame. The digest is chained over it, so it is made once everything of the tick is in it.
        return self.end_frame(tick)

    def end_frame(self, tick: int) -> bytes:
        return self.digest.add(self._rows.take(tick, self._kinds.end_tick(self._rows)))

    def _intervene(self, tick: int) -> None:
        for number, each in self._interventions[tick]:
            self._world.intervene(tick, each)
            content = msgspec.msgpack.encode(msgspec.to_builtins(each))
            kind, number_of = Heap.of([each.kind.encode()]), np.array([number])
            self._rows.add(INTERVENTIONS.name, number_of, kind, Heap.of([content]))
            self.reactions.publish(number, self._add_rows(self._world.take_rows()))
            if not self.is_replaying:
                emit(InterventionMade(kind=each.kind, at_tick=tick, number=number))

    async def _await_before(self, tick: int) -> None:
        """Await the answers that are due in the next tick, if the open questions may reach a spend cap."""
        agents = self.open_questions.due(tick)
        if not (agents and self._waits) or self.is_replaying or self.is_ahead:
            return
        self.open_questions.add_answers(self.decisions.take_all())
        if self.may_be_spent(self.open_questions.number):
            with anyio.CancelScope() as self._before_tick:
                await self._await_each(agents)
            self.waits_since = None

    async def _await_each(self, agents: Sequence[int]) -> None:
        while self.open_questions.any_unanswered(agents):
            if self.waits_since is None:
                self.waits_since = anyio.current_time()
            self.open_questions.add_answers(await self.decisions.receive_all())
        self.waits_since = None

    async def _await_answers(self, agents: list[int], tick: int) -> None:
        """Wait until each of these agents has an answer; in `realtime` there is no wait.

        In a recorded tick, exactly the agents whose answers came too late then are late again.
        """
        self.open_questions.add_answers(self.decisions.take_all())
        late = self._recorder.late_agents(tick)
        if late is None and not self._waits:
            return
        await self._await_each([agent for agent in agents if late is None or agent not in late])
        # An answer that is in time now may have been late then. It is discarded, so that the tick equals its record.
        self.open_questions.discard_answers(late or ())

    async def _exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> None:
        if not triggers:
            await asyncio.sleep(0)  # no answer to wait for, but the loop must get its turn, or it would miss a stop
        if self.on_triggers is not None:
            self.on_triggers(triggers)
        # Apply the answers in the order of agents, add them and their effects to the frame, and pass questions on.
        answers = await self._agents.exchange(tick, triggers)
        self._ask_those_of(answers)
        self._apply(answers.updates)
        # The frame: the answers, then what they have caused.
        self._kinds.add(self._rows, [answers.rows()])
        self.reactions.add(self._add_rows(self._world.take_rows()))
        # The wave's questions leave once it is committed, so the oracle works while the tick goes on.
        self.open_questions.offer()

    def _ask_those_of(self, answers: Answers) -> None:
        """Let the agents that ask deliberate from now on: they get no trigger."""
        asked, questions = answers.asked, answers.questions
        if not asked and questions is not None:
            due = questions.tick + self._deliberation
            if due < self._end and self.open_questions.choose(questions, due):  # answers that are computed at once
                self._world.all_deliberate(questions)
                self.counters.questions += len(questions)
                return
            asked = [(question, self._codec.encode(question)) for question in questions]
        for question, encoded in asked:
            self._world.deliberates(question)
            self._open(question, encoded)

    def _apply(self, updates: Updates | None) -> None:
        if updates is not None:
            self._world.apply_all(updates)
            self.counters.add(updates.kinds, updates.counts)

    def _add_rows(self, rows: Mapping[str, Sequence[Any]]) -> Happened:
        """Add what took place in a wave to the tick's rows, and return it in columns."""
        found = {name: columns_of(table, rows[name]) for table in self.tables if (name := table.name) in rows}
        for name, columns in found.items():
            self._rows.add(name, *columns)
        self._rows.end_wave()
        return found

    def _open(self, question: Question[Any], encoded: bytes) -> None:
        self.counters.questions += 1
        due = question.tick + self._deliberation
        self.open_questions.open(question, due)
        if due < self._end:  # otherwise no tick is left in which an answer could take effect
            self.open_questions.ask(question, encoded)


_REACTIONS: Final = (("posts", 3), ("likes", 1))
"""The tables of reactions, each with the column of the post that somebody reacts to."""


class Reactions:
    """Counts of likes, replies and reshares of the posts that interventions have published."""

    def __init__(self) -> None:
        self._posts: dict[int, int] = {}
        """`{post: the number of the intervention that published it}`."""
        self._counts: dict[int, int] = {}

    @property
    def are_counted(self) -> bool:
        return bool(self._posts)

    def publish(self, number: int, rows: Happened) -> None:
        for post in rows["posts"][2].tolist() if "posts" in rows else ():
            self._posts[post] = number
            self._counts[number] = 0

    def add(self, rows: Happened) -> None:
        if not self._posts:
            return
        of_posts = [rows[table][column].tolist() for table, column in _REACTIONS if table in rows]
        for post in chain.from_iterable(of_posts):
            number = self._posts.get(post)
            if number is not None:
                self._counts[number] += 1

    def of(self, number: int) -> int:
        return self._counts.get(number, 0)

    def state(self) -> tuple[tuple[int, int, int], ...]:
        """Return `(post, intervention, reactions)` of each post."""
        return tuple((post, number, self._counts[number]) for post, number in self._posts.items())

    def restore(self, state: Sequence[tuple[int, int, int]]) -> None:
        self._posts = {post: number for post, number, _ in state}
        self._counts = {number: count for _, number, count in state}
