"""The parts of a configuration that have no effect, as far as they can be told before a run.

A delay that the end of the round cuts short, an attribute that nothing reads, an intervention that asks for what is so
already: each is allowed, and hardly ever what was meant. `actors.runs.no_effect` tells the others, after a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum, unique
from typing import Any, Final

import msgspec

from prism.config import Config, InterventionConfig
from prism.config.attributes import PLACE as ATTRIBUTES
from prism.config.interventions import CHANGEABLE, planned, with_settings
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.measures import measure_name
from prism.domain import Domain
from prism.expressions import expression_of
from prism.social.people.population import Population
from prism.social.ranking import scored_by
from prism.social.vocabulary import ACTIONS, Role, of_reader
from prism.statechart import Behaviour, Finding, FindingKind
from prism.statechart.definition import Delay, DelayLaw
from prism.statechart.flatten import steps_of
from prism.wording import counted

ROUND_ENDS: Final = "round_ends"
_AGENT: Final = "agent."
_STEPS: Final[Mapping[str, int]] = {"feed_ready": 0, "wants_to_post": 0}
"""`{trigger: the fewest ticks after which it comes}`, unless that is 1."""


@unique
class NoEffectKind(StrEnum):
    """The part of a configuration that has no effect."""

    DELAY = "delay"
    EXIT = "exit"
    OPTION = "option"
    ATTRIBUTE = "attribute"
    INTERVENTION = "intervention"


class NoEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a configuration without an effect.

    Args:
        kind: what it is.
        place: a state of the chart, or the key of the setting.
        message: why it has none, in words.
    """

    kind: NoEffectKind
    place: str
    message: str

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.place}: {self.message}"


def no_effect_before(config: Config, behaviour: Behaviour[Any], population: Population | None) -> list[NoEffect]:
    """Return what will have no effect in a run of people on a feed.

    Args:
        population: the people; None if they are not made: then nothing is said of ties.
    """
    delays = [
        NoEffect(kind=NoEffectKind.DELAY, place=each.state, message=each.message)
        for each in long_delays(config, behaviour)
    ]
    return [*delays, *unread_attributes(config, behaviour), *idle_interventions(config, population)]


def no_effect_of(config: Config, domain: Domain) -> list[NoEffect]:
    """Return what will have no effect in a run of a built domain."""
    from prism.social.domain import SocialDomain  # noqa: PLC0415  # a run needs one of the domains, so it imports one

    if isinstance(domain, SocialDomain):
        return no_effect_before(config, domain.behaviour, domain.population)
    return [*idle_interventions(config, None)]


def told(found: Iterable[NoEffect]) -> tuple[str, ...]:
    """Return what has no effect as lines of their own."""
    return tuple(f"without effect: {each}" for each in found)


# Delays


def long_delays(config: Config, behaviour: Behaviour[Any]) -> Iterator[Finding]:
    """Yield a finding for each delay that the end of the round cuts short, for all people or for most of them.

    People come online in the first part of a round, and `round_ends` leads everybody out in its last tick. A browsing
    person's delay runs only when the feed is empty, so nothing is said of it.
    """
    length = config.simulation.ticks_per_round
    arrivals = min(max(int(length * config.population.activity.arrival), 1), length - 1)
    entered = _earliest(config, behaviour)
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
    """Return the ticks of a delay, of a drawn one the median; None if people have different ones."""
    if delay.law is not DelayLaw.FIELD:
        return delay.ticks(0.5)
    section, _, name = delay.field.partition(".")
    return int(getattr(config.statechart, name)) if section == "statechart" else None


def _earliest(config: Config, behaviour: Behaviour[Any]) -> dict[Any, int]:
    """Return `{state: the fewest ticks after coming online in which a rule leads there}`, of those that rules reach."""
    chart = behaviour.chart
    found = {chart.initial: 0}
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
                if found[state] + steps < found.get(target, config.simulation.ticks_per_round):
                    found[target] = found[state] + steps
                    waiting.append(target)
    return found


# Attributes


