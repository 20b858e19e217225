"""The forecast of a run's use of a model: calls, tokens, dollars and hours, from a rehearsal without a server.

The rehearsal runs the beginning of the configured run, with fewer people if they are many, and lets the embedded oracle
decide. For each of its questions the request to a model is made too, and measured instead of sent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import anyio
import msgspec
from msgspec.structs import replace

from actors.factory.checks import check_domain
from actors.factory.domains import build_domain
from actors.metrics.observation import UNOBSERVED
from actors.runs.execute import Host
from actors.runs.in_memory import execute_in_memory
from prism.config import Config, OracleConfig
from prism.domain import Domain, HasTurns
from prism.llm import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity
from prism.llm.context_window import most_tokens
from prism.llm.spending import Spent, cost_usd
from prism.sharing import Archetypes
from prism.sharing.settings import archetypes_of, calls_a_judgement, fields_of
from prism.statechart import Answer, Oracle

FACTOR = 2
"""The factor within which calls and tokens are usually right. A model decides otherwise than the embedded oracle."""

AGENTS_MAX = 300
AGENTS_MAX_SHARING = 4000
"""More people where questions share judgements: 300 see too few archetypes."""
ROUNDS_MAX = 8
LATENCY_S = 1.0
"""The time of a call that is assumed where no server has been asked."""

_PROMPT_BYTES_PER_TOKEN = 4.0
_ANSWER_BYTES_PER_TOKEN = 3.0
_TEXT = "Keep the interest rate as it is, since neither inflation nor growth calls for a change now. "
_TEXT_REPEATS = 3
"""A text of an answer is taken to have three sentences."""


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """The forecast of a run.

    Args:
        calls, prompt_tokens, completion_tokens: of the whole run.
        questions: of the whole run; more than calls where they share judgements.
        usd: their cost; None without prices.
        hours: the time of the calls, if the server takes `oracle.max_concurrency` of them at once without slowing down.
        latency_s: the time of one call that this is computed with.
        tick_s: the seconds that a tick takes without waiting, as in the rehearsal, for all agents.
        window_tokens: the smallest context window that every prompt fits into with its answer, rather too high.
        agents, ticks: the size of the rehearsal.
    """

    calls: int
    questions: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    hours: float
    latency_s: float
    tick_s: float
    window_tokens: int
    agents: int
    ticks: int


class MeasuringModel:
    """A model that sends nothing: it measures each request, and answers with the first thing that the schema allows.

    Args:
        answer_tokens: the longest answer, if a request does not state it.
    """

    def __init__(self, answer_tokens: int) -> None:
        self.calls = self.prompt_bytes = self.answer_bytes = self.window_tokens = 0
        self._answer_tokens = answer_tokens

    @property
    def name(self) -> str:
        """A name for users."""
        return "rehearsal"

    @property
    def identity(self) -> Identity:
        """The identity of no model."""
        return Identity(backend="rehearsal", model="rehearsal", dialect="none", options={})

    async def complete(self, request: ChatRequest) -> Completion:
        """Return an answer within the schema."""
        texts = [message.content for message in request.messages]
        text = "" if request.schema is None else msgspec.json.encode(example_of(request.schema)).decode()
        self.calls += 1
        self.prompt_bytes += sum(len(text.encode()) for text in texts)
        self.answer_bytes += len(text.encode())
        prompt_tokens, answer_tokens = sum(map(most_tokens, texts)), request.max_tokens or self._answer_tokens
        self.window_tokens = max(self.window_tokens, prompt_tokens + min(answer_tokens, prompt_tokens))
        return Completion(text=text, model=self.name, prompt_tokens=0, completion_tokens=0, latency_s=0.0)

    async def choose(self, request: ChoiceRequest) -> Distribution | None:  # noqa: ARG002  # the port's signature
        """Return None: a choice by probabilities is forecast as a chat."""
        return None

    async def check(self) -> Health:
        """Return the health of no server."""
        return Health(backend="rehearsal", version="", model=self.name, latency_s=0.0, dialect="none", note="")

    async def aclose(self) -> None:
        """Close nothing."""


class RehearsedOracle(Oracle[Any]):
    """An oracle whose answers are the embedded ones, and which also puts every question to another oracle.

    Args:
        embedded: decides.
        asked: the oracle whose requests are measured.
    """

    waits = False

    def __init__(self, embedded: Oracle[Any], asked: Oracle[Any]) -> None:
        self.ticks: list[int] = []
        """The tick of each question."""
        self.grouping: Archetypes | None = None
        """The archetypes of questions, if they share judgements."""
        self.archetypes = Counter[tuple[Any, ...]]()
        """`{archetype: its questions}` of the rehearsal."""
        self.falls_back = embedded.falls_back
        self._embedded = embedded
        self._asked = asked

    async def ask(
        self, agent: Any, current_state: Any, trigger: str, options: Sequence[Any], context: Any = None
    ) -> Any:
        """Return the embedded oracle's option."""
        return type(current_state)((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(
        self, agent: Any, current_state: Any, trigger: str, options: Sequence[Any], context: Any = None
    ) -> Answer:
        """Return the embedded oracle's answer."""
        self.ticks.append(agent.tick)
        if self.grouping is not None:
            self.archetypes[current_state, trigger, *options, *self.grouping.key(agent, context)] += 1
        await self._asked.answer(agent, current_state, trigger, options, context)
        return await self._embedded.answer(agent, current_state, trigger, options, context)


class _Unstopped:
    """A rehearsal is over soon, so an interrupt ends its process as it would end any other."""

    received = None

    def __init__(self, stop: Callable[[], None], within_s: float) -> None:
        pass

    async def run(self) -> None:
        """Return at once."""


def example_of(schema: Any) -> Any:
    """Return a value that a JSON schema allows, with sentences for a text."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0])
    if schema.get("type") == "object":
        return {name: example_of(schema["properties"][name]) for name in schema.get("required", ())}
    if schema.get("type") == "string":
        return (_TEXT * _TEXT_REPEATS).strip()
    return {"array": [], "boolean": True, "null": None}.get(schema.get("type"), schema.get("minimum", 0))


def forecast(config: Config, latency_s: float = LATENCY_S) -> Forecast:
    """Return the forecast of a run.

    Args:
        latency_s: the time of one call.

    Raises:
        PrismError: the run cannot be built, or not be rehearsed.
    """
    rehearsed = _rehearsal_of(config)
    domain = build_domain(rehearsed).domain
    model = MeasuringModel(config.llm.num_predict)
    oracle = RehearsedOracle(domain.oracle(), domain.oracle(model))
    if config.oracle.sharing.by == "archetype":
        oracle.grouping = archetypes_of(config, fields_of(config, domain))
    size = check_domain(config).size or domain.size
    if isinstance(domain, HasTurns):
        domain.prepare(size * config.simulation.length)  # as the run will be: the rehearsal alone might not pay for it
    begun = perf_counter()
    _rehearse(rehearsed, domain, oracle)
    took_s = perf_counter() - begun
    scale = size / domain.size
    length, ticks = config.simulation.length, rehearsed.simulation.length
    questions = scale * (len(oracle.ticks) + (length - ticks) * _calls_per_tick(oracle.ticks, ticks))
    calls = _shared_calls(config, questions, archetypes_of_all(oracle.archetypes, questions))
    spent = _spent(calls, model)
    return Forecast(
        calls=round(calls),
        questions=round(questions),
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        usd=cost_usd((spent,), config.llm.prices),
        hours=_hours(calls, calls / length, latency_s, config),
        latency_s=latency_s,
        tick_s=scale * took_s / ticks,
        window_tokens=model.window_tokens,
        agents=domain.size,
        ticks=ticks,
    )


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a rehearsal, as its oracle was asked, and the embedded answer.

    Args:
        domain: the rehearsed domain.
        latency_s: the seconds that the embedded oracle took.
    """

    domain: Domain
    agent: Any
    state: Any
    trigger: str
    options: Sequence[Any]
    context: Any
    answer: Answer
    latency_s: float

    async def put_to(self, oracle: Oracle[Any]) -> Answer:
        """Return another oracle's answer to it."""
        return await oracle.answer(self.agent, self.state, self.trigger, self.options, self.context)


class _FirstAsked(Oracle[Any]):
    """The embedded oracle of a domain, which notes the first question."""

    waits = False

    def __init__(self, domain: Domain) -> None:
        self.first: Asked | None = None
        self._domain, self._embedded = domain, domain.oracle()
        self.falls_back = self._embedded.falls_back

    async def ask(
        self, agent: Any, current_state: Any, trigger: str, options: Sequence[Any], context: Any = None
    ) -> Any:
        """Return the embedded oracle's option."""
        return type(current_state)((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(
        self, agent: Any, current_state: Any, trigger: str, options: Sequence[Any], context: Any = None
    ) -> Answer:
        """Return the embedded oracle's answer."""
        begun = perf_counter()
        answer = await self._embedded.answer(agent, current_state, trigger, options, context)
        if self.first is None:
            self.first = Asked(
                domain=self._domain,
                agent=agent,
                state=current_state,
                trigger=trigger,
                options=options,
                context=context,
                answer=answer,
                latency_s=perf_counter() - begun,
            )
        return answer


def first_question(config: Config) -> Asked | None:
    """Return the first question of a run to its oracle; None if the beginning of the run has none.

    Raises:
        PrismError: the run cannot be built, or not be rehearsed.
    """
    rehearsed = _rehearsal_of(config)
    domain = build_domain(rehearsed).domain
    oracle = _FirstAsked(domain)
    _rehearse(rehearsed, domain, oracle)
    return oracle.first


def _rehearse(config: Config, domain: Domain, oracle: Oracle[Any]) -> None:
    host = Host(oracle=oracle, stop_signal=_Unstopped)
    anyio.run(execute_in_memory, config, domain, host, UNOBSERVED)


def _rehearsal_of(config: Config) -> Config:
    """Return the configuration of the rehearsal: short, small where people are synthetic, and without limits."""
    simulation, population = config.simulation, config.population
    length = min(simulation.length, ROUNDS_MAX * simulation.ticks_per_round)
    if population.profiles is None and population.graph.path is None:
        most = AGENTS_MAX_SHARING if config.oracle.sharing.by == "archetype" else AGENTS_MAX
        population = replace(population, size=min(population.size, most))
    oracle = OracleConfig(choice=config.oracle.choice)
    return replace(
        config,
        simulation=replace(simulation, ticks=length),
        population=population,
        interventions=(),  # they may name people whom the rehearsal does not have
        oracle=oracle,
        run=replace(config.run, tick_s=0.0, shards=1),
    )


def _spent(calls: float, model: MeasuringModel) -> Spent:
    """Return so many calls of the size of those that were measured."""
    a_call = calls / max(1, model.calls)
    read = round(a_call * model.prompt_bytes / _PROMPT_BYTES_PER_TOKEN)
    written = round(a_call * model.answer_bytes / _ANSWER_BYTES_PER_TOKEN)
    return Spent("ok", round(calls), 0.0, read, 0, written)


def archetypes_of_all(seen: Counter[Any], questions: float) -> float:
    """Return the number of archetypes of all questions, from those of a few: between a lower bound and a power law.

    Args:
        seen: `{archetype: its questions}` of the few.
    """
    few = seen.total()
    if not few or questions <= few:
        return float(min(len(seen), questions))
    return min(questions, math.sqrt(_at_least(seen, questions) * _by_power(seen, questions)))


def _at_least(seen: Counter[Any], questions: float) -> float:
    """Return a lower bound of the number of archetypes, from the number of archetypes that have a single question.

    Source: Chao, "Nonparametric estimation of the number of classes" (1984); Colwell et al. (2012), for so many more.
    """
    few, once, twice = seen.total(), *(sum(count == times for count in seen.values()) for times in (1, 2))
    unseen = (once * once / (2 * twice) if twice else once * (once - 1) / 2) * (few - 1) / few
    if not unseen:
        return float(len(seen))
    return len(seen) + unseen * -math.expm1(-(questions - few) * once / (few * unseen))


def _by_power(seen: Counter[Any], questions: float) -> float:
    """Return the number of archetypes if it grows as a power of the number of questions, and the power keeps falling.

    The last power, and how much it falls with each doubling, are those between a quarter, half and all of the few.
    Source: Heaps, "Information Retrieval" (1978); for the parts Hurlbert, "The nonconcept of species diversity" (1971).
    """
    quarter, half, whole = (_expected(seen, part) for part in (0.25, 0.5, 1.0))
    power, before = math.log2(whole / half), math.log2(half / quarter)
    falls, doublings = max(0.0, before - power), math.log2(questions / seen.total())
    if falls:
        doublings = min(doublings, power / falls)  # the power is 0 from there on
    return whole * math.exp2(doublings * (power - falls * doublings / 2))


def _expected(seen: Counter[Any], part: float) -> float:
    """Return the mean number of archetypes in a part of the questions, over all parts of that size."""
    return math.fsum(1.0 - (1.0 - part) ** count for count in seen.values())


def _shared_calls(config: Config, questions: float, archetypes: float) -> float:
    """Return the calls that are left where questions share judgements.

    Unless the configuration says otherwise, the server is taken to give probabilities: then one call is a judgement.
    """
    sharing = config.oracle.sharing
    if sharing.by != "archetype":
        return questions
    each = 1 if config.llm.method == "auto" else calls_a_judgement(config)
    return each * min(questions, archetypes + sharing.audit * questions)


def _calls_per_tick(asked: Sequence[int], ticks: int) -> float:
    """Return the calls a tick in the second half of a rehearsal: at first there are few posts to react to."""
    since = ticks // 2
    return sum(tick >= since for tick in asked) / (ticks - since)


def _hours(calls: float, calls_per_tick: float, latency_s: float, config: Config) -> float:
    """Return the hours that calls take: rate and number of questions open at once are limited."""
    oracle = config.oracle
    at_once = min(oracle.max_concurrency, max(1.0, calls_per_tick * (config.deliberation_ticks + 1)))
    per_s = min(at_once / latency_s, math.inf if oracle.rate_per_s is None else oracle.rate_per_s)
    return calls / per_s / 3600
