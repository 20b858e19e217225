"""Oracles that ask a language model: the parts they share, and the one that decides for people on a feed."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleResponseError
from prism.llm.answer import read_answer, read_choice
from prism.llm.failure import LLMFailureException
from prism.llm.port import (
    SEEDS,
    SELF_TEST,
    ChatRequest,
    ChoiceRequest,
    Distribution,
    LanguageModel,
    Message,
    follows_schema,
)
from prism.llm.prompt import CHOICE, ChoicePrompt, order_of, template_of, words_enum
from prism.llm.spending import Outcome, count_call, counting_failures
from prism.llm.tape import RecordedFallback, TapedModel
from prism.rng import Draw, integer, pick, uniform
from prism.statechart.oracle import (
    ATTEMPT,
    Answer,
    Judgement,
    Oracle,
    described,
    options_schema,
    parse_written,
    writing_form,
)
from prism.statechart.statechart import Statechart
from prism.statechart.states import STATE_DESCRIPTIONS, AgentState, S
from prism.statechart.transitions import labels_of

T = TypeVar("T")

WRITING_TOKENS = 256
"""The most tokens of an answer with a text, unless `llm.num_predict` allows more."""

_UNREADABLE = frozenset({"invalid_response", "not_an_option", "refused"})
"""The reasons of failures that leave an unreadable answer on a tape, under the name of the asker who got it."""


class ModelOracle(Oracle[S]):
    """An oracle that asks a language model; a `TapedModel` has a tape. Each call is counted: see `metered`."""

    source = "llm"
    method = "json"

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._tape = model if isinstance(model, TapedModel) else None

    @property
    def replays(self) -> bool:
        return self._tape is not None and self._tape.mode == "replay"

    @property
    def has_test(self) -> bool:
        return not self.replays

    async def ask(self, agent: Any, current_state: S, trigger: str, options: Sequence[S], context: Any = None) -> S:
        states: type[S] = type(options[0])
        return states((await self.answer(agent, current_state, trigger, options, context)).state)

    async def test(self, agent: Any, number: int) -> None:
        """Ask the test question of the start, past any tape.

        Raises:
            LLMFailureException: there is no usable answer.
        """
        taped = self._tape
        model = self._model if taped is None or taped.model is None else taped.model
        said = await model.complete(replace(SELF_TEST, seed=number, model=self._model_of(agent)))
        if not follows_schema(said.text, loosely=True):
            raise LLMFailureException("invalid_response", detail=f"it answered {said.text[:80]!r}")

    def _model_of(self, agent: Any) -> str:  # noqa: ARG002  # of one model, all agents ask the same
        return ""

    async def record_fallback(self, question: bytes, source: str, reason: str) -> None:
        if self._tape is not None:
            await self._tape.record_fallback(question, RecordedFallback(source, reason))

    async def recorded_fallback(self, question: bytes) -> tuple[str, str] | None:
        found = None if self._tape is None else await self._tape.recorded_fallback(question)
        return None if found is None else (found.source, found.reason)

    async def before_retry(self, agent: Any, trigger: str, context: Any, reason: str) -> None:
        """Remove what came of a question from the tape, if there is one, so that it can be asked again.

        An answer that came too late stays: it may have served others, and serves the next attempt.
        """
        if self._tape is not None:
            unreadable = reason in _UNREADABLE
            await self._tape.forget(self.asker_name(agent, trigger, context), answers=unreadable)

    async def _told(self, request: ChatRequest, read: Callable[[str], T]) -> T:
        """Return what is read from the model's answer, which is counted as unreadable if nothing can be read."""
        said = await self._model.complete(request)
        outcome: Outcome = "invalid_response"
        try:
            found = read(said.text)
            outcome = "ok"
        finally:
            count_call(outcome, said.latency_s, said.usage)
        return found

    async def _weighed(self, request: ChoiceRequest) -> Distribution | None:
        """Return the probabilities that the model gives, or None if it gives no sound ones. Both are counted."""
        found = await self._model.choose(request)
        if found is not None:
            is_sound = isinstance(found, Distribution)
            count_call("ok" if is_sound else "invalid_response", found.latency_s, found.usage)
        return found if isinstance(found, Distribution) else None

    @abstractmethod
    def asker_name(self, agent: Any, trigger: str, context: Any) -> str: ...


