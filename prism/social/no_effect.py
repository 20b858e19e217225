"""The parts of a configuration of people on a feed that have no effect, as far as they are known before a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prism.config import Config
from prism.config.attributes import MEASURES, OF_TIES, measure_name
from prism.config.attributes import PLACE as ATTRIBUTES
from prism.expressions import expression_of
from prism.llm.prompt import PERSONAS, template_of
from prism.no_effect import ROUND_ENDS, NoEffect, idle_interventions
from prism.social.chart import rows_with_functions
from prism.social.field_source import scored_by
from prism.social.vocabulary import Effect, Role, of_reader
from prism.statechart import Behaviour, Finding, FindingKind
from prism.wording import counted


def no_effect_before(config: Config, behaviour: Behaviour[Any]) -> list[NoEffect]:
    delays = long_delays(config, behaviour)
    return [
        *(NoEffect(kind="delay", place=each.state, message=each.message) for each in delays),
        *_unread_attributes(config, behaviour),
        *_fixed_measures(config, behaviour),
        *idle_interventions(config),
    ]


def long_delays(config: Config, behaviour: Behaviour[Any]) -> Iterator[Finding]:
    """Yield a finding for each delay that ends for few people, because `round_ends` comes in the last tick of a round.

    People come online in the first part of a round. A browsing person's delay runs only when the feed is empty, so
    nothing is said of it.
    """
    length = config.simulation.ticks_per_round
    left = length - 2 - int(length * config.population.activity.arrival) // 2  # for a person in the middle of that part
    for state, delay in behaviour.delays.items():
        section, _, name = delay.field.partition(".")
        ticks = None if delay.field else delay.drawn(0.5)
        if section == "statechart":
            ticks = int(getattr(config.statechart, name))
        if behaviour.roles.get(state) == Role.BROWSE or ticks is None or ticks <= left:
            continue
        told = f"the delay of {'about ' if isinstance(delay.ticks, dict) else ''}{counted(ticks, 'tick')}"
        message = f"{told} ends for few people within a round of {length}: {ROUND_ENDS} comes first"
        yield Finding(kind=FindingKind.TOO_LONG, state=state, trigger=delay.trigger, message=message)


def _unread_attributes(config: Config, behaviour: Behaviour[Any]) -> Iterator[NoEffect]:
    """Yield people's own attributes that nothing in the run reads; nothing if the chart has a function."""
    declared = config.population.attributes
    if not declared or config.oracle.sharing.by != "none" or rows_with_functions(behaviour.chart):
        return
    guards = [expression_of(row.guard) for row in behaviour.chart.transitions]
    read = {
        *(of_reader(name) for each in guards if each is not None for name in each.fields),
        *(delay.field for delay in behaviour.delays.values()),
        *(f"agent.{name}" for name in config.oracle.choice.attributes),
        *map(of_reader, behaviour.read_outside_guards),
        *map(of_reader, scored_by(config)),
        f"agent.{config.feed.across}",
        *(change.field.name for change in behaviour.all_changes),  # a study looks at the attributes that people change
        *(f"agent.{each.attribute}" for each in map(measure_name, config.population.measures) if each is not None),
        f"agent.{config.population.graph.homophily.by}",
        f"agent.{config.llm.by.attribute}",
    }
    asks_model = config.oracle.backend != "choice" and config.statechart.oracle_enabled
    told = template_of(config.llm.prompt).placeholders if asks_model else ()
    tells_all = not PERSONAS.isdisjoint(told)
    for name, attribute in declared.items():
        if f"agent.{name}" not in read and not ((tells_all and attribute.prompt) or f"attributes.{name}" in told):
            message = "nothing in the run reads it: no condition, no delay, no weight and no model"
            yield NoEffect(kind="attribute", place=f"{ATTRIBUTES}.{name}", message=message)


def _fixed_measures(config: Config, behaviour: Behaviour[Any]) -> Iterator[NoEffect]:
    """Yield the measures of people and ties that nothing in a run moves."""
    changed = {change.name for change in behaviour.all_changes}
    effects = {effect for by_ends in behaviour.effects.values() for effect in by_ends.values()}
    on_ties = {Effect.FOLLOW, Effect.UNFOLLOW, Effect.FOLLOW_ROOT, Effect.UNFOLLOW_ROOT}
    ties_change = bool(effects & on_ties) or any(each.follow or each.unfollow for each in config.interventions)
    for name in config.population.measures:
        measure = measure_name(name)
        if measure is None or measure.attribute in changed or measure.attention == "reshares":
            continue
        reads_ties = measure.kind in OF_TIES or measure.attention == "followers"
        if not (reads_ties and ties_change):
            what = [f"{measure.attribute} of anybody" if measure.attribute else "", "a tie" if reads_ties else ""]
            message = f"stays as at the start: no row or intervention changes {' or '.join(filter(None, what))}"
            yield NoEffect(kind="measure", place=f"{MEASURES}.{name}", message=message)
