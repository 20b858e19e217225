"""Small charts and guards, an agent that asks, and a chat client that answers from a script."""

from typing import Any

import msgspec

from prism.agents import StatefulAgent
from prism.statechart import AgentState, Statechart, Transition
from prism.statechart.transitions import Guard

IDLE = AgentState.IDLE
SCROLLING = AgentState.SCROLLING
EVALUATING = AgentState.EVALUATING
COMPOSING = AgentState.COMPOSING
LIKE = AgentState.ENGAGING_LIKE
RESTING = AgentState.RESTING


class Person(StatefulAgent[AgentState]):
    """An agent that starts in the state a test needs."""

    def __init__(self, state: AgentState = EVALUATING, **settings: Any) -> None:
        super().__init__(7, state, **settings)


def says(result: object) -> Guard:
    return lambda _agent, _context: result


def breaks(message: str = "no such post") -> Guard:
    def guard(_agent: Any, _context: Any) -> object:
        raise LookupError(message)

    return guard


def decides(
    target: AgentState | None, guard: Guard | None = None, *, oracle: bool | None = None, label: str = ""
) -> Transition[AgentState]:
    return Transition("decides", EVALUATING, target, guard, oracle=oracle, label=label)


def chart_of(*rows: Transition[AgentState]) -> Statechart[AgentState]:
    return Statechart(AgentState, rows, IDLE)


OPTIONS = [AgentState.COMPOSING, AgentState.SCROLLING]


class Asking(msgspec.Struct):
    name: str = "Ada Novak"
    interests: tuple[str, ...] = ("night trains", "tea")
    personality: str = "curious and warm"
    agent_id: int = 7
    tick: int = 3


class ScriptedClient:
    """A chat client that always gives the same answer, or raises the same error, and keeps its questions."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def chat(self, prompt: str, *, schema: dict[str, Any]) -> str:
        self.asked.append((prompt, schema))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer
