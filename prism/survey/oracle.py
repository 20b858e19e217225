"""The oracle that puts a questionnaire to a language model, which answers as the people who are asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from prism.config.attributes import Value
from prism.config.model import LLMConfig
from prism.errors import OracleResponseError
from prism.llm.answer import read_answer, read_choice
from prism.llm.oracle import WRITING_TOKENS, ModelOracle, model_named
from prism.llm.port import SEEDS, ChatRequest, ChoiceRequest, LanguageModel, Message
from prism.llm.spending import counting_failures
from prism.llm.tape import TapeMissError
from prism.quoting import quoted
from prism.rng import Draw, integer, pick, uniform
from prism.statechart.oracle import TEXT_CHARS, UNTRUSTED, Answer, memory_lines, one_line, options_schema, person_lines
from prism.survey.questionnaire import Item

KEY = "answer"  # the key under which a model answers
PLACEHOLDER = "<answer>"  # the example answer in a prompt: a model that repeats it has not answered
LISTED_MAX = 20  # the most points of a scale of which a model is asked for probabilities

_TASK = """Answer one question of a survey as the person who is described below, with what this person thinks now."""


class Interview(msgspec.Struct, frozen=True):
    """One asking of one question: the agent of an oracle's question."""

    respondent: Respondent
    item: Item
    repeat: int  # how often the person was asked the same at this moment, this time included

    @property
    def agent_id(self) -> int:
        return self.respondent.number

    @property
    def tick(self) -> int:
        return self.respondent.tick

    @property
    def name(self) -> str:
        return self.respondent.name

    @property
    def state(self) -> Any:
        """A member of the enumeration of the answers, from which an oracle knows all of them."""
        return next(iter(self.item.states))


class SurveyOracle(ModelOracle[Any]):
    """An oracle that asks a model for the answers of people: for probabilities, else for a choice; or for a text.

    What is drawn depends on the run's seed, the person, the question and the repeat, and not on the moment: a person
    who is in the same situation twice, with the same probabilities, gives the same answer.

    Args:
        attempts: the most calls for a readable answer.
    """

    def __init__(self, model: LanguageModel, config: LLMConfig, seed: int, attempts: int = 1) -> None:
        super().__init__(model)
        self._config, self._seed, self._attempts = config, seed, attempts

    async def answer(
        self,
        agent: Interview,
        current_state: Any,  # noqa: ARG002  # the interface's
        trigger: str,
        options: Any,
        context: Any = None,
    ) -> Answer:
        """Return the chosen answer; of an open question its text, as content."""
        with counting_failures():
            for attempt in range(self._attempts):
                try:
                    return await self._answered(agent, options, attempt)
                except TapeMissError as error:
                    raise OracleResponseError("", [], f"not on the tape {error.path}") from None
                except OracleResponseError as error:
                    if attempt == self._attempts - 1:
                        raise
                    await self.before_retry(agent, trigger, context, error.reason)
        raise AssertionError("the last attempt returns or raises")

    def asker_name(self, agent: Interview, trigger: str, context: Any) -> str:  # noqa: ARG002  # the interface's
        return f"agent {agent.agent_id} in tick {agent.tick}, question {agent.item.id}, asking {agent.repeat}"

    async def _answered(self, agent: Interview, options: Any, attempt: int) -> Answer:
        item, person, config = agent.item, agent.respondent, self._config
        key, asked_by = item.key(agent.repeat), self.asker_name(agent, "", None)
        model = model_named(config, person.attributes)
        if item.choices and len(options) <= LISTED_MAX:
            meanings = dict(zip(item.choices[:: len(item.choices) - 1], item.labels, strict=False))
            found = await self._weighed(
                ChoiceRequest(
                    state=person.situation(),
                    instructions=f"{_TASK}\n\n{item.text}\n\n{UNTRUSTED}",
                    options={choice: meanings.get(choice) for choice in item.choices},
                    asked_by=asked_by,
                    model=model,
                )
            )
            if found is not None:
                # Draw an answer by its probability, with random numbers of the person, the question and the repeat.
                weights = [found.probabilities[option.value] for option in options]
                unit = uniform(self._seed, agent.agent_id, 0, Draw.SURVEY, key)
                return Answer(options[pick(weights, unit)], method=found.method)
        seed = config.seed
        if config.temperature > 0.0:
            seed = integer(SEEDS, self._seed ^ seed, agent.agent_id, 0, Draw.SURVEY, key)
        request = ChatRequest(
            messages=messages_of(agent),
            schema=options_schema(options, KEY) if item.choices else _TEXT_SCHEMA,
            seed=seed,
            sample=agent.repeat,
            max_tokens=None if item.choices else max(config.num_predict, WRITING_TOKENS),
            asked_by=asked_by,
            attempt=attempt,
            model=model,
        )
        if item.choices:
            return Answer(await self._told(request, lambda said: read_choice(said, options, KEY)))
        text = await self._told(request, lambda said: read_answer(said, _text, (OracleResponseError,)))
        return Answer(options[0], text)


def messages_of(agent: Interview) -> tuple[Message, Message]:
    """Return the chat of one asking: what is the same for all people first, then the person."""
    rules = f"""{_TASK}

{agent.item.text}

{_form(agent.item)}

Respond with JSON only:
{{"{KEY}": "{PLACEHOLDER}"}}

{UNTRUSTED}"""
    return Message(role="system", content=rules), Message(role="user", content=agent.respondent.situation())


def _form(item: Item) -> str:
    if item.scale is not None:
        low, high = [f"{end} ({label})" for end, label in zip(item.scale, item.labels, strict=True)] or item.scale
        return f"The answer is a whole number from {low} to {high}."
    if item.options:
        return "\n".join(["The answer is one of these options:", *(f"- {option}" for option in item.options)])
    return f"The answer is in the person's own words, on one line of at most {TEXT_CHARS} characters."


_TEXT_SCHEMA = {
    "type": "object",
    "properties": {KEY: {"type": "string"}},
    "required": [KEY],
    "additionalProperties": False,
}


def _text(said: str) -> str:
    """Return the text of an answer in JSON, on one line and cut."""
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        found = None
    text = found.get(KEY) if isinstance(found, dict) else None
    line = one_line(text, TEXT_CHARS) if isinstance(text, str) else ""
    if line in {"", PLACEHOLDER}:
        raise OracleResponseError(said, [], f"no text under {KEY}")
    return line


class Respondent(msgspec.Struct, frozen=True, kw_only=True):
    """A person who is asked, as they were at the moment."""

    number: int  # the agent's number
    tick: int  # the whole ticks before the moment
    moment: str
    name: str
    interests: tuple[str, ...]
    personality: str
    facts: Mapping[str, Value]  # what a model is told besides, by the name that it is told
    attributes: Mapping[str, Value]  # all, by name
    memory: tuple[str, ...] = ()  # what the person remembers, as for `prism.social.memory.Memory.lines`
    # `{(question, repeat): the answer}` where they are worked out without a model; None if there is none
    answers: dict[tuple[str, int], int | str | None] = {}

    def situation(self) -> str:
        """Return the part of a prompt about the person, with texts as quoted data."""
        interests = [quoted(interest) for interest in self.interests]
        person = person_lines(quoted(self.name), interests, quoted(self.personality), self.facts)
        return f"{person}{memory_lines(self.memory)}".removesuffix("\n")
