"""The recorded questions of a study that asks a model, with what was seen, and a sample of them that is asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import convert
from msgspec.msgpack import encode
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.messages import QuestionName, name_of_question
from actors.explain.retrace import OpenRun, fixed
from actors.runs.directory import RunDirectory
from actors.runs.replay import replay, triggers_of
from actors.runtime.simulation import Simulation
from actors.store.messages import messages_of
from actors.store.oracle_log import KeptAnswers, answers_in
from prism.agents import Question, Source, Trigger, Update
from prism.audit.choices import Recorded
from prism.audit.known import wilson
from prism.columns import Floats, Ints
from prism.domain import Domain, said_by
from prism.expressions import Field
from prism.rng import Draw, uniform, uniforms
from prism.statechart import question_kinds
from prism.statechart.behaviour import Reader

ANSWERED: Final = (Source.LLM, Source.ORACLE)
OFTEN: Final = 0.02  # the least share of the questions that has a word, or has not, for the word to count
RELEVANCES: Final = ("least relevant third", "middle third", "most relevant third")


class Cell(NamedTuple):
    path: Path
    condition: str  # empty for a run by itself
    seed: int


def line_of(every: Sequence[str], options: Sequence[str], shares: Sequence[float]) -> Floats:
    """Return the shares of a question's options at the places of these among all options; 0 for others."""
    line = np.zeros(len(every))
    line[[every.index(option) for option in options]] = shares
    return line


class Asking(NamedTuple):
    cell: int  # the number of its run among those that are asked
    question: Question[Any]
    chosen: str
    embedded: tuple[float, ...] | None  # the probabilities of its options by the embedded choice
    features: tuple[float, ...]
    words: frozenset[str]  # the words of what was seen, by their fields, such as `post.topics: art`
    relevance: float | None
    agent: Any  # the agent as it asked; None unless the question is in the sample


class Features:
    """The numbers that a small model of choices reads of a question: the embedded choice, and what was seen.

    Each condition of the study has a constant of its own; the words are those that make a difference.
    """

    def __init__(self, domain: Domain, condition: str, conditions: Sequence[str], words: Sequence[str] = ()) -> None:
        self._readers: list[tuple[str, Reader]] = []
        self._texts: list[tuple[str, Reader]] = []
        if (fields := said_by(domain).fields) is not None:
            known: dict[str, tuple[Field, Reader]] = dict(fields.question_fields())
            numbers = [name for name in fields.default_fields() if known[name][0].kind in ("float", "int", "bool")]
            self._readers = [(name, known[name][1]) for name in numbers]
            self._texts = [
                (name, reader)
                for name, (field, reader) in known.items()
                if field.kind in ("text", "texts") and not name.startswith("agent.")
            ]
        self._constants = tuple(float(condition == each) for each in conditions[1:])
        self._words = words

    def of(self, agent: Any, context: Any, embedded: Sequence[float] | None) -> tuple[float, ...]:
        """Return the features of a question; the first one is the log odds of acting by the embedded choice."""
        acting = 0.5 if embedded is None else min(max(1.0 - embedded[0], 1e-4), 1.0 - 1e-4)
        read = (
            0.0 if context is None and not name.startswith("agent.") else float(reader(agent, context))
            for name, reader in self._readers
        )
        said = self.words(agent, context) if self._words else ()
        of_words = (float(each in said) for each in self._words)
        return (float(np.log(acting / (1.0 - acting))), *read, *self._constants, *of_words)

    def words(self, agent: Any, context: Any) -> frozenset[str]:
        if context is None:
            return frozenset()
        values = ((name, reader(agent, context)) for name, reader in self._texts)
        return frozenset(
            f"{name}: {each}" for name, found in values for each in ((found,) if isinstance(found, str) else found)
        )


Key = tuple[bytes, str, bytes]


def _key(told: bytes, question: Question[Any], agent: Any) -> Key:
    """Return what a model is told by, and how: two questions of equal keys are one, and have one answer.

    Conditions of an experiment have the same people under the same seed, who often see the same. `told` is the number
    of that seed, and the settings of the model.
    """
    return told, repr(getattr(agent, "persona", None)), encode(question)


