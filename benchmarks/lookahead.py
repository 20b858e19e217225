"""The use of a model server's capacity by a run, by its lookahead: the ticks that people deliberate.

Without lookahead the clock waits in every tick for the slowest answer, and the server idles meanwhile. With a lookahead
of k ticks an answer may take as long as everyone else's progress of k ticks before the clock waits for it.

10,000 agents get a trigger in every tick and find one in twenty ambiguous; 64 calls may be under way; a call takes
log-normal time, mean 1 s, 99th percentile 8 s. With such a tail one call in 3,600 takes longer than 30 s, and the clock
waits for each of them; so the table is made with calls cut off there (`llm.timeout_s: 30`), which makes them
fallbacks, and without. The engine, the oracle actor and the agents are the real ones; only the time is virtual, so the
table does not depend on the machine.

    python -m benchmarks.lookahead [--agents 10000] [--calls 20000] [--seeds 3]
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import anyio
import structlog

from actors.runtime.simulation import Simulation
from actors.testing.virtual_time import VirtualTimeLoop
from prism.agents import Question, SocialAgent, Trigger, Update
from prism.columns import Column, Columns, pack
from prism.config import Config, OracleConfig, PopulationConfig, SimulationConfig
from prism.domain import World
from prism.llm.port import LanguageModel
from prism.rng import normal, uniform
from prism.statechart import AgentState, Oracle, Statechart, Transition

SLOTS = 64
AMBIGUOUS = 0.05
MEAN_S, P99_S = 1.0, 8.0
CUT_S = 30.0
Z99 = 2.3263478740408408
SIGMA = Z99 - math.sqrt(Z99**2 - 2 * math.log(P99_S / MEAN_S))
"""The spread of the log-normal law with this mean and 99th percentile."""
MODELLED = {0: 0.35, 1: 0.35, 2: 0.61, 4: 0.91, 8: 0.99}
"""The use that a model of the design predicted, by lookahead."""


def is_torn(_: SocialAgent, torn: bool) -> bool:
    """Return the context: the world decides which choices are ambiguous."""
    return torn


CHART = Statechart(
    states=AgentState,
    initial=AgentState.EVALUATING,
    transitions=[
        Transition("decides", AgentState.EVALUATING, AgentState.EVALUATING, is_torn, oracle=True),
        Transition("decides", AgentState.EVALUATING, AgentState.EVALUATING, is_torn, oracle=True, label="again"),
        Transition("decides", AgentState.EVALUATING, AgentState.SCROLLING, is_torn, oracle=True),
        Transition("decides", AgentState.EVALUATING, AgentState.EVALUATING),
    ],
)


class LatencyLaw(Oracle[Any]):
    """An oracle that answers with the first option after a time drawn for the agent and tick.

    Args:
        seed: of the draws.
        timeout_s: a call that would take longer ends here, without an answer.
    """

    def __init__(self, seed: int, timeout_s: float) -> None:
        self._seed = seed
        self._timeout_s = timeout_s
        self.answers = 0
        self._calling = 0
        self._busy_s = 0.0
        self._since = 0.0

    async def ask(
        self,
        agent: SocialAgent,
        current_state: AgentState,  # noqa: ARG002  # the interface's
        trigger: str,  # noqa: ARG002
        options: Sequence[AgentState],
        context: Any = None,  # noqa: ARG002
    ) -> AgentState:
        """Return the first option, after the drawn time."""
        z = normal(self._seed, agent.agent_id, agent.tick, 1)
        latency_s = MEAN_S * math.exp(SIGMA * z - SIGMA**2 / 2)
        self.busy_s()
        self._calling += 1
        await anyio.sleep(min(latency_s, self._timeout_s))
        self.busy_s()
        self._calling -= 1
        self.answers += 1
        if latency_s > self._timeout_s:
            raise TimeoutError
        return options[0]

    def busy_s(self) -> float:
        """Return the slot-seconds in use so far: calls under way, summed over time."""
        now = anyio.current_time()
        self._busy_s += self._calling * (now - self._since)
        self._since = now
        return self._busy_s


class DecidingWorld(World):
    """A world in which every agent that does not deliberate decides in every tick."""

    def __init__(self, size: int, seed: int) -> None:
        self._seed = seed
        self._deliberating = [False] * size

    def triggers(self, tick: int) -> list[Trigger[bool]]:
        """Return a decision for every agent that does not deliberate, ambiguous for one in twenty."""
        return [
            Trigger(tick, agent, "decides", uniform(self._seed, agent, tick, 2) < AMBIGUOUS)
            for agent, away in enumerate(self._deliberating)
            if not away
        ]

    def apply(self, update: Update[Any]) -> None:
        """Note that the agent no longer deliberates."""
        self._deliberating[update.agent] = False

    def deliberates(self, question: Question[bool]) -> None:
        """Note that the agent deliberates."""
        self._deliberating[question.agent] = True

    def totals(self) -> dict[str, Any]:
        """Return nothing to add to the summary."""
        return {}

    def columns(self) -> Iterator[Column]:
        """Yield which agents deliberate."""
        yield from pack("deliberating", self._deliberating)

    def restore(self, columns: Columns) -> None:
        """Take over the world that these columns hold."""
        self._deliberating = columns.values("deliberating", bool)


class LatencyDomain:
    """A domain of agents that only decide."""

    context_type: Any = bool
    effect_type: Any = None
    checkpoint_every_ticks = 1000
    chart = CHART

    def __init__(self, size: int, seed: int, timeout_s: float) -> None:
        self.size = size
        self.world = DecidingWorld(size, seed)
        self._oracle = LatencyLaw(seed, timeout_s)

    def agent(self, agent_id: int) -> SocialAgent:
        """Return a person without a history."""
        return SocialAgent(agent_id, state=AgentState.EVALUATING, max_history_depth=0)

    def asker(self, question: Question[bool]) -> SocialAgent:
        """Return the person, at the tick of the question."""
        return SocialAgent(question.agent, state=AgentState.EVALUATING, tick=question.tick)

    def oracle(self, model: LanguageModel | None = None) -> LatencyLaw:  # noqa: ARG002  # the law is the oracle
        """Return the oracle with random latencies."""
        return self._oracle


def use_of_oracle(agents: int, calls: int, lookahead: int, seed: int, timeout_s: float) -> tuple[float, float]:
    """Return the share of the 64 slots that were busy, and the share of fallbacks.

    Both are measured from a fifth of the calls on until the last call has ended.
    """
    domain = LatencyDomain(agents, seed, timeout_s)
    config = Config(
        simulation=SimulationConfig(rounds=10**6),
        population=PopulationConfig(deliberation_minutes=float(lookahead)),
        oracle=OracleConfig(max_concurrency=SLOTS, deadline_s=1e6),
    )
    simulation = Simulation(config, domain)
    law = domain.oracle()
    marks: list[tuple[float, float]] = []

    def mark(_: int) -> None:
        if law.answers >= (calls if marks else calls // 5):
            marks.append((anyio.current_time(), law.busy_s()))
        if len(marks) == 2:
            simulation.stop()

    anyio.run(simulation.run, mark, backend_options={"loop_factory": VirtualTimeLoop})
    (begun, before), (ended, after) = marks
    fallbacks = sum(simulation.oracle.statistics.fallbacks.values())
    return (after - before) / (SLOTS * (ended - begun)), fallbacks / law.answers


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=20_000, help="calls in one measurement")
    parser.add_argument("--seeds", type=int, default=3, help="measurements for each lookahead")
    options = parser.parse_args()
    print("| ticks k | use, calls cut at 30 s | fallbacks | use, no cut | use, modelled |\n|---|---|---|---|---|")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for lookahead, modelled in MODELLED.items():
        cut, uncut = (
            [use_of_oracle(options.agents, options.calls, lookahead, seed, at) for seed in range(options.seeds)]
            for at in (CUT_S, math.inf)
        )
        shares = [median(column) for column in (*zip(*cut, strict=True), next(zip(*uncut, strict=True)))]
        print(f"| {lookahead} | {shares[0]:.0%} | {shares[1]:.2%} | {shares[2]:.0%} | {modelled:.0%} |", flush=True)


if __name__ == "__main__":
    main()
