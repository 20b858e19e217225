"""The turns of people, many at once: a chart's guards as a kernel, and a number for each outcome of a turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from prism import kernels
from prism.agents.questions import Answered, Decisions, Forms, QuestionKind, Questions
from prism.agents.turn import Decision, Source
from prism.agents.waves import Kind, Wave
from prism.columns import Ints
from prism.config.model import ACTIONS as INTENDED
from prism.config.model import IntentionsConfig
from prism.domain import ALONE, Stretch, Turns
from prism.expressions.tree import reads_view
from prism.rng import Draw
from prism.social import tables as col
from prism.social.choice import ChoiceOracle
from prism.social.field_source import HEAD, FieldSource, drawn_in_view
from prism.social.kernels import turn_kernel
from prism.social.kernels.stretch_kernel import OPTIONS_MAX, SETTLED, TurnTables
from prism.social.people.persona import Intentions
from prism.social.posts.post import PostView
from prism.social.stretch import Stretches
from prism.social.tables import ChartTables, grown
from prism.social.view_words import CONTEXTS
from prism.social.vocabulary import DRAFTED, intend
from prism.social.world import SocialWorld
from prism.statechart import Oracle
from prism.statechart.rows import Rows
from prism.statechart.statechart import Statechart
from prism.statechart.transitions import Choice, Transition

GUARDS_MAX: Final = 12
"""The most guards of one state and trigger that are read at once: every pattern of them has a place in a table."""


class SocialTurns(Turns):
    """The turns of people in one world.

    Args:
        asks: whether choices are put to the oracle; else the first option is taken.
    """

    def __init__(self, world: SocialWorld, chart: Statechart[Any], intentions: IntentionsConfig, *, asks: bool) -> None:
        self._world = world
        self._chart = chart
        self._asks = asks
        self._intentions = Intentions(intentions)
        self.forms: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._choices: dict[int, Choice[Any]] = {}
        """`{number of a question: its options}`."""
        self.asked: dict[int, QuestionKind] = {}
        self._stretches = Stretches(world)
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
        """Write the guards of the chart as a kernel, if that is not done for all triggers, as kernels are now."""
        self._world.follow_kernels()
        if (self._triggers, self._are_compiled) != (len(self._world.triggers_known), kernels.are_compiled()):
            # Look up the outcome of each trigger in each state, and write the guards that decide it as a kernel.
            world, chart = self._world, self._chart
            triggers, states = world.triggers_known, world.states_known
            self._triggers, size = len(triggers), len(triggers) * len(states)
            self._are_compiled = kernels.are_compiled()
            fixed, starts = (np.full(size, ALONE, dtype=np.int64) for _ in range(2))
            views = np.zeros(size, dtype=np.bool_)
            self._with_view = np.array([world.has_view(trigger) for trigger in triggers], dtype=np.bool_)
            self._rows: dict[int, Rows[Any]] = {}
            drawn = drawn_in_view(Draw.CHART, Draw.CHART_NORMAL)
            fields, used, bodies = FieldSource(world.changing.tables, drawn, columns="t.own"), 0, list[str]()
            for code, before in enumerate(states):
                for place, trigger in enumerate(triggers):
                    group = code * len(triggers) + place
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
        if (world.current[agents] < network.living.first).any() or not self._with_view[wave.codes[places]].all():
            return None
        views = network.see(agents, wave.tick)
        columns = network.in_columns(wave.tick, views)
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
        numbers[self._world.entered[questions.agents] > questions.tick] = ALONE
        return numbers

    def stretch(
        self, ticks: range, delay: int, answers: Forms, oracle: Oracle[Any], pending: Sequence[Answered]
    ) -> Stretch | None:
        """Run ticks of few people in a kernel, if an embedded choice answers their questions."""
        if not isinstance(oracle, ChoiceOracle) or not self._stretches.are_possible():
            return None
        self.prepare()
        choosing, source = oracle.for_kernels(self.asked), Source.ORACLE.value
        if choosing is None:
            return None
        moves = [self.settled(Decisions(ticks.start, asked, chosen, source)) for asked, chosen in pending]
        if any((each == ALONE).any() for each in moves):
            return None
        answers.learn(self)
        self._settled = grown(self._settled, OPTIONS_MAX * len(self.forms))
        known = TurnTables(
            answers.asks,
            self._world.kind_rows(answers.kinds),
            self._settled,
            self._with_view,
        )
        before = [(*each, to) for each, to in zip(pending, moves, strict=True)]
        return self._stretches.run(ticks, delay, self._tables, known, choosing, answers, before, self.asked)

    def decided(self, asked: int, decision: Decision, agent: int) -> int:
        """Return the outcome of a turn whose question, by its number, has been decided.

        It is the row that was selected then; ALONE if the person has moved since, or the decision has a reason or
        content.
        """
        if decision.reason or decision.content or decision.asked < self._world.people["entered"][agent]:
            return ALONE
        return self._taken(asked, decision.state, decision.source)

    def _taken(self, asked: int, option: str, source: str) -> int:
        key = asked, option, source
        found = self._decided.get(key)
        if found is None:
            row = self._choices[asked].option(option)
            found = ALONE
            if row is not None and row.target in self._chart.states and row.action is not intend:
                found = self._of_row(row, source)
            self._decided[key] = found
        return found

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
