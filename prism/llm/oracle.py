"""Oracles that ask a language model: the parts they share, and the one that decides for people on a feed."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, TypeVar

import anyio
import msgspec
from msgspec.structs import replace

from prism.config.model import LLMConfig
from prism.errors import OracleResponseError
from prism.llm.call_counters import CallCounters, OracleStatistics, Outcome
from prism.llm.failure import LLMFailureException
from prism.llm.json_object import json_objects, read_answer, without_reasoning
from prism.llm.letters import METHOD
from prism.llm.loose_choice import REPAIRED, contradicts, repaired
from prism.llm.port import (
    SEEDS,
    ChatRequest,
    ChoiceRequest,
    Distribution,
    HostState,
    LanguageModel,
    Message,
    Undecided,
)
from prism.llm.startup_check import SELF_TEST, follows_schema
from prism.llm.tape import RecordedFallback
from prism.llm.taped_model import TapedModel
from prism.rng import Draw, integer, pick, uniform
from prism.statechart.oracle import (
    ATTEMPT,
    NEXT_STATE,
    UNTRUSTED,
    Answer,
    Asker,
    Judgement,
    Oracle,
    StatechartOracle,
    described,
    options_schema,
    parse_oracle_response,
)
from prism.statechart.states import AgentState, S
from prism.statechart.writing import parse_written, writing_form, writing_schema

T = TypeVar("T")

WRITING_TOKENS = 256
"""The most tokens of an answer with a text, unless `llm.num_predict` allows more."""

_UNREADABLE = frozenset({"invalid_response", "not_an_option", "refused"})
"""The reasons of failures that leave an unreadable answer on a tape, under the name of the asker who got it."""


class ModelOracle(Oracle[S]):
    """An oracle that asks a language model.

    A subclass asks the question, and counts the outcome of each call in `counters`.

    Args:
        model: the model that is asked; a `TapedModel` has a tape.
    """

    source = "llm"
    method = "json"

    def __init__(self, model: LanguageModel) -> None:
        self.counters = CallCounters()
        self._answers = Counter[str]()
        """`{model: its answers}`, empty for `llm.model`."""
        self._model = model
        self._tape = model if isinstance(model, TapedModel) else None

    @property
    def tokens(self) -> int:
        """The tokens read and written by the model so far."""
        return self.counters.tokens

    def statistics(self) -> OracleStatistics:
        return self.counters.statistics()

    def hosts(self) -> tuple[HostState, ...]:
        """Return the counts of each of several servers; empty for one."""
        return () if self._tape is None else self._tape.hosts()

    @property
    def replays(self) -> bool:
        """True if the answers come from a tape."""
        return self._tape is not None and self._tape.mode == "replay"

    @property
    def has_test(self) -> bool:
        """True, unless the answers come from a tape."""
        return not self.replays

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
        """Return the name of the model that is asked about an agent; empty for `llm.model`."""
        return ""

    async def record_fallback(self, question: bytes, source: str, reason: str) -> None:
        if self._tape is not None:
            await self._tape.record_fallback(question, RecordedFallback(source, reason))

    async def recorded_fallback(self, question: bytes) -> tuple[str, str] | None:
        """Return source and reason of the fallback on the tape; None if the model answered."""
        found = None if self._tape is None else await self._tape.recorded_fallback(question)
        return None if found is None else (found.source, found.reason)

    async def before_retry(self, agent: Any, trigger: str, context: Any, reason: str) -> None:
        """Remove what came of a question from the tape, if there is one, so that it can be asked again.

        An answer that came too late stays: it may have served others, and serves the next attempt.
        """
        if self._tape is not None:
            unreadable = reason in _UNREADABLE
            await self._tape.forget(self.asker_name(agent, trigger, context), answers=unreadable)

    @contextmanager
    def _counting_failures(self) -> Iterator[None]:
        begun_s = perf_counter()
        try:
            yield
        except LLMFailureException as error:
            self.counters.count(error.reason, error.latency_s, error.usage)
            raise
        except anyio.get_cancelled_exc_class():
            # At its deadline, or at the end of the run. The tokens that the server spent on it are not known.
            self.counters.count("cancelled", perf_counter() - begun_s)
            raise

    async def _told(self, request: ChatRequest, prompt: str, schema: dict[str, Any], read: Callable[[str], T]) -> T:
        """Return what is read from the model's answer, which is counted as unreadable if nothing can be read.

        Args:
            request: the request, but for its messages and its schema.
        """
        # The text that is the same for all people comes first, as the system message, so that a server reads it once.
        rules, _, situation = prompt.partition(UNTRUSTED)
        messages = (
            Message(role="system", content=f"{rules}{UNTRUSTED}"),
            Message(role="user", content=situation.strip()),
        )
        said = await self._model.complete(replace(request, messages=messages, schema=schema))
        outcome: Outcome = "invalid_response"
        try:
            found = read(said.text)
            outcome = "ok"
        finally:
            self._answers[request.model] += 1
            self.counters.count(outcome, said.latency_s, said.usage)
        return found

    @abstractmethod
    def asker_name(self, agent: Any, trigger: str, context: Any) -> str:
        """Return the `asked_by` of the requests that a question leads to."""


class SocialModelOracle(ModelOracle[AgentState], StatechartOracle):
    """An oracle that decides ambiguous transitions of people by asking a model: for probabilities, else for a choice.

    At temperature 0 equal questions are one question. Above it, each agent in each tick draws its own answer, from a
    seed that is a function of the settings, the agent and the tick. So the same answer can be asked for again.

    Args:
        config: its settings: temperature and seed.
        seed: the run's seed, for draws from probabilities.
        descriptions: what the model reads of each state; by default, of the social states.
        writers: the states to which a text belongs, if the model writes texts: `llm.writes`.
        tick_s: simulated seconds a tick.
    """

    judges = True

    def __init__(
        self,
        model: LanguageModel,
        config: LLMConfig,
        seed: int,
        *,
        descriptions: Mapping[Any, str] | None = None,
        writers: Collection[Any] = (),
        tick_s: float = 60.0,
    ) -> None:
        super().__init__(model)
        self.tick_s = tick_s
        self._writers = writers
        if descriptions is not None:
            self._descriptions = descriptions
        self._config = config
        self._seed = seed
        self._draws: dict[str, bool] = {}
        """`{model: whether each agent draws from its probabilities}`, of models that have answered."""

    def key(self, agent: Asker, trigger: str, options: Sequence[str], context: Any = None) -> Hashable | None:
        """Return the prompt if one answer may serve all who ask it: at temperature 0, except by systemone.

        From its probabilities each agent draws for itself, so a shared answer would give other results.
        """
        model = self._model_of(agent)
        if self._config.temperature > 0.0 or self._draws.get(model, True):
            return None
        states: type[AgentState] = type(agent.state)
        return model, self.prompt(agent, agent.state, trigger, [states(option) for option in options], context)

    async def ask(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> AgentState:
        """Return the chosen option. It raises as `answer`."""
        states: type[AgentState] = type(options[0])
        return states((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> Answer:
        """Return the chosen option, and the method by which it was found.

        Raises:
            LLMFailureException: the call failed.
            OracleResponseError: the answer names no option.
            OracleUnavailableError: a tape is replayed that has no answer to this.
        """
        writers = [option for option in options if option in self._writers]
        with self._counting_failures():
            if writers:
                prompt = self.prompt(agent, current_state, trigger, options, context, writing_form(writers))
                return await self._written(agent, prompt, options, writers)
            return await self._chosen(agent, self.prompt(agent, current_state, trigger, options, context), options)

    async def judge(
        self,
        agent: Any,
        current_state: AgentState,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
        samples: int = 1,
    ) -> Judgement:
        """Return the probabilities that the model gives, or the shares of its answers if it gives no sound ones.

        It raises as `answer`.
        """
        prompt = self.prompt(agent, current_state, trigger, options, context)
        with self._counting_failures():
            found = await self._choose(agent, prompt, options)
            if isinstance(found, Distribution):
                self.counters.count("ok", found.latency_s, found.usage)
                weights = [found.probabilities[option.value] for option in options]
                total = math.fsum(weights)
                return Judgement(tuple(weight / total for weight in weights), found.method)
            if isinstance(found, Undecided):
                self.counters.count("invalid_response", found.latency_s, found.usage)
            return await self._sampled(agent, prompt, options, 1 if self._config.temperature == 0.0 else samples)

    async def _sampled(self, agent: Asker, prompt: str, options: Sequence[AgentState], samples: int) -> Judgement:
        """Return the shares of the options among so many answers; at temperature 0, of the only answer."""
        counts = dict.fromkeys(options, 0)
        for number in range(samples):
            counts[(await self._named(agent, prompt, options, number))[0]] += 1
        shares = tuple(count / samples for count in counts.values())
        return Judgement(shares, self.method, 0 if self._config.temperature == 0.0 else samples)

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:  # noqa: ARG002  # of the agent and the tick alone
        """Return the number of the option that the agent draws: of equal probabilities, the one that `answer` takes."""
        return pick(probabilities, uniform(self._seed, agent, tick, Draw.CHOICE))

    def answers_by_model(self) -> dict[str, int]:
        """Return `{model: its answers so far, from a server or a tape}` of people's models; empty if they have one."""
        if self._config.by.attribute is None:
            return {}
        return {name: self._answers["" if name == self._config.model else name] for name in self._config.models}

    async def _chosen(self, agent: Asker, prompt: str, options: Sequence[AgentState]) -> Answer:
        """Return an option drawn from probabilities if the model gives sound ones, else the one that it names."""
        found = await self._choose(agent, prompt, options)
        self._draws[self._model_of(agent)] = isinstance(found, Distribution) and not self._is_certain(found)
        if isinstance(found, Distribution):
            return self._drawn(agent, found, options)
        if isinstance(found, Undecided):
            self.counters.count("invalid_response", found.latency_s, found.usage)
        state, method = await self._named(agent, prompt, options)
        return Answer(state, method=method)

    async def _named(
        self, agent: Asker, prompt: str, options: Sequence[AgentState], number: int = 0
    ) -> tuple[AgentState, str]:
        """Return the option that the model names, and the method; `number` as in `_request`."""
        request = self._request(agent, number=number)
        return await self._told(request, prompt, options_schema(options), lambda said: read_choice(said, options))

    async def _written(
        self, agent: Asker, prompt: str, options: Sequence[AgentState], writers: Sequence[AgentState]
    ) -> Answer:
        def read(said: str) -> tuple[tuple[AgentState, Any], str]:
            return _read(said, options, lambda part: parse_written(part, options, writers))

        request = self._request(agent, max(self._config.num_predict, WRITING_TOKENS))
        (state, written), method = await self._told(request, prompt, writing_schema(options), read)
        return Answer(state, msgspec.json.encode(written).decode(), method=method)

    def asker_name(self, agent: Asker, trigger: str, context: Any) -> str:  # noqa: ARG002  # one question a tick
        return _asked_by(agent)

    async def _choose(
        self, agent: Asker, prompt: str, options: Sequence[AgentState]
    ) -> Distribution | Undecided | None:
        """Return the probabilities of the options, if the agent's model gives any."""
        found = await self._model.choose(self._choice(agent, prompt, options))
        self._answers[self._model_of(agent)] += found is not None
        return found

    def _choice(self, agent: Asker, prompt: str, options: Sequence[AgentState]) -> ChoiceRequest:
        return ChoiceRequest(
            state=prompt.partition(UNTRUSTED)[2].strip(),
            instructions=f"Choose the person's next state. {UNTRUSTED}",
            options={option.value: described(option, self._descriptions) for option in options},
            asked_by=_asked_by(agent),
            model=self._model_of(agent),
        )

    def _model_of(self, agent: Asker) -> str:
        """Return the name of the model that is asked about an agent; empty for `llm.model`."""
        return model_named(self._config, getattr(agent, "attributes", {}))

    def _is_certain(self, found: Distribution) -> bool:
        """Return whether the draw is the same for all: at temperature 0 one letter has all of the probability."""
        return found.method == METHOD and self._config.temperature == 0.0

    def _drawn(self, agent: Asker, found: Distribution, options: Sequence[AgentState]) -> Answer:
        """Return an option drawn by its probability, with the agent's own random numbers."""
        self.counters.count("ok", found.latency_s, found.usage)
        weights = [found.probabilities[option.value] for option in options]
        return Answer(options[self.drawn(weights, agent.agent_id, agent.tick)], method=found.method)

    def _request(self, agent: Asker, max_tokens: int | None = None, number: int = 0) -> ChatRequest:
        """Return the request of one question, but for its messages and its schema.

        Args:
            number: of the answer, among several to one question.
        """
        return ChatRequest(
            messages=(),
            seed=self._request_seed(agent, number),
            sample=0 if self._config.temperature == 0.0 else (agent.tick << 32) | agent.agent_id,
            max_tokens=max_tokens,
            asked_by=_asked_by(agent),
            attempt=ATTEMPT.get(),
            model=self._model_of(agent),
        )

    def _request_seed(self, agent: Asker, number: int) -> int:
        if self._config.temperature == 0.0:
            return self._config.seed
        return integer(SEEDS, self._config.seed, agent.agent_id, agent.tick, Draw.SERVER_SEED, number)


