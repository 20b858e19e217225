"""Two questions about a study as a whole: what is being studied, and how many people would take each option.

The model is told what a person sees, and asked to name what is being studied. It knows the study if its answer has a
word of the study's question, hypotheses and factors that the prompt has not. Source: PIMMUR (2025), arXiv 2509.18052.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.audit.shift import FEWEST, LEVEL, Estimate
from prism.columns import Floats, Ints
from prism.errors import OracleResponseError
from prism.llm.answer import read_answer
from prism.llm.oracle import WRITING_TOKENS, ModelOracle
from prism.llm.port import ChatRequest, LanguageModel, Message
from prism.llm.prompt import ChoicePrompt
from prism.llm.spending import counting_failures
from prism.statechart.oracle import UNTRUSTED, Answer

ASK_STUDY: Final = (
    "The situation below was shown to a participant. If it belongs to a scientific study, name in one sentence what "
    "is being studied. If that cannot be told from it, answer: unknown."
)
MATTERS: Final = 0.1  # a share of answers above this, for certain, is a finding
_WORD: Final = re.compile(r"[a-z]{4,}")
_WORDS: Final = """
about after before being between change changes condition does each effect effects more most than that their
them then there these they this those under what when where which while with without would will have from into
less many much same such some study person people post posts user users social media number average mean share
rate higher lower larger smaller difference different
"""
_COMMON: Final = frozenset(_WORDS.split())
_ENDINGS: Final = (
    *("ization", "ations", "ation", "ities", "ity", "ings", "ing"),
    *("ies", "ers", "er", "ed", "es", "s", "y"),
)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    asked: int
    named: int  # the answers that name the study
    share: Estimate  # 0 to 1
    words: tuple[str, ...]  # the words of the study that count
    examples: tuple[str, ...] = ()  # answers that name it, the shortest first
    # the p value of: no more than `MATTERS` would name it; None if the study has no words of its own, or too few
    # were asked
    p: float | None = None
    p_holm: float = 1.0
    knows: bool | None = None
    missing: dict[str, int] = {}

    def judged(self, p_holm: float) -> Known:
        return replace(self, p_holm=p_holm, knows=p_holm <= LEVEL)


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are not common ones."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
    ends = (next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 4), "") for word in words)
    return frozenset(word.removesuffix(end) for word, end in zip(words, ends, strict=True))


def known_of(answers: Iterable[tuple[str, str]], study: frozenset[str]) -> Known:
    """Return what the answers show: pairs of an answer and all that the model was told."""
    from scipy.stats import binomtest  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    every = list(answers)
    naming = [answer for answer, told in every if stems(answer) & (study - stems(told))]
    named = len(naming)
    is_tested = len(every) >= FEWEST and bool(study)
    return Known(
        asked=len(every),
        named=named,
        share=wilson(named, len(every)),
        words=tuple(sorted(study)),
        examples=tuple(sorted({*naming}, key=len)[:3]),
        p=float(binomtest(named, len(every), MATTERS, alternative="greater").pvalue) if is_tested else None,
    )


def wilson(times: int, of: int) -> Estimate:
    """Return a share with its interval. Source: Wilson (1927)."""
    if not of:
        return Estimate(value=0.0)
    from scipy.stats import binomtest  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    ends = binomtest(times, of).proportion_ci(1.0 - LEVEL, method="wilson")
    return Estimate(value=times / of, low=float(ends.low), high=float(ends.high))


def share_over_people(shares: Floats, people: Ints) -> Estimate:
    """Return the mean of shares with the interval of one answer a person: the answers of one person may be alike."""
    mean, count = float(shares.mean()), len(np.unique(people))
    return replace(wilson(round(mean * count), count), value=mean)


KEY: Final = "answer"
PLACE: Final = "<one sentence>"
"""The place of the sentence in the form; a small model may give it back as it is, which is no answer."""
PEOPLE: Final = 100  # the people of the plain question
COUNT_MAX: Final = 1e9  # an answer with a larger number, or an infinite one, has another form


class Text(StrEnum):
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
        """Return the text of an answer, or the shares of the options as a list in JSON. Raises: OracleResponseError."""
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
