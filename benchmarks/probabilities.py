"""Choices by probabilities and by JSON, put to the same model: what each costs, and what each says.

The questions are those of an embedded run of 200 people. Each is asked once in both ways, which gives the calls a
second; the prompts are new to the server. Then it is asked as JSON many times, with another seed each time, and
the shares of those answers stand beside the probabilities. The distance of two distributions is the share of
decisions that would differ, at best. Samples of the same distribution also differ: the last column says how much.

    python -m benchmarks.probabilities --host http://127.0.0.1:8080 [--backend openai] [--model NAME]
        [--questions 12] [--samples 50] [--at-once 2] [--temperature 1]
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from time import perf_counter
from typing import Any

import anyio
import msgspec
import structlog

from actors.factory.domains import build_domain
from actors.factory.oracle_backends import make_model
from actors.runtime.simulation import Simulation
from prism.agents import Question
from prism.config import Config
from prism.errors import OracleError
from prism.llm.spending import Latencies, OracleStatistics, metered, statistics_of
from prism.rng import Draw, pick, uniform
from prism.social.choice import ChoiceOracle
from prism.social.domain import SocialDomain
from prism.statechart import AgentState, Judgement

PEOPLE = {"size": 200, "ambiguity": 0.5}
ROUNDS = 2
TRIALS = 200
"""The sets of samples from which the distance of samples of one distribution is known."""


class Noting(ChoiceOracle):
    """The embedded oracle, which notes the questions."""

    def __init__(self, config: Config) -> None:
        super().__init__(config.oracle.choice, config.simulation.seed)
        self.questions: list[Question[Any]] = []

    async def ask(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> AgentState:
        """Note the question, and return the chosen option."""
        names = tuple(option.value for option in options)
        self.questions.append(Question(agent.tick, agent.agent_id, trigger, current_state.value, names, context))
        return await super().ask(agent, current_state, trigger, options, context)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one way to ask.

    Args:
        calls_per_s: with as many calls at once as told.
        statistics: of these calls.
        answered: those of them with an answer.
    """

    calls_per_s: float
    statistics: OracleStatistics
    answered: int


