"""Two questions about a study as a whole: what is being studied, and how many people would take each option."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Final

import msgspec

from prism.audit.known import ASK_STUDY
from prism.errors import OracleResponseError
from prism.llm.answer import read_answer
from prism.llm.oracle import WRITING_TOKENS, ModelOracle
from prism.llm.port import ChatRequest, LanguageModel, Message
from prism.llm.prompt import ChoicePrompt
from prism.llm.spending import counting_failures
from prism.statechart.oracle import UNTRUSTED, Answer

KEY: Final = "answer"
PLACE: Final = "<one sentence>"
"""The place of the sentence in the form; a small model may give it back as it is, which is no answer."""
PEOPLE: Final = 100  # the people of the plain question
COUNT_MAX: Final = 1e9  # an answer with a larger number, or an infinite one, has another form


class Text(StrEnum):
    """The only state of a question whose answer is a text."""

    TEXT = "text"


class Informant(msgspec.Struct, frozen=True, kw_only=True):
    """One asking of such a question: the agent of an oracle's question."""

    prompt: ChoicePrompt  # a recorded question: what is told of the person and of what they see
    is_plain: bool = False  # whether it is asked how many take each option; otherwise what is being studied
    state: Text = Text.TEXT

    @property
    def agent_id(self) -> int:
        return int(self.prompt.agent.agent_id)

    @property
    def tick(self) -> int:
        return int(self.prompt.agent.tick)

    @property
    def told(self) -> str:
        """All that the model is told of the person and of what they see."""
        return "\n\n".join(filter(None, map(self.prompt.value, ("person", "memory", "seen"))))

    def messages(self) -> tuple[Message, ...]:
        if self.is_plain:
            options = "\n".join(f"- {each}" for each in self.prompt.options)
            task = (
                f"{PEOPLE} users of a social network each see a post such as the one below. How many of them would do "
                f"each of these? The numbers add up to {PEOPLE}.\n{options}"
            )
            form, told = "a whole number for each of these, under its words", self.prompt.value("seen")
        else:
            task, form, told = ASK_STUDY, f'{{"{KEY}": "{PLACE}"}}', self.told
        rules = f"{task}\n\nAnswer with JSON only: {form}\n\n{UNTRUSTED}"
        return Message(role="system", content=rules), Message(role="user", content=told)

    def schema(self) -> dict[str, Any]:
        kinds = {str(each): "integer" for each in self.prompt.options} if self.is_plain else {KEY: "string"}
        return {
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in kinds.items()},
            "required": [*kinds],
            "additionalProperties": False,
        }

    def read(self, said: str) -> str:
        """Return the text of an answer, or the shares of the options as a list in JSON.

        Raises:
            OracleResponseError: the answer has another form.
        """
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and self.is_plain:
            said_of = [found.get(str(each)) for each in self.prompt.options]
            numbers = [float(each) for each in said_of if isinstance(each, int | float) and 0 <= each <= COUNT_MAX]
            if len(numbers) == len(said_of) and sum(numbers) > 0:
                return json.dumps([each / sum(numbers) for each in numbers])
        elif isinstance(found, dict) and isinstance(text := found.get(KEY), str) and text.strip() not in ("", PLACE):
            return " ".join(text.split())[:500]
        raise OracleResponseError(said, [], "not in the form that was asked for")


class InformantOracle(ModelOracle[Any]):
    """An oracle that puts such questions to a model; an answer is the content of the only option."""

    def __init__(self, model: LanguageModel, seed: int) -> None:
        super().__init__(model)
        self._seed = seed

    async def answer(
        self,
        agent: Informant,
        current_state: Any,  # noqa: ARG002  # the interface's, as the rest
        trigger: str,
        options: Any,  # noqa: ARG002
        context: Any = None,
    ) -> Answer:
        request = ChatRequest(
            messages=agent.messages(),
            schema=agent.schema(),
            seed=self._seed,
            sample=(agent.tick << 32) | agent.agent_id,
            max_tokens=WRITING_TOKENS,
            asked_by=self.asker_name(agent, trigger, context),
        )
        with counting_failures():
            found = await self._told(request, lambda said: read_answer(said, agent.read, (OracleResponseError,)))
        return Answer(Text.TEXT, found)

    def asker_name(self, agent: Informant, trigger: str, context: Any) -> str:  # noqa: ARG002  # the interface's
        return f"agent {agent.agent_id} in tick {agent.tick}, {'plain' if agent.is_plain else 'study'}"
