"""The forecast of a run: calls times price, and activations times measured time, from a rehearsal without a server.

A rehearsal runs the beginning of the run, with fewer people if they are many, and lets the embedded oracle decide; the
request to a model is made too, and measured instead of sent. A second one without these requests is timed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple

import anyio
import msgspec
from msgspec.structs import replace

from actors.core.errors import ungrouped
from actors.factory.domains import build_domain
from actors.logs.setup import logging_to
from actors.runtime.activation import MANY
from actors.runtime.gc_pause import collector_paused
from actors.runtime.simulation import Simulation
from prism.config import Config, OracleConfig
from prism.domain import Domain, HasTurns
from prism.llm import ChatRequest, Completion, Identity, LanguageModel, Message
from prism.llm.spending import Spent, cost_usd
from prism.sharing.archetypes import archetypes_of, calls_a_judgement, fields_of
from prism.statechart import Answer, Oracle

FACTOR: Final = 2
"""The factor within which a forecast is usually right. A model decides otherwise than the embedded oracle."""

AGENTS_MAX: Final = 300
AGENTS_MAX_SHARING: Final = 4000  # more people where questions share judgements: 300 see too few archetypes
AGENTS_MAX_COMPILED: Final = 30_000
"""The people of the timed rehearsal where turns are compiled: of fewer, most of the time is that of the tick itself."""
ROUNDS_MAX: Final = 8
LATENCY_S: Final = 1.0  # the time of a call that is assumed where no server has been asked

_PROMPT_BYTES_PER_TOKEN = 4.0
_ANSWER_BYTES_PER_TOKEN = 3.0
_THREE_SENTENCES = " ".join(["Keep the rate as it is, since neither inflation nor growth calls for a change now."] * 3)


class Forecast(NamedTuple):
    """The forecast of a whole run."""

    calls: int
    questions: int  # more than calls where they share judgements
    prompt_tokens: int
    completion_tokens: int
    usd: float | None  # the cost of the calls; None without prices
    # the time of the calls, if the server takes `oracle.max_concurrency` of them at once without slowing down
    hours: float
    latency_s: float  # the time of one call that this is computed with
    tick_s: float  # the seconds that a tick takes without waiting for a model
    agents: int  # agents, ticks: the size of the rehearsal
    ticks: int


class Asked(NamedTuple):
    """A question as an oracle was asked, and the embedded answer after so many seconds."""

    domain: Domain
    question: tuple[Any, Any, str, Sequence[Any], Any]
    answer: Answer
    latency_s: float

    async def put_to(self, oracle: Oracle[Any]) -> Answer:
        return await oracle.answer(*self.question)


class MeasuringModel(LanguageModel):
    """A model that sends nothing: it measures each request, and answers with the first thing that the schema allows."""

    name = "rehearsal"
    identity = Identity(backend="rehearsal", model="rehearsal", dialect="none", options={})

    def __init__(self) -> None:
        self.calls = self.prompt_bytes = self.answer_bytes = 0
        self.messages: tuple[Message, ...] = ()  # the latest chat

    async def complete(self, request: ChatRequest) -> Completion:
        text = "" if request.schema is None else msgspec.json.encode(example_of(request.schema)).decode()
        self.calls += 1
        self.messages = request.messages
        self.prompt_bytes += sum(len(message.content.encode()) for message in request.messages)
        self.answer_bytes += len(text.encode())
        return Completion(text=text, model=self.name, prompt_tokens=0, completion_tokens=0, latency_s=0.0)


class RehearsedOracle(Oracle[Any]):
    """A domain's embedded oracle, which notes each question and its archetype, and also puts it to another oracle."""

    waits = False

    def __init__(
        self,
        domain: Domain,
        asked: Oracle[Any] | None = None,
        archetype: Callable[[Any, Any], tuple[Any, ...]] | None = None,
    ) -> None:
        self.ticks: list[int] = []  # the tick of each question
        self.archetypes = Counter[tuple[Any, ...]]()
        self.first: Asked | None = None
        self._domain, self._embedded, self._asked, self._archetype = domain, domain.oracle(), asked, archetype
        self.falls_back = self._embedded.falls_back

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        return type(current_state)((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Answer:
        question = (agent, current_state, trigger, options, context)
        self.ticks.append(agent.tick)
        if self._archetype is not None:
            self.archetypes[current_state, trigger, *options, *self._archetype(agent, context)] += 1
        if self._asked is not None:
            await self._asked.answer(*question)
        begun = perf_counter()
        answer = await self._embedded.answer(*question)
        if self.first is None:
            self.first = Asked(self._domain, question, answer, perf_counter() - begun)
        return answer


def example_of(schema: Any) -> Any:
    """Return a value that a JSON schema allows, with three sentences for a text."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0])
    if schema.get("type") == "object":
        return {name: example_of(schema["properties"][name]) for name in schema.get("required", ())}
    return {"string": _THREE_SENTENCES, "array": [], "boolean": True, "null": None}.get(
        schema.get("type"), schema.get("minimum", 0)
    )


def forecast(config: Config, latency_s: float = LATENCY_S) -> Forecast:
    """Return the forecast of a run, given the time of one call. A run that cannot be rehearsed is a PrismError."""
    population, sharing, limits = config.population, config.oracle.sharing, config.oracle
    is_drawn = config.simulation.domain == "social" and population.profiles is None and population.graph.path is None
    size = population.size if is_drawn else build_domain(config).domain.size
    rehearsed = _rehearsal_of(config, AGENTS_MAX_SHARING if sharing.by == "archetype" else AGENTS_MAX)
    domain, model = build_domain(rehearsed).domain, MeasuringModel()
    length, ticks = config.simulation.length, rehearsed.simulation.length
    archetype = archetypes_of(config, fields_of(config, domain)).key if sharing.by == "archetype" else None
    oracle = RehearsedOracle(domain, domain.oracle(model), archetype)
    _rehearse(rehearsed, domain, oracle)
    scale = size / domain.size
    run_s = _timed(config, size)

    # Later ticks are like those of the second half: at first there are few posts to react to.
    later = sum(tick >= ticks // 2 for tick in oracle.ticks) / (ticks - ticks // 2)
    questions = scale * (len(oracle.ticks) + (length - ticks) * later)
    calls = questions * model.calls / max(1, len(oracle.ticks))
    if archetype is not None:
        # Unless the configuration says otherwise, the server is taken to give probabilities: one call a judgement.
        each = 1 if config.llm.method == "auto" else calls_a_judgement(config)
        calls = each * min(questions, archetypes_of_all(oracle.archetypes, questions) + sharing.audit * questions)
    a_call = calls / max(1, model.calls)
    read = round(a_call * model.prompt_bytes / _PROMPT_BYTES_PER_TOKEN)
    written = round(a_call * model.answer_bytes / _ANSWER_BYTES_PER_TOKEN)
    at_once = min(limits.max_concurrency, max(1.0, calls / length * (config.deliberation_ticks + 1)))
    per_s = min(at_once / latency_s, math.inf if limits.rate_per_s is None else limits.rate_per_s)
    return Forecast(
        calls=round(calls),
        questions=round(questions),
        prompt_tokens=read,
        completion_tokens=written,
        usd=cost_usd((Spent("ok", round(calls), 0.0, read, 0, written),), config.llm.prices),
        hours=calls / per_s / 3600,
        latency_s=latency_s,
        tick_s=run_s / length,
        agents=domain.size,
        ticks=ticks,
    )


def first_question(config: Config) -> Asked | None:
    """Return the first question of a run to its oracle; None if the beginning of the run has none."""
    oracle = RehearsedOracle(domain := build_domain(rehearsed := _rehearsal_of(config, AGENTS_MAX)).domain)
    _rehearse(rehearsed, domain, oracle)
    return oracle.first


def archetypes_of_all(seen: Counter[Any], questions: float) -> float:
    """Return the number of archetypes of all questions, from those of a few; rather too many.

    It grows as a power of the number of questions, the one between half and all of the few.
    Source: Heaps, "Information Retrieval" (1978); for the half Hurlbert, "The nonconcept of species diversity" (1971).
    """
    few, whole = seen.total(), len(seen)
    if questions <= few or not few:
        return min(float(whole), questions)
    half = math.fsum(1.0 - 0.5**count for count in seen.values())
    return min(questions, whole * math.exp2(math.log2(questions / few) * math.log2(whole / half)))


def _timed(config: Config, size: int) -> float:
    """Return the seconds of a run without a model, from those of a part of it."""
    activation = config.run.activation
    if config.run.shards > 1 or (activation == "auto" and size >= MANY):
        activation = "compiled"
    rehearsed = _rehearsal_of(config, AGENTS_MAX_COMPILED if activation == "compiled" else AGENTS_MAX)
    rehearsed = replace(rehearsed, run=replace(rehearsed.run, activation=activation))
    domain = build_domain(rehearsed).domain
    if isinstance(domain, HasTurns):
        domain.prepare(size * config.simulation.length)  # as the run will be: the rehearsal alone might not pay for it
    begun = perf_counter()
    _rehearse(rehearsed, domain, None)
    return (perf_counter() - begun) * size / domain.size * config.simulation.length / rehearsed.simulation.length


def _rehearse(config: Config, domain: Domain, oracle: Oracle[Any] | None) -> None:
    with logging_to(None), ungrouped(), collector_paused():
        anyio.run(Simulation(config, domain, oracle).run)


def _rehearsal_of(config: Config, most: int) -> Config:
    """Return the configuration of a rehearsal: short, at most so many people where they are drawn, without limits."""
    simulation, population = config.simulation, config.population
    if population.profiles is None and population.graph.path is None:
        population = replace(population, size=min(population.size, most))
    return replace(
        config,
        simulation=replace(simulation, ticks=min(simulation.length, ROUNDS_MAX * simulation.ticks_per_round)),
        population=population,
        interventions=(),  # they may name people whom the rehearsal does not have
        oracle=OracleConfig(choice=config.oracle.choice),
        run=replace(config.run, tick_s=0.0, shards=1),
    )