async def questions_of(config: Config, domain: SocialDomain, count: int) -> list[Question[Any]]:
    """Return so many questions of an embedded run, from its whole length."""
    noting = Noting(config)
    await Simulation(config, domain, noting).run()
    step = max(1, len(noting.questions) // count)
    return noting.questions[::step][:count]


async def answer_all(oracle: Any, domain: SocialDomain, asked: Sequence[Question[Any]], at_once: int) -> list[str]:
    """Return the options taken, those of answered questions only."""
    taken: list[str] = []
    limit = anyio.Semaphore(at_once)

    async def answer(question: Question[Any]) -> None:
        asker = domain.asker(question)
        options = [AgentState(option) for option in question.options]
        async with limit:
            try:
                said = await oracle.answer(asker, asker.state, question.trigger, options, question.context)
            except OracleError as error:
                logging.getLogger(__name__).warning("%s", error)
                return
        taken.append(said.state)

    async with anyio.create_task_group() as tasks:
        for question in asked:
            tasks.start_soon(answer, question)
    return taken


async def cost_of(config: Config, domain: SocialDomain, asked: Sequence[Question[Any]], at_once: int) -> Cost:
    """Return what it costs to ask each question once."""
    async with aclosing(make_model(config)) as model:
        print(f"{config.llm.method}: {(await model.check()).note}", flush=True)
        oracle: Any = domain.oracle(model)
        begun_s = perf_counter()
        with metered() as ledger:
            taken = await answer_all(oracle, domain, asked, at_once)
        calls_per_s = len(asked) / (perf_counter() - begun_s)
        statistics = statistics_of(ledger, Latencies(ledger.answered_s))
        return Cost(calls_per_s=calls_per_s, statistics=statistics, answered=len(taken))


async def judgements(
    config: Config, domain: SocialDomain, asked: Sequence[Question[Any]], samples: int
) -> list[Judgement | None]:
    """Return the judgement of each question, in one way to ask; None where the model gave none."""
    async with aclosing(make_model(config)) as model:
        await model.check()
        oracle: Any = domain.oracle(model)
        found: list[Judgement | None] = []
        for question in asked:
            asker = domain.asker(question)
            options = [AgentState(option) for option in question.options]
            try:
                found.append(
                    await oracle.judge(asker, asker.state, question.trigger, options, question.context, samples)
                )
            except OracleError as error:
                logging.getLogger(__name__).warning("%s", error)
                found.append(None)
        return found


def distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the total variation distance of two distributions."""
    return 0.5 * sum(abs(one.get(name, 0.0) - other.get(name, 0.0)) for name in one.keys() | other.keys())


def distance_of_samples(shares: Mapping[str, float], samples: int) -> float:
    """Return the mean distance of so many samples of a distribution from it."""
    names, weights, total = list(shares), list(shares.values()), 0.0
    for trial in range(TRIALS):
        drawn = Counter(names[pick(weights, uniform(0, trial, number, Draw.CHOICE))] for number in range(samples))
        total += distance(shares, {name: count / samples for name, count in drawn.items()})
    return total / TRIALS


def show_costs(costs: Mapping[str, Cost]) -> None:
    """Print what each way costs."""
    print("| way | calls a second | p50 | p95 | tokens in | tokens out | answered |\n|---|---|---|---|---|---|---|")
    for name, cost in costs.items():
        found, calls = cost.statistics, sum(cost.statistics.calls.values())
        p50_ms, p95_ms = found.latency_s_p50 * 1e3, found.latency_s_p95 * 1e3
        tokens = f"{found.prompt_tokens / calls:.0f} | {found.completion_tokens / calls:.1f}"
        answered = f"{cost.answered} of {calls}"
        print(f"| {name} | {cost.calls_per_s:.1f} | {p50_ms:.0f} ms | {p95_ms:.0f} ms | {tokens} | {answered} |")


async def compare(options: argparse.Namespace) -> None:
    """Print both tables."""
    llm = {"host": options.host, "model": options.model, "temperature": options.temperature, "timeout_s": 300.0}
    llm |= {"num_predict": options.num_predict}
    sections: dict[str, Any] = {"simulation": {"rounds": ROUNDS}, "population": PEOPLE}
    configs = {
        method: msgspec.convert(
            {**sections, "oracle": {"backend": options.backend}, "llm": {**llm, "method": method}}, Config
        )
        for method in ("probabilities", "json")
    }
    domain = build_domain(configs["json"]).domain
    assert isinstance(domain, SocialDomain)
    asked = await questions_of(configs["json"], domain, 2 * options.questions)
    # Each way gets questions that the server has not read before: a prompt that it knows costs it next to nothing.
    halves = {"json": asked[::2], "probabilities": asked[1::2]}
    show_costs({name: await cost_of(configs[name], domain, half, options.at_once) for name, half in halves.items()})
    compared = asked[: options.questions]
    known = await judgements(configs["probabilities"], domain, compared, 1)
    sampled = await judgements(configs["json"], domain, compared, options.samples)
    print("\n| question | probabilities / shares of JSON answers | distance | of samples alone |\n|---|---|---|---|")
    for number, (question, judged, counted) in enumerate(zip(compared, known, sampled, strict=True), 1):
        if judged is None or judged.samples or counted is None:
            print(f"| {number} | {'no JSON answer' if counted is None else 'no probabilities'} | | |")
            continue
        names, shares, others = question.options, judged.probabilities, counted.probabilities
        told = zip(names, shares, others, strict=True)
        sides = ", ".join(f"{name} {share:.2f}/{other:.2f}" for name, share, other in told)
        noise = distance_of_samples(dict(zip(names, shares, strict=True)), options.samples)
        apart = distance(dict(zip(names, shares, strict=True)), dict(zip(names, others, strict=True)))
        print(f"| {number} | {sides} | {apart:.2f} | {noise:.2f} |", flush=True)


def main() -> None:
    """Print what both ways cost and say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="address of the server")
    parser.add_argument("--backend", default="openai", choices=["openai", "ollama"])
    parser.add_argument("--model", default="default", help="name of the model")
    parser.add_argument("--questions", type=int, default=12, help="compared, and asked in each way for the cost")
    parser.add_argument("--samples", type=int, default=50, help="JSON answers to each compared question")
    parser.add_argument("--at-once", type=int, default=2, help="calls under way")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--num-predict", type=int, default=64, help="most tokens of a JSON answer")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    anyio.run(compare, parser.parse_args())


if __name__ == "__main__":
    main()
