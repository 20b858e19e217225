"""The parts of a configuration of people on a feed that have no effect, as far as they are known before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from prism.config import Config
from prism.config.attributes import MEASURES, OF_TIES, measure_name
from prism.config.attributes import PLACE as ATTRIBUTES
from prism.expressions import expression_of
from prism.llm.prompt import PERSONAS, template_of
from prism.no_effect import ROUND_ENDS, NoEffect, NoEffectKind, idle_interventions
from prism.social.chart import rows_with_functions
from prism.social.effects import Effect
from prism.social.ranking import scored_by
from prism.social.vocabulary import Role, of_reader
from prism.statechart import Behaviour, Finding, FindingKind
from prism.statechart.definition import Delay, DelayLaw
from prism.wording import counted

_AGENT: Final = "agent."
_STEPS: Final[Mapping[str, int]] = {"feed_ready": 0, "wants_to_post": 0}
"""`{trigger: the fewest ticks after which it comes}`, unless that is 1."""


def no_effect_before(config: Config, behaviour: Behaviour[Any]) -> list[NoEffect]:
    """Return what will have no effect in a run of people on a feed."""
    delays = [
        NoEffect(kind=NoEffectKind.DELAY, place=each.state, message=each.message)
        for each in long_delays(config, behaviour)
    ]
    idle = [*fixed_measures(config, behaviour), *idle_interventions(config)]
    return [*delays, *unread_attributes(config, behaviour), *idle]


# Delays


def long_delays(config: Config, behaviour: Behaviour[Any]) -> Iterator[Finding]:
    """Yield a finding for each delay that the end of the round cuts short, for all people or for most of them.

    People come online in the first part of a round, and `round_ends` leads everybody out in its last tick. A browsing
    person's delay runs only when the feed is empty, so nothing is said of it.
    """
    length = config.simulation.ticks_per_round
    arrivals = min(max(int(length * config.population.activity.arrival), 1), length - 1)
    # `{state: the fewest ticks after coming online in which a rule leads there}`, of those that rules reach.
    chart = behaviour.chart
    entered = {chart.initial: 0}
    waiting = [chart.initial]
    while waiting:
        state = waiting.pop()
        for row in chart.transitions:
            if row.source != state or row.trigger == ROUND_ENDS:
                continue
            delay = behaviour.delays.get(state)
            steps = _STEPS.get(row.trigger, 1)
            if delay is not None and delay.trigger == row.trigger:
                steps = _usual_ticks(delay, config) or 1
            for target in chart.valid_targets(state, row.trigger) if row.target is None else (row.target,):
                if entered[state] + steps < entered.get(target, config.simulation.ticks_per_round):
                    entered[target] = entered[state] + steps
                    waiting.append(target)
    for state, delay in behaviour.delays.items():
        if behaviour.roles.get(state) == Role.BROWSE or state not in entered:
            continue
        ticks = _usual_ticks(delay, config)
        if ticks is None:
            continue
        length_told = f"delay of {'about ' if delay.is_random else ''}{counted(ticks, 'tick')}"
        last = length - 2 - ticks  # the last place of a round from which the delay ends before `round_ends` comes
        on_time = last - entered[state] + 1  # ticks in which somebody has to come online for that
        if last < 0:
            ends = "hardly ever ends" if delay.is_random else "cannot end"
            message = f"the {length_told} {ends} within a round of {length}: {ROUND_ENDS} comes first"
        elif 2 * on_time < arrivals:
            first = counted(last + 1, "tick")
            message = (
                f"the {length_told} ends only for those who enter within the first {first} of a round of {length}; "
                f"{ROUND_ENDS} leads the others out"
            )
        else:
            continue
        yield Finding(kind=FindingKind.TOO_LONG, state=state, trigger=delay.trigger, message=message)


def _usual_ticks(delay: Delay, config: Config) -> int | None:
    if delay.law is not DelayLaw.FIELD:
        return delay.ticks(0.5)
    section, _, name = delay.field.partition(".")
    return int(getattr(config.statechart, name)) if section == "statechart" else None


# Attributes


def unread_attributes(config: Config, behaviour: Behaviour[Any]) -> Iterator[NoEffect]:
    """Yield people's own attributes that nothing in the run reads; nothing if the chart has a function."""
    declared = config.population.attributes
    if not declared or config.oracle.sharing.by != "none" or rows_with_functions(behaviour.chart):
        return
    guards = [expression_of(row.guard) for row in behaviour.chart.transitions]
    read = {
        *(of_reader(name) for each in guards if each is not None for name in each.fields),
        *(delay.field for delay in behaviour.delays.values()),
        *(_AGENT + name for name in config.oracle.choice.attributes),
        *map(of_reader, behaviour.read_outside_guards),
        *map(of_reader, scored_by(config)),
        f"{_AGENT}{config.feed.across}",
        *(change.field.name for change in behaviour.all_changes),  # a study looks at the attributes that people change
        *(_AGENT + each.attribute for each in map(measure_name, config.population.measures) if each is not None),
        f"{_AGENT}{config.population.graph.homophily.by}",
        f"{_AGENT}{config.llm.by.attribute}",
    }
    asks_model = config.oracle.backend != "choice" and config.statechart.oracle_enabled
    told = template_of(config.llm.prompt).placeholders if asks_model else ()
    tells_all = not PERSONAS.isdisjoint(told)
    for name, attribute in declared.items():
        if _AGENT + name not in read and not ((tells_all and attribute.prompt) or f"attributes.{name}" in told):
            message = "nothing in the run reads it: no condition, no delay, no weight and no model"
            yield NoEffect(kind=NoEffectKind.ATTRIBUTE, place=f"{ATTRIBUTES}.{name}", message=message)


def fixed_measures(config: Config, behaviour: Behaviour[Any]) -> Iterator[NoEffect]:
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
            yield NoEffect(kind=NoEffectKind.MEASURE, place=f"{MEASURES}.{name}", message=message)