class _Settled:
    """Turns that a rule settled, though the oracle is asked about closer cases of them: a random sample of them."""

    def __init__(self, number: int, seed: int) -> None:
        self._number, self._seed = number, seed
        self._keys = set[Key]()
        self._kept: list[tuple[float, int, Asking]] = []  # a heap, the largest draw first, with its sign changed
        self._numbers = count()  # askings with equal draws, of one agent in one tick, are not compared
        self._turns: dict[int, list[Trigger[Any]]] = {}
        """`{agent: its triggers in the tick under way}`, of the agents whose turns may be kept."""
        self._simulation: Simulation | None = None

    @property
    def _least(self) -> float:
        return 1.0 if len(self._kept) < self._number else -self._kept[0][0]

    def attach(self, simulation: Simulation, place: int, people: int, told: bytes) -> None:
        """Look at a simulation that is about to run: its engine tells of each wave of triggers.

        Runs of one seed draw alike, by its number `people`, so a turn that two of them have is met twice.
        """

        def note(triggers: Sequence[Trigger[Any]]) -> None:
            if self._number and triggers:
                tick = triggers[0].tick
                drawn = partial(uniforms, self._seed, tick=tick, draw=Draw.AUDIT_RULE, index=people)
                for each in triggers_of(triggers, lambda agents: drawn(agents) < self._least):
                    self._turns.setdefault(each.agent, []).append(each)

        self._simulation, self._options = simulation, question_kinds(simulation.domain.chart)
        self._place, self._people, self._told = place, people, told
        simulation.engine.on_triggers = note

    def take(self, frame: bytes) -> None:
        turns, self._turns = self._turns, {}
        if not turns or self._simulation is None:
            return
        domain, waiting = self._simulation.domain, {agent: iter(triggers) for agent, triggers in turns.items()}
        for answer in messages_of(frame, self._simulation.engine, Update, Question, agents=waiting):
            trigger = next(waiting[answer.agent])  # an agent answers its triggers in their order, each once
            if isinstance(answer, Question) or answer.source != Source.RULE:
                continue
            name = (answer.from_state, answer.trigger)
            drawn = uniform(self._seed, answer.agent, answer.tick, Draw.AUDIT_RULE, self._people)
            if name not in self._options or drawn >= self._least:
                continue
            options = self._options[name]
            question = Question(answer.tick, answer.agent, answer.trigger, name[0], options, trigger.context)
            agent = fixed(domain.asker(question))
            if (key := _key(self._told, question, agent)) in self._keys:
                continue
            self._keys.add(key)
            asking = Asking(self._place, question, answer.to_state, None, (), frozenset(), None, agent)
            heappush(self._kept, (-drawn, next(self._numbers), asking))
            if len(self._kept) > self._number:
                heappop(self._kept)

    def sample(self) -> list[Asking]:
        return [asking for *_, asking in sorted(self._kept, key=lambda each: -each[0])]


class Runs:
    """The runs of a study. Each is opened when it is first asked for.

    Args:
        words: those of what agents see that make a difference, such as `post.topics: art`.
    """

    def __init__(self, cells: Sequence[Cell], words: Sequence[str] = ()) -> None:
        self.cells, self.words = list(cells), list(words)
        self.conditions = [*dict.fromkeys(each.condition for each in self.cells)]
        self._opened: dict[int, OpenRun] = {}

    def run(self, cell: int) -> OpenRun:
        if cell not in self._opened:
            self._opened[cell] = run = OpenRun(self.cells[cell].path)
            if run.config.oracle.backend == "choice":
                problem = "this run asks no model, so there is nothing to audit"
                raise RunDirectoryError(f"{self.cells[cell].path}: {problem}")
        return self._opened[cell]

    def features(self, cell: int, domain: Domain) -> Features:
        return Features(domain, self.cells[cell].condition, self.conditions, self.words)