def unread_attributes(config: Config, behaviour: Behaviour[Any]) -> Iterator[NoEffect]:
    """Yield people's own attributes that nothing in the run reads; none where a function of the chart might."""
    declared = config.population.attributes
    if not declared or config.oracle.sharing.by != "none" or _has_functions(behaviour):
        return
    read = {
        *(name for row in behaviour.chart.transitions for name in _fields(row.guard)),
        *(delay.field for delay in behaviour.delays.values()),
        *(_AGENT + name for name in config.oracle.choice.attributes),
        *map(of_reader, behaviour.read_outside_guards),
        *map(of_reader, scored_by(config)),
        f"{_AGENT}{config.feed.across}",
        *(change.field.name for change in behaviour.all_changes),  # what people change is what a study looks at
        *(_AGENT + each.attribute for each in map(measure_name, config.population.measures) if each is not None),
        f"{_AGENT}{config.population.graph.homophily.by}",
    }
    asks_model = config.oracle.backend != "choice" and config.statechart.oracle_enabled
    for name, attribute in declared.items():
        if _AGENT + name not in read and not (asks_model and attribute.prompt):
            message = "nothing in the run reads it: no condition, no delay, no weight and no model"
            yield NoEffect(kind=NoEffectKind.ATTRIBUTE, place=f"{ATTRIBUTES}.{name}", message=message)


def _fields(guard: object) -> tuple[str, ...]:
    expression = expression_of(guard)
    return () if expression is None else tuple(map(of_reader, expression.fields))


def _has_functions(behaviour: Behaviour[Any]) -> bool:
    """Return whether a guard or an action of the chart is a function of somebody's own, which may read anything."""
    known = {*ACTIONS.values()}
    return any(
        (row.guard is not None and expression_of(row.guard) is None)
        or (row.action is not None and not known.issuperset(steps_of(row.action)))
        for row in behaviour.chart.transitions
    )


# Interventions


def idle_interventions(config: Config, population: Population | None) -> Iterator[NoEffect]:
    """Yield interventions that ask for what is so already when they happen.

    Args:
        population: the people, whose ties are looked at; None if there are none, or they are not made.
    """
    places = {id(each): f"{INTERVENTIONS}[{index}]" for index, each in enumerate(config.interventions)}
    state = _State(config, population)
    for tick, each in planned(config.interventions, config.simulation.ticks_per_round):
        if not state.changes(each, tick):
            message = f"{each.kind} at tick {tick:,} changes nothing: what it asks for is so already"
            yield NoEffect(kind=NoEffectKind.INTERVENTION, place=places[id(each)], message=message)


class _State:
    """The settings, ties and silences that interventions have made so far."""

    def __init__(self, config: Config, population: Population | None) -> None:
        self._config = config
        self._population = population
        self._ties: dict[tuple[int, int], bool] = {}
        self._silent: dict[int | str, float] = {}
        """`{agent: the tick until which it gets no trigger}`."""

    def changes(self, each: InterventionConfig, tick: int) -> bool:
        """Return whether an intervention changes anything; True where that cannot be told. Then it has happened."""
        if each.set is not None:
            return self._sets(each.set)
        if each.shock is not None:
            return any(each.shock.values())
        if each.silence is not None:
            length = self._config.simulation.ticks_per_round
            until = float("inf") if each.until_round is None else (each.until_round - 1) * length
            before = [self._silent.get(agent, -1.0) for agent in each.silence]
            self._silent.update(dict.fromkeys(each.silence, until))
            return any(end <= tick or end != until for end in before)
        ties = each.follow or each.unfollow or ()
        return self._binds(ties, self._population, follows=each.follow is not None) if self._population else True

    def _sets(self, settings: Mapping[str, Any]) -> bool:
        domain = self._config.simulation.domain
        if any(path not in CHANGEABLE.get(domain, {}) for path in settings):
            return True  # a domain of one's own
        before, self._config = self._config, with_settings(self._config, settings)
        return before != self._config

    def _binds(self, ties: tuple[tuple[int | str, ...], ...], people: Population, *, follows: bool) -> bool:
        is_changed = not ties  # a post is none of these, and changes something
        for one, other in ties:
            tie = people.number(one), people.number(other)
            before = self._ties.get(tie)
            is_changed |= follows != (people.graph.follows(*tie) if before is None else before)
            self._ties[tie] = follows
        return is_changed
