"""How much of a model server's capacity a run uses, by lookahead.

Without lookahead the clock waits in every tick for the slowest answer, and the server idles meanwhile. With a lookahead
of k ticks an answer may take k ticks' worth of everybody else's progress before anybody waits for it.

10,000 agents get a trigger in every tick and find one in twenty ambiguous; 64 calls may be under way; a call takes
log-normal time, mean 1 s, 99th percentile 8 s. The engine, the oracle actor and the agents are the real ones; only the
time is virtual, so the table does not depend on the machine.

    python -m benchmarks.lookahead [--agents 10000] [--calls 8000] [--seeds 3]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import anyio

from actors.simulation import Simulation
from benchmarks.virtual_time import VirtualTimeLoop
from prism.agents import Question, SocialAgent, Trigger, Update
from prism.config import Config, OracleConfig, SimulationConfig
from prism.rng import normal, uniform
from prism.statechart import AgentState, Oracle, Statechart, Transition

SLOTS = 64
AMBIGUOUS = 0.05
MEAN_S, P99_S = 1.0, 8.0
Z99 = 2.3263478740408408
SIGMA = Z99 - math.sqrt(Z99**2 - 2 * math.log(P99_S / MEAN_S))
"""Of the log-normal law with this mean and 99th percentile."""
MODELLED = {0: 0.35, 1: 0.35, 2: 0.61, 4: 0.91, 8: 0.99}
"""What a model of the design predicted."""


def is_torn(_: SocialAgent, torn: bool) -> bool:
    """The world says so."""
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
    """Takes the time that the law says, drawn for the agent and tick, and answers with the first option."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
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
        """The first option, after a while."""
        z = normal(self._seed, agent.agent_id, agent.tick, 1)
        latency_s = MEAN_S * math.exp(SIGMA * z - SIGMA**2 / 2)
        self.busy_s()
        self._calling += 1
        await anyio.sleep(latency_s)
        self.busy_s()
        self._calling -= 1
        self.answers += 1
        return options[0]

    def busy_s(self) -> float:
        """Slot-seconds in use so far: calls under way, summed over time."""
        now = anyio.current_time()
        self._busy_s += self._calling * (now - self._since)
        self._since = now
        return self._busy_s


class DecidingWorld:
    """Everybody who does not deliberate decides in every tick."""

    def __init__(self, size: int, seed: int) -> None:
        self._seed = seed
        self._deliberating = [False] * size

    def triggers(self, tick: int) -> list[Trigger[bool]]:
        """A decision for everybody, ambiguous for one in twenty."""
        return [
            Trigger(tick, agent, "decides", uniform(self._seed, agent, tick, 2) < AMBIGUOUS)
            for agent, away in enumerate(self._deliberating)
            if not away
        ]

    def apply(self, update: Update[Any]) -> None:
        """They are back."""
        self._deliberating[update.agent] = False

    def deliberates(self, question: Question[bool]) -> None:
        """They are away."""
        self._deliberating[question.agent] = True

    def totals(self) -> dict[str, Any]:
        """Nothing to add."""
        return {}


class LatencyDomain:
    """Agents that do nothing but decide."""

    context_type: Any = bool
    effect_type: Any = None
    chart = CHART

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.world = DecidingWorld(size, seed)
        self._oracle = LatencyLaw(seed)

    def agent(self, agent_id: int) -> SocialAgent:
        """Somebody without a history."""
        return SocialAgent(agent_id, state=AgentState.EVALUATING, max_history_depth=0)

    def asker(self, question: Question[bool]) -> SocialAgent:
        """Them, at the tick of the question."""
        return SocialAgent(question.agent, state=AgentState.EVALUATING, tick=question.tick)

    def oracle(self) -> LatencyLaw:
        """The law."""
        return self._oracle


def use_of_oracle(agents: int, calls: int, lookahead: int, seed: int) -> float:
    """The share of the 64 slots that were busy, from a fifth of the calls on until all of them were answered."""
    domain = LatencyDomain(agents, seed)
    config = Config(
        simulation=SimulationConfig(rounds=10**6),
        oracle=OracleConfig(lookahead_ticks=lookahead, max_concurrency=SLOTS, deadline_s=1e6),
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
    return (after - before) / (SLOTS * (ended - begun))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=20_000, help="calls in one measurement")
    parser.add_argument("--seeds", type=int, default=3, help="measurements for each lookahead")
    options = parser.parse_args()
    print("| lookahead k | oracle use, measured | oracle use, modelled |\n|---|---|---|")
    for lookahead, modelled in MODELLED.items():
        measured = median(
            use_of_oracle(options.agents, options.calls, lookahead, seed) for seed in range(options.seeds)
        )
        print(f"| {lookahead} | {measured:.0%} | {modelled:.0%} |", flush=True)


if __name__ == "__main__":
    main()