class Study(Runs):
    """The runs of a study, and the recorded questions of the first ones. Opening it reads the answers of all runs."""

    def __init__(self, cells: Sequence[Cell], asked: int) -> None:
        super().__init__(cells)
        self.asked = asked
        self.known = [KeptAnswers(each.path, self.run(place).length) for place, each in enumerate(self.cells[:asked])]
        took = [[sum(spent.calls for spent in answer.spent) for answer in answers_in(each.path)] for each in self.cells]
        self.calls = sum(map(sum, took))
        times = [calls for each in took[:asked] for calls in each if calls]
        # A question takes two calls if its letters decide nothing, or an answer cannot be read.
        self.calls_each = 1.0 + (wilson(sum(calls > 1 for calls in times), len(times)).high or 0.0)
        self.fallbacks = 0
        self.askings: list[Asking] = []
        """Every question with an answer of the model, once `gather` has been called; one of several cells, once."""
        self._keys = set[Key]()
        numbers = {seed: number for number, seed in enumerate(dict.fromkeys(each.seed for each in self.cells))}
        self._people = [numbers[each.seed] for each in self.cells]  # of each cell, the number of its seed
        self.sample: dict[int, Asking] = {}
        self.ruled: dict[int, Asking] = {}
        """A sample of turns that rules settled, as questions whose answer is what the rule did."""

    @property
    def recorded(self) -> int:
        return sum(map(len, self.known))

    async def gather(self, number: int, ruled: int, seed: int) -> None:
        """Replay the runs, and keep every question, with the asking agents of a sample of this size.

        Args:
            ruled: how many of the turns that rules settled are kept as well.
        """
        chances: dict[tuple[int, QuestionName], float] = {}
        for place, known in enumerate(self.known):
            names = [name for name in known.names if (found := known.named(name)) and found.source in ANSWERED]
            self.fallbacks += len(known) - len(names)
            agents, ticks = (np.array([name[part] for name in names], dtype=np.int64) for part in (0, 1))
            drawn = uniforms(seed, agents, ticks, Draw.AUDIT_SAMPLE, self._people[place]) if names else np.zeros(0)
            chances |= {(place, name): float(unit) for name, unit in zip(names, drawn.tolist(), strict=True)}
        # A question of several cells has the same chance in all of them, and is kept once.
        cells_of_seed = max(Counter(self._people[: self.asked]).values())
        chosen = set(sorted(chances, key=lambda each: (chances[each], each))[: number * cells_of_seed])
        settled = _Settled(ruled, seed)
        for place in range(len(self.known)):
            await self._replayed(place, chances.keys(), chosen, settled)
        seen = Counter(word for each in self.askings for word in each.words)
        least, most = OFTEN * len(self.askings), (1.0 - OFTEN) * len(self.askings)
        self.words = sorted(word for word, times in seen.items() if least <= times <= most)
        self.askings = [
            each._replace(features=(*each.features, *(float(word in each.words) for word in self.words)))
            for each in self.askings
        ]
        rows = [row for row, each in enumerate(self.askings) if each.agent is not None]

        def chance(row: int) -> float:
            return chances[self.askings[row].cell, name_of_question(self.askings[row].question)]

        self.sample = {row: self.askings[row] for row in sorted(sorted(rows, key=chance)[:number])}
        self.ruled = dict(enumerate(settled.sample()))

    async def _replayed(
        self,
        place: int,
        wanted: Any,
        chosen: set[tuple[int, QuestionName]],
        settled: _Settled,
    ) -> None:
        known, running = self.known[place], list[tuple[Simulation, Features, bytes]]()

        def begin(simulation: Simulation) -> None:
            people = self._people[place]
            told = encode((people, simulation.config.llm))
            running.append((simulation, self.features(place, simulation.domain), told))
            settled.attach(simulation, place, people, told)

        async def keep(_: int, frame: bytes) -> None:
            simulation, features, told = running[-1]
            domain = simulation.domain
            for raw in messages_of(frame, simulation.engine, Question):
                name = name_of_question(raw)
                if (place, name) not in wanted:
                    continue
                question = replace(raw, context=convert(raw.context, domain.context_type))
                agent, decided = fixed(domain.asker(question)), known.named(name)
                if (key := _key(told, question, agent)) in self._keys:
                    continue
                self._keys.add(key)
                reference = said_by(domain).reference(question)
                embedded = None if reference.probabilities is None else tuple(map(float, reference.probabilities))
                found = features.of(agent, question.context, embedded)
                kept = agent if (place, name) in chosen else None
                state = question.options[0] if decided is None else decided.state
                words = features.words(agent, question.context)
                self.askings.append(Asking(place, question, state, embedded, found, words, reference.relevance, kept))

            settled.take(frame)

        await replay(RunDirectory(self.cells[place].path), on_begin=begin, on_frame=keep)

    @property
    def options(self) -> tuple[str, ...]:
        """All options of all questions; the first ones of questions come first."""
        every = [*self.askings, *self.ruled.values()]
        named = (option for each in every for option in (*each.question.options, each.chosen))
        return tuple(dict.fromkeys([*(each.question.options[0] for each in self.askings), *named]))

    def in_columns(self) -> Recorded:
        options = self.options
        offered = np.full((len(self.askings), len(options)), -np.inf)
        for row, each in enumerate(self.askings):
            offered[row, [options.index(option) for option in each.question.options]] = 0.0
        chosen = np.array([options.index(each.chosen) for each in self.askings], dtype=np.int64)
        features = np.array([each.features for each in self.askings], dtype=np.float64)
        return Recorded(options, offered, chosen, features, np.ones(len(chosen)))

    def people(self, rows: Sequence[int] | Ints) -> Ints:
        return self.people_of([self.askings[row] for row in rows])

    def people_of(self, askings: Sequence[Asking]) -> Ints:
        """Return the person of each question: runs under the same seed have the same people."""
        return np.array([(self._people[each.cell] << 32) + each.question.agent for each in askings], np.int64)

    def seen(self, rows: Sequence[int] | Ints) -> list[str]:
        """Return the group of what was seen in each question: thirds by its relevance, if there is one."""
        relevances = [self.askings[row].relevance for row in rows]
        known = [each for each in relevances if each is not None]
        if len(known) < len(relevances) or not known:
            return [""] * len(relevances)
        ends = np.quantile(known, (1 / 3, 2 / 3))
        return [RELEVANCES[int(np.searchsorted(ends, each, side="right"))] for each in known]