class SocialModelOracle(ModelOracle[AgentState]):
    """An oracle that decides ambiguous transitions of people by asking a model: for probabilities, else for a choice.

    At temperature 0 equal questions are one question. Above it, each agent in each tick draws its own answer, from a
    seed that is a function of the settings, the agent and the tick. So the same answer can be asked for again.

    Args:
        seed: the run's seed, for draws from probabilities and for the order of options.
        chart: the chart, whose labels are the words for options.
        descriptions: the words for options without a label; by default, of the social states.
        writers: the states to which a text belongs, if the model writes texts: `llm.writes`.
    """

    judges = True

    def __init__(
        self,
        model: LanguageModel,
        config: LLMConfig,
        seed: int,
        *,
        chart: Statechart[Any] | None = None,
        descriptions: Mapping[Any, str] = STATE_DESCRIPTIONS,
        writers: Collection[Any] = (),
        tick_s: float = 60.0,
    ) -> None:
        super().__init__(model)
        self.change: Callable[[ChoicePrompt], ChoicePrompt] | None = None
        """Changes each prompt, in an audit; None elsewhere."""
        self.tick_s = tick_s
        self.template = template_of(config.prompt)
        self._writers = writers
        self._labels: dict[Any, str] = {} if chart is None else labels_of(chart.transitions)
        self._descriptions = descriptions
        self._config = config
        self._seed = seed

    def prompt(
        self,
        agent: Any,
        current_state: AgentState,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
    ) -> ChoicePrompt:
        order = tuple(range(len(options)))
        if self._config.order == "drawn":
            order = order_of(self._seed, agent.agent_id, agent.tick, len(options))
        words = words_enum(
            tuple(
                (state.value, self._labels.get((current_state, trigger, state)) or described(state, self._descriptions))
                for state in options
            )
        )
        made = ChoicePrompt(self.template, agent, current_state, trigger, context, tuple(words), order, self.tick_s)
        return made if self.change is None else self.change(made)

    async def answer(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> Answer:
        """Return the chosen option; a method other than `json` by which it was found.

        Raises:
            LLMFailureException: the call failed.
            OracleResponseError: the answer names no option.
            OracleUnavailableError: a tape is replayed that has no answer to this.
        """
        prompt = self.prompt(agent, current_state, trigger, options, context)
        writers = [words for option, words in zip(options, prompt.options, strict=True) if option in self._writers]
        with counting_failures():
            if writers:
                return await self._written(prompt, options, writers)
            # The option is drawn from probabilities if the model gives sound ones; else the model names it.
            if (found := await self._weighed(self._choice(prompt))) is None:
                return Answer(options[await self._named(prompt)])
            # In the order of the question, not of the showing: equal probabilities give equal draws.
            weights = [found.probabilities[words] for words in prompt.options]
            return Answer(options[self.drawn(weights, agent.agent_id, agent.tick)], method=found.method)

    async def judge(
        self,
        agent: Any,
        current_state: AgentState,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
        samples: int = 1,
    ) -> Judgement:
        """Return the probabilities that the model gives, or the shares of its answers. It raises as `answer`."""
        return await self.judgement(self.prompt(agent, current_state, trigger, options, context), samples)

    async def judgement(self, prompt: ChoicePrompt, samples: int = 1) -> Judgement:
        """Return the probability of each option of a question, in its order, as `judge` does. It raises as `answer`."""
        with counting_failures():
            if (found := await self._weighed(self._choice(prompt))) is not None:
                weights = [found.probabilities[words] for words in prompt.options]
                total = math.fsum(weights)
                return Judgement(tuple(weight / total for weight in weights), found.method)
            # The shares of the options among `samples` answers; at temperature 0 all answers would be the same.
            is_certain = self._config.temperature == 0.0
            counts = [0] * len(prompt.options)
            for number in range(1 if is_certain else samples):
                counts[await self._named(prompt, number)] += 1
            shares = tuple(count / sum(counts) for count in counts)
            return Judgement(shares, self.method, 0 if is_certain else samples)

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:  # noqa: ARG002  # of the agent and the tick alone
        """Return the number of the option that the agent draws: of equal probabilities, the one that `answer` takes."""
        return pick(probabilities, uniform(self._seed, agent, tick, Draw.CHOICE))

    def _choice(self, prompt: ChoicePrompt) -> ChoiceRequest:
        instructions, situation = prompt.without_options()
        return ChoiceRequest(
            state=situation,
            instructions=instructions,
            options={words.value: None for words in prompt.shown},
            lettered=prompt.lettered(),
            asked_by=_asked_by(prompt.agent),
            model=self._model_of(prompt.agent),
        )

    async def _named(self, prompt: ChoicePrompt, number: int = 0) -> int:
        request = self._request(prompt.agent, prompt.messages(), options_schema(prompt.shown, CHOICE), number=number)
        words = await self._told(request, lambda said: read_choice(said, prompt.options, CHOICE))
        return prompt.options.index(words)

    async def _written(self, prompt: ChoicePrompt, options: Sequence[AgentState], writers: Sequence[StrEnum]) -> Answer:
        messages = prompt.messages(f"Answer with JSON only:\n{writing_form(writers, CHOICE)}")
        schema = options_schema(prompt.shown, CHOICE, ("text", "reason"))
        request = self._request(prompt.agent, messages, schema, max(self._config.num_predict, WRITING_TOKENS))
        read = partial(parse_written, options=prompt.options, writers=writers, key=CHOICE)
        words, written = await self._told(request, lambda said: read_answer(said, read, (OracleResponseError,)))
        return Answer(options[prompt.options.index(words)], msgspec.json.encode(written).decode())

    def asker_name(self, agent: Any, trigger: str, context: Any) -> str:  # noqa: ARG002  # one question a tick
        return _asked_by(agent)

    def _model_of(self, agent: Any) -> str:
        return model_named(self._config, getattr(agent, "attributes", {}))

    def _request(
        self,
        agent: Any,
        messages: tuple[Message, ...],
        schema: dict[str, Any],
        max_tokens: int | None = None,
        number: int = 0,
    ) -> ChatRequest:
        """Return the request of one question; `number` is that of the answer, among several to one question."""
        is_certain = self._config.temperature == 0.0
        seed = self._config.seed
        return ChatRequest(
            messages=messages,
            schema=schema,
            seed=seed if is_certain else integer(SEEDS, seed, agent.agent_id, agent.tick, Draw.SERVER_SEED, number),
            sample=0 if is_certain else (agent.tick << 32) | agent.agent_id,
            max_tokens=max_tokens,
            asked_by=_asked_by(agent),
            attempt=ATTEMPT.get(),
            model=self._model_of(agent),
        )


def model_named(config: LLMConfig, attributes: Mapping[str, Any]) -> str:
    """Return the name of the model that is asked about a person with these attributes; empty for `llm.model`."""
    named = config.model if config.by.attribute is None else config.by.model_of(attributes)
    return "" if named == config.model else named


def _asked_by(agent: Any) -> str:
    return f"agent {agent.agent_id} in tick {agent.tick}"