def model_named(config: LLMConfig, attributes: Mapping[str, Any]) -> str:
    """Return the name of the model that is asked about a person with these attributes; empty for `llm.model`."""
    named = config.model if config.by.attribute is None else config.by.model_of(attributes)
    return "" if named == config.model else named


def read_choice(text: str, options: Sequence[S], key: str = NEXT_STATE) -> tuple[S, str]:
    """Return the option that a text names, in whatever wording, and the method: `REPAIRED` if the wording is loose.

    Args:
        key: where an object names it.

    Raises:
        OracleResponseError: it names no option, or more than one may be meant.
    """
    return _read(text, options, lambda part: parse_oracle_response(part, options, key), key)


def _read(text: str, options: Sequence[S], read: Callable[[str], T], key: str = NEXT_STATE) -> tuple[T, str]:
    """Return the answer in a text, and its method: `REPAIRED` if its wording is loose, otherwise empty.

    Args:
        read: returns the answer that a JSON text holds.

    Raises:
        OracleResponseError: it names no option, or more than one may be meant.
    """
    names = [option.value for option in options]
    said, unfinished = without_reasoning(text)
    try:
        part, answer = read_answer(text, lambda part: (part, read(part)), (OracleResponseError,))
    except OracleResponseError:
        mended = repaired(said, key, names)
        if mended is None:
            raise
        return read(mended), REPAIRED
    scope = text if part == text else next(each for each in (said, unfinished) if part in each)
    if contradicts(scope, part, key, parse_oracle_response(part, options, key).value, names):
        raise OracleResponseError(text, options, "more than one option is named")
    is_exact = json.loads(part)[key].strip() in names and (part == text or len(json_objects(scope)) == 1)
    return answer, "" if is_exact else REPAIRED


def _asked_by(agent: Asker) -> str:
    return f"agent {agent.agent_id} in tick {agent.tick}"
