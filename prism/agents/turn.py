"""One turn of an agent: it gets a trigger and gives exactly one answer, an update or a question.

A turn is a pure function of the chart, the agent and the trigger, so the same code runs in any task or process.
"""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any, Final, Generic, TypeVar

import msgspec

from prism.agents.stateful import StatefulAgent
from prism.statechart import Choice, Statechart, Transition
from prism.statechart.states import S

C = TypeVar("C")
"""The context of a domain's triggers, such as the post in view."""

E = TypeVar("E")
"""The effect of a domain's updates beyond the state."""


@unique
class Source(StrEnum):
    """The source of an update. The last three leave the agent in its state; the others move it."""

    RULE = "rule"
    ORACLE = "oracle"
    LLM = "llm"
    FALLBACK = "fallback"
    TIMEOUT = "timeout"
    NO_ROW = "no_row"
    CRASH = "crash"
    QUARANTINE = "quarantine"


_RULE: Final[str] = Source.RULE.value
"""The source of nearly every update, as a name of the module: to read it from the enum takes five times as long."""

FALLBACKS = frozenset({Source.FALLBACK, Source.TIMEOUT})
DECIDED = frozenset({Source.ORACLE, Source.LLM}) | FALLBACKS
MOVED = DECIDED | {Source.RULE}

STALE: Final = "stale"
"""The reason of an update whose decision came to nothing, because the agent had moved on."""


class Decision(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The answer to a question that was asked in a tick: an option, and as JSON text what the oracle said beyond it."""

    state: str
    source: str
    asked: int
    reason: str = ""
    content: str = ""


class Trigger(msgspec.Struct, Generic[C], frozen=True, array_like=True, gc=False, tag=1):
    """An event for one agent; it carries all that the agent needs to answer."""

    tick: int
    agent: int
    name: str
    context: C | None = None
    decision: Decision | None = None


class Update(msgspec.Struct, Generic[E], frozen=True, array_like=True, gc=False, tag=2):
    """The result of a turn: the agent went from one state to another, or stayed."""

    tick: int
    agent: int
    trigger: str
    from_state: str
    to_state: str
    source: str
    effect: E | None = None
    reason: str = ""


class Question(msgspec.Struct, Generic[C], frozen=True, array_like=True, gc=False, tag=3):
    """A turn that the oracle must decide: the agent stays in its state and deliberates."""

    tick: int
    agent: int
    trigger: str
    state: str
    options: tuple[str, ...]
    context: C | None = None


def turn(
    chart: Statechart[S], agent: StatefulAgent[S], trigger: Trigger[Any], *, ask: bool = True
) -> Update[Any] | Question[Any]:
    """Return the agent's answer to a trigger. Without `ask`, the first option of every choice is taken.

    Raises:
        Exception: any error of a row's action; the agent then stays where it was.
    """
    if trigger.decision is not None:
        return _settle(chart, agent, trigger, trigger.decision)
    tick, name, context = trigger.tick, trigger.name, trigger.context
    before = agent.state
    try:
        rows = chart.index[before][name]
    except KeyError:
        rows = chart.rows(before, name)
    row: Transition[S] | Choice[S] | None = None if rows is None else rows.certain
    if row is None:
        agent.tick = tick
        row = None if rows is None else chart.select_among(rows, agent, context)
    # 1. The short way, for most: a row without an action. An earlier tick is refused below.
    if isinstance(row, Transition):  # quicker than to look for a choice, which is rare
        target = row.target
        if row.action is None and target is not None and tick >= agent.entered:
            agent.follow(target, row.trigger, tick, context)  # not `name`: agents share the chart's text
            return Update(tick, trigger.agent, name, before, target, _RULE)
    elif row is not None:
        if ask and (len(row.options) > 1 or name in agent.open_triggers):
            return Question(tick, trigger.agent, name, row.source, row.targets, context)
        row = row.options[0]
    # 2. A row with an action, or none.
    agent.tick = tick
    if row is None or row.target is None or not chart.commit(agent, row, tick, context):
        return Update(tick, trigger.agent, name, agent.state, agent.state, Source.NO_ROW)
    effect = None if row.action is None else agent.effect()
    return Update(tick, trigger.agent, name, row.source, row.target, _RULE, effect)


def _settle(chart: Statechart[S], agent: StatefulAgent[S], trigger: Trigger[Any], decision: Decision) -> Update[Any]:
    """Return the update of a decision. Rows are selected as of the tick of the question, so the same row is run."""
    before, choice = agent.state, None
    if decision.asked >= agent.entered:  # otherwise the agent has moved since
        agent.tick = decision.asked
        choice = chart.select(agent, trigger.name, trigger.context)
    agent.tick = trigger.tick
    if decision.content:
        agent.answered(trigger.name, decision.content)
    row = choice.option(decision.state) if isinstance(choice, Choice) else None
    if row is None or not chart.commit(agent, row, trigger.tick, trigger.context):
        return Update(trigger.tick, trigger.agent, trigger.name, before, before, Source.NO_ROW, None, STALE)
    effect = None if row.action is None else agent.effect()
    if decision.content:
        effect = agent.with_answer(effect)
    return Update(
        trigger.tick, trigger.agent, trigger.name, before, agent.state, decision.source, effect, decision.reason
    )
