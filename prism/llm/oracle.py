"""An oracle that asks a language model: for probabilities where the model offers them, else for a choice."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from time import perf_counter
from typing import Any

import anyio

from prism.errors import OracleResponseError
from prism.llm.config import LLMConfig
from prism.llm.failure import LLMFailureException
from prism.llm.json_object import extract_object
from prism.llm.port import ChatRequest, ChoiceRequest, LanguageModel, Message
from prism.llm.statistics import CallCounters, OracleStatistics
from prism.llm.tape import Forgone
from prism.llm.taped_model import TapedModel
from prism.rng import Draw, integer, pick, uniform
from prism.statechart.oracle import UNTRUSTED, Asker, Oracle, build_oracle_prompt, options_schema, parse_oracle_response
from prism.statechart.states import STATE_DESCRIPTIONS, AgentState, S

_SEEDS = 2**31


class ModelOracle(Oracle[S]):
    """An oracle that asks a language model. A subclass says what, and counts what becomes of each call in `counters`.

    Args:
        model: who is asked; a `TapedModel` has a tape.
    """

    source = "llm"

    def __init__(self, model: LanguageModel) -> None:
        self.counters = CallCounters()
        self._model = model
        self._tape = model if isinstance(model, TapedModel) else None

    @property
    def tokens(self) -> int:
        """Tokens read and written by the model so far."""
        return self.counters.tokens

    def statistics(self) -> OracleStatistics:
        """What became of the calls so far."""
        return self.counters.statistics()

    @property
    def replays(self) -> bool:
        """Whether the answers come from a tape."""
        return self._tape is not None and self._tape.mode == "replay"

    async def forgo(self, question: bytes, source: str, reason: str) -> None:
        """Note on the tape, where there is one, that a question was settled by a fallback."""
        if self._tape is not None:
            await self._tape.forgo(question, Forgone(source, reason))

    async def forgone(self, question: bytes) -> tuple[str, str] | None:
        """Source and reason of the fallback on the tape; None if the model answered."""
        found = None if self._tape is None else await self._tape.forgone(question)
        return None if found is None else (found.source, found.reason)

    async def forget_failures(self, asked_by: str) -> None:
        """Take the failed calls of one question off the tape, where there is one, so that it can be asked again."""
        if self._tape is not None:
            await self._tape.forget_failures(asked_by)


class SocialModelOracle(ModelOracle[AgentState]):
    """Settles ambiguous transitions by asking a language model.

    At temperature 0 equal questions are one question. Above it, each agent in each tick draws its own answer, from a
    seed that is a function of the settings, the agent and the tick: an answer can be asked for again.

    Args:
        model: who is asked.
        config: its settings: temperature and seed.
        seed: the run's seed, for draws from probabilities.
        deadline_s: a limit for each call that is shorter than the model's own.
    """

    def __init__(self, model: LanguageModel, config: LLMConfig, seed: int, *, deadline_s: float | None = None) -> None:
        super().__init__(model)
        self._config = config
        self._seed = seed
        self._deadline_s = deadline_s
        self._offers_probabilities: bool | None = None
        """Whether the model gives probabilities; None before it was first asked."""

    def key(self, agent: Asker, trigger: str, options: Sequence[str], context: Any = None) -> Hashable | None:
        """The prompt, where one answer may serve all who ask it: at temperature 0, by chat.

        Probabilities are drawn from by each agent for itself, so there a shared answer would not be the same one.
        """
        if self._config.temperature > 0.0 or self._offers_probabilities is not False:
            return None
        return _prompt(agent, agent.state, trigger, [AgentState(option) for option in options], context)

    async def ask(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> AgentState:
        """The chosen option.

        Raises:
            LLMFailureException: the call failed.
            OracleResponseError: the answer names no option.
            OracleUnavailableError: a tape is replayed that has no answer to this.
        """
        # What is the same for all people comes first, as the system message, so that a server reads it once.
        rules, _, situation = _prompt(agent, current_state, trigger, options, context).partition(UNTRUSTED)
        begun_s = perf_counter()
        try:
            chosen = await self._choose(agent, situation.strip(), options)
            return chosen or await self._complete(agent, f"{rules}{UNTRUSTED}", situation.strip(), options)
        except LLMFailureException as error:
            self.counters.count(error.reason, error.latency_s)
            raise
        except anyio.get_cancelled_exc_class():
            # At its deadline, or at the end of the run. The server may have worked on it, and says nothing of that.
            self.counters.count("cancelled", perf_counter() - begun_s)
            raise

    async def _choose(self, agent: Asker, situation: str, options: Sequence[AgentState]) -> AgentState | None:
        """An option drawn by its probability; None where the model gives none."""
        request = ChoiceRequest(
            state=situation,
            instructions=f"Choose the person's next state. {UNTRUSTED}",
            options={option.value: STATE_DESCRIPTIONS[option] for option in options},
            deadline_s=self._deadline_s,
            asked_by=_asked_by(agent),
        )
        found = await self._model.choose(request)
        self._offers_probabilities = found is not None
        if found is None:
            return None
        self.counters.count("ok", found.latency_s, found.prompt_tokens, found.completion_tokens)
        weights = [found.probabilities[option.value] for option in options]
        return options[pick(weights, uniform(self._seed, agent.agent_id, agent.tick, Draw.CHOICE))]

    async def _complete(self, agent: Asker, rules: str, situation: str, options: Sequence[AgentState]) -> AgentState:
        """The option that the model names."""
        request = ChatRequest(
            messages=(Message(role="system", content=rules), Message(role="user", content=situation)),
            schema=options_schema(options),
            seed=self._request_seed(agent),
            sample=0 if self._config.temperature == 0.0 else (agent.tick << 32) | agent.agent_id,
            deadline_s=self._deadline_s,
            asked_by=_asked_by(agent),
        )
        said = await self._model.complete(request)
        try:
            chosen = _parse(said.text, options)
        except OracleResponseError:
            self.counters.count("invalid_response", said.latency_s, said.prompt_tokens, said.completion_tokens)
            raise
        self.counters.count("ok", said.latency_s, said.prompt_tokens, said.completion_tokens)
        return chosen

    def _request_seed(self, agent: Asker) -> int:
        if self._config.temperature == 0.0:
            return self._config.seed
        return integer(_SEEDS, self._config.seed, agent.agent_id, agent.tick, Draw.SERVER_SEED)


def _prompt(agent: Asker, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any) -> str:
    """The prompt, with the profile in quotes as everything else that people wrote."""
    return build_oracle_prompt(
        _quoted(agent.name),
        [_quoted(interest) for interest in agent.interests],
        _quoted(agent.personality),
        current_state,
        trigger,
        options,
        context,
    )


def _quoted(text: str) -> str:
    """The text as a JSON string; the prompt itself sees to the line ends that JSON lets stand."""
    return json.dumps(text, ensure_ascii=False)


def _asked_by(agent: Asker) -> str:
    return f"agent {agent.agent_id} in tick {agent.tick}"


def _parse(text: str, options: Sequence[AgentState]) -> AgentState:
    """The option named by the text, or by the first JSON object in it. Raises: OracleResponseError."""
    try:
        return parse_oracle_response(text, options)
    except OracleResponseError:
        inner = extract_object(text)
        if inner is None or inner == text.strip():
            raise
    return parse_oracle_response(inner, options)
