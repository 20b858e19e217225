"""The parts of a configuration that had no effect in a run, as its counts tell at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

from actors.factory.domains import no_effect_of
from actors.runs.interventions import DoneIntervention
from actors.runtime.simulation import Simulation
from actors.store.course import Step
from prism.agents import DECIDED, MOVED
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.no_effect import TIMEOUT, NoEffect, NoEffectKind
from prism.statechart import Behaviour, RowDefinition, Statechart
from prism.statechart.outline import inner_states, outline
from prism.wording import counted

ROUNDS_MIN: Final = 2
"""The fewest rounds of a run: in one, some rows are not due yet."""


def no_effect_in(simulation: Simulation, done: Sequence[DoneIntervention]) -> list[NoEffect]:
    """Return the parts of the configuration that had no effect in the run so far."""
    found = [*no_effect_of(simulation.config, simulation.domain)]
    known = {each.place for each in found}
    if simulation.engine.tick // simulation.config.simulation.ticks_per_round >= ROUNDS_MIN:
        behaviour = getattr(simulation.domain, "behaviour", simulation.domain.chart)
        never = unused(behaviour, simulation.counters.rows, simulation.counters.states_visited(), known)
        found = [*(each for each in never if each.place not in known), *found]
    return [*found, *(each for each in ignored_posts(done) if each.place not in known)]


def unused(
    behaviour: Behaviour[Any] | Statechart[Any],
    rows: Mapping[tuple[str, str, str, str], int],
    visited: Sequence[str],
    known: Set[str],
) -> Iterator[NoEffect]:
    """Yield the states that nobody entered, and by state the rows that nobody took.

    Args:
        rows: `{(from_state, to_state, trigger, source): updates}`.
        visited: the states that agents have been in.
        known: states of which something is told already, so that their rows are left out.
    """
    chart = behaviour.chart if isinstance(behaviour, Behaviour) else behaviour
    for state in (each for each in type(chart.initial) if each in chart.states and each.value not in visited):
        yield NoEffect(kind=NoEffectKind.STATE, place=state.value, message="nobody entered this state")
    delays = (
        {state.value: each.trigger for state, each in behaviour.delays.items()}
        if isinstance(behaviour, Behaviour)
        else {}
    )
    steps = Counter[Step]()
    for (before, after, trigger, source), count in rows.items():
        if source in MOVED:
            steps[Step(before, trigger, after, source in DECIDED)] += count
    never: dict[str, list[str]] = {}
    for covered in covered_rows(behaviour, steps):
        sources = [state for state in covered.sources if state in visited]
        # Where it ends no delay, this trigger only frees agents who are stuck.
        frees = covered.row.trigger == TIMEOUT and TIMEOUT not in [delays.get(state) for state in sources]
        if sources and not covered.times and not frees and known.isdisjoint(sources):
            place, _, row = covered.name.partition(" ")
            never.setdefault(place, []).append(row)
    for place, names in never.items():
        message = f"{counted(len(names), 'row was', 'rows were')} never taken: {'; '.join(names)}"
        yield NoEffect(kind=NoEffectKind.ROW, place=place, message=message)


def ignored_posts(done: Sequence[DoneIntervention]) -> Iterator[NoEffect]:
    for each in done:
        if each.reactions == 0:
            message = f"nobody liked, answered or reshared the post of tick {each.tick:,}"
            yield NoEffect(kind=NoEffectKind.INTERVENTION, place=f"{INTERVENTIONS}[{each.index}]", message=message)


class CoveredRow(NamedTuple):
    """A row of a chart, as its author wrote it.

    Args:
        times: how often it was taken.
        sources: the innermost states in which it holds.
        is_shared: True if the count includes other rows that lead the same way.
    """

    name: str
    times: int
    sources: tuple[str, ...]
    row: RowDefinition
    is_shared: bool = False


def covered_rows(behaviour: Behaviour[Any] | Statechart[Any], steps: Mapping[Step, int]) -> list[CoveredRow]:
    """Return every row in the order of the chart.

    A journal names the states before and after, the trigger, and whether a choice was decided. Rows that agree in all
    of these share their count.
    """
    definition, found = outline(behaviour).definition, list[CoveredRow]()
    leaves = inner_states(definition)
    entered = {path[-1].name: path[-1].entered for path in definition.walk()}
    for path in definition.walk():
        state, rows = path[-1].name, path[-1].rows
        for row in rows:
            target, is_decided = entered.get(row.target, ""), _is_decided(row, rows)
            alike = [each for each in rows if (each.trigger, each.target) == (row.trigger, row.target)]
            when, label = f" when {row.when}" if row.when else "", f"  ({row.label})" if row.label else ""
            times = sum(
                count
                for step, count in steps.items()
                if step.before in leaves[state]
                and step.trigger == row.trigger
                and step.after == (target or step.after)
                and (is_decided is None or step.is_decided == is_decided)
            )
            found.append(
                CoveredRow(
                    f"{state} --{row.trigger}--> {row.target or 'as the oracle decides'}{when}{label}",
                    times,
                    leaves[state],
                    row,
                    is_shared=sum(_is_decided(each, rows) == is_decided for each in alike) > 1,
                )
            )
    return found


def _is_decided(row: RowDefinition, rows: Sequence[RowDefinition]) -> bool | None:
    """Return whether the row is taken by decisions alone, or by rules alone; None if by both.

    The journal separates the two kinds only if there is a row of each for the same trigger and target. A row for the
    oracle that is the only option counts as taken by a rule, because nothing is left to ask.
    """
    rivals = [each for each in rows if (each.trigger, each.target) == (row.trigger, row.target)]
    return bool(row.oracle) if len({bool(each.oracle) for each in rivals}) > 1 else None
