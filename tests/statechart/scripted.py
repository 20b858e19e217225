"""An agent that asks an oracle, and a chat client that answers from a script."""

from typing import Any

import msgspec

from prism.statechart import AgentState

OPTIONS = [AgentState.COMPOSING, AgentState.SCROLLING]


class Asking(msgspec.Struct):
    """The agent that asks."""

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
