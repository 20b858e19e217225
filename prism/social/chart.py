"""The default statechart of a person on a social feed. It is the file social.yaml beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from prism.errors import StatechartError
from prism.expectations import guess
from prism.expressions import expression_of
from prism.social.vocabulary import ACTIONS, TRIGGERS, Effect, Role, social_vocabulary
from prism.statechart.behaviour import Behaviour, Vocabulary, flatten, steps_of
from prism.statechart.definition import ChartDefinition, read_chart
from prism.statechart.statechart import Statechart
from prism.statechart.states import AgentState

_NEEDED: Final[Mapping[str, str]] = {Role.BROWSE.value: "sees_post", Role.ATTEND.value: "decides"}
SOURCE: Final = "prism/social/social.yaml"


def social_definition() -> ChartDefinition:
    return read_chart(social_chart_text(), SOURCE)


def social_chart_text() -> str:
    return files("prism.social").joinpath("social.yaml").read_text(encoding="utf-8")


def social_behaviour(definition: ChartDefinition, vocabulary: Vocabulary | None = None) -> Behaviour[Any]:
    """Return the behaviour that a chart of people on a social feed describes.

    Raises:
        ConfigError: a word is unknown, an expression is wrong, or the world cannot run the chart: people do not start
            offline, cannot come online, see no posts, or cannot decide.
    """
    behaviour = flatten(definition, vocabulary or social_vocabulary())
    # 1. The places of states and rows in the file, for errors; a chart that was made in Python has no file.
    chart, file = behaviour.chart, behaviour.definition
    states = [] if file is None else [path[-1] for path in file.walk()]
    places = {str(state): f"states.{state}" for state in behaviour.states} | {each.name: each.place for each in states}

    def refused(place: str, problem: str) -> Exception:
        return StatechartError(f"{place}: {problem}") if file is None else file.file.refused(problem, place)

    # 2. Every trigger is sent, and every state has the rows that its role needs.
    sent = {*TRIGGERS, *(delay.trigger for delay in behaviour.delays.values())}
    for row in chart.transitions:
        if row.trigger not in sent:
            rows = (each for state in states for each in state.transitions if each.trigger == row.trigger)
            place = next((each.place for each in rows), places[row.source])
            raise refused(place, f"nobody sends {row.trigger}; {guess(row.trigger, sorted(sent))}")
    offline = behaviour.in_role(Role.OFFLINE)
    if chart.initial not in offline:
        raise refused("initial", f"{chart.initial} needs `role: offline`, because people start outside")
    for state in behaviour.states:
        role, triggers, place = behaviour.roles.get(state, ""), chart.valid_triggers(state), places[state]
        if role in _NEEDED and _NEEDED[role] not in triggers:
            raise refused(place, f"`role: {role}` needs a row for {_NEEDED[role]}")
        if role in (Role.OFFLINE, Role.ATTEND) and state in behaviour.delays:
            raise refused(f"{place}.after", f"a state with `role: {role}` has no delay")
    if "feed_ready" not in chart.valid_triggers(chart.initial):
        raise refused(places[chart.initial], "needs a row for feed_ready, or nobody comes online")
    lonely = [
        state
        for state in behaviour.states
        if state not in offline and offline.isdisjoint(chart.valid_targets(state, "round_ends"))
    ]
    if lonely:
        problem = (
            "needs a row for round_ends to a state with `role: offline` "
            f"(so do: {', '.join(lonely)}); one row on a state around them all is enough"
        )
        raise refused(places[lonely[0]], problem)
    return behaviour


def can_post(behaviour: Behaviour[Any]) -> bool:
    return any(effect == Effect.POST for ends in behaviour.effects.values() for effect in ends.values())


SOCIAL_BEHAVIOUR: Final[Behaviour[AgentState]] = social_behaviour(social_definition())

SOCIAL_CHART: Final[Statechart[AgentState]] = SOCIAL_BEHAVIOUR.chart


_WITH_TEXT: Final = frozenset({Effect.REPLY, Effect.RESHARE, Effect.POST})


def writing_states(behaviour: Behaviour[Any]) -> frozenset[Any]:
    """Return the states in which a text is under way: those that a reply, reshare or post leaves, and those before.

    A state with a role is none of them: there the person has finished, or has not begun.
    """
    states = {
        behaviour.states(before)
        for moves in behaviour.effects.values()
        for (before, _), effect in moves.items()
        if effect in _WITH_TEXT
    }
    found = {state for state in states if state not in behaviour.roles}
    while True:
        before = {
            row.source
            for row in behaviour.chart.transitions
            if row.target in found and row.source not in behaviour.roles
        }
        if before <= found:
            return frozenset(found)
        found |= before


def rows_with_functions(chart: Statechart[Any]) -> list[str]:
    """Return a line for each row with a user's function, which may read and change what no column has."""
    known, lines = {*ACTIONS.values()}, list[str]()
    for row in chart.transitions:
        if row.guard is not None and expression_of(row.guard) is None:
            lines.append(f"{row.name}: its guard is a function")
        if row.action is not None and not {*steps_of(row.action)} <= known:
            lines.append(f"{row.name}: its action is a function")
    return lines
