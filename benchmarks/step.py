"""The cost of a whole agent step, against the smallest possible cost of an agent that is a task.

W is a bare asyncio wake-up: `set_result` on a future, one step of the task that awaits it, and back to waiting. It is
measured in the same process, on the same loop, with as many tasks. A step is everything PRISM does for one trigger:
encode it, mailbox, wake-up, decode, select, commit, encode the update, mailbox, decode, order, apply, count and digest.
All times are of the processor.
On demand there is no mailbox and no wake-up, and only a trigger with a post in it is encoded.

    python -m benchmarks.step [--agents 1000] [--ticks 200] [--repeats 7]

`fire()` is compared with the simplest table-driven machine: two dictionary look-ups and an assignment.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from time import process_time
from typing import Any, Literal

import anyio

from actors.runtime.simulation import Simulation
from prism.agents import Question, SocialAgent, Trigger, Update
from prism.columns import Column, Columns, pack
from prism.config import Config, OracleConfig, RunConfig, SimulationConfig, StatechartConfig
from prism.domain import World
from prism.llm.port import LanguageModel
from prism.social.chart import SOCIAL_CHART
from prism.social.choice import ChoiceOracle
from prism.social.posts.post import PostView
from prism.statechart import AgentState, Oracle

VIEW = PostView(
    id=1,
    author=2,
    author_name="Ada Example",
    text="A sentence as long as the ones people post.",
    topics=("science",),
    age_ticks=3,
    likes=4,
    replies=1,
    reshares=2,
    velocity=0.5,
    popularity=0.4,
    followed=True,
    topic_match=1.0,
    appeal=0.1,
    fatigue=0.2,
)
LIGHT = (("feed_ready", None), ("round_ends", None))
SOCIAL = (("feed_ready", None), ("sees_post", VIEW), ("ignores", VIEW), ("round_ends", None))


class CyclingWorld(World):
    """A world in which every agent gets a trigger in every tick, in a fixed cycle. An update only changes the state."""

    def __init__(self, size: int, cycle: Sequence[tuple[str, PostView | None]]) -> None:
        self.states: list[str] = ["idle"] * size
        self._cycle = cycle

    def triggers(self, tick: int) -> list[Trigger[PostView]]:
        """Return one trigger for every agent."""
        name, view = self._cycle[tick % len(self._cycle)]
        return [Trigger(tick, agent, name, view) for agent in range(len(self.states))]

    def apply(self, update: Update[str]) -> None:
        """Store the agent's state."""
        self.states[update.agent] = update.to_state

    def deliberates(self, question: Question[PostView]) -> None:
        """Do nothing: no agent asks in this benchmark."""

    def totals(self) -> dict[str, Any]:
        """Return nothing to add to the summary."""
        return {}

    def columns(self) -> Iterator[Column]:
        """Yield the states."""
        yield from pack("states", self.states)

    def restore(self, columns: Columns) -> None:
        """Take over the states that these columns hold."""
        self.states = columns.values("states", str)


class BenchmarkDomain:
    """The default social chart and agents, in a world that costs almost nothing."""

    context_type: Any = PostView
    effect_type: Any = str
    checkpoint_every_ticks = 1000
    chart = SOCIAL_CHART

    def __init__(self, size: int, cycle: Sequence[tuple[str, PostView | None]]) -> None:
        self.size = size
        self.world = CyclingWorld(size, cycle)

    def agent(self, agent_id: int) -> SocialAgent:
        """Return a person without a history."""
        return SocialAgent(agent_id, max_history_depth=0)

    def asker(self, question: Question[PostView]) -> SocialAgent:
        """Return the person; no agent asks."""
        return self.agent(question.agent)

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:  # noqa: ARG002  # nobody asks
        """Return the embedded oracle, which is never asked."""
        return ChoiceOracle(OracleConfig().choice, 0)


def time_wake_ups(tasks: int, rounds: int) -> float:
    """Return the seconds of one bare wake-up, on average."""

    async def measure() -> float:
        loop = asyncio.get_running_loop()
        parked: list[asyncio.Future[None]] = [loop.create_future() for _ in range(tasks)]

        async def park(number: int) -> None:
            while True:
                await parked[number]
                parked[number] = loop.create_future()

        running = [loop.create_task(park(number)) for number in range(tasks)]
        await asyncio.sleep(0)
        begun = process_time()
        for _ in range(rounds):
            for future in parked:
                future.set_result(None)
            await asyncio.sleep(0)
        elapsed = process_time() - begun
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return elapsed / (rounds * tasks)

    return asyncio.run(measure())


def time_steps(
    agents: int, ticks: int, cycle: Sequence[tuple[str, PostView | None]], way: Literal["resident", "compiled"]
) -> float:
    """Return the seconds of one whole agent step, on average, without the start and the end of the run."""
    per_round = len(cycle) * max(1, ticks // len(cycle))
    config = Config(
        simulation=SimulationConfig(rounds=1, ticks_per_round=per_round),
        oracle=OracleConfig(),
        statechart=StatechartConfig(),
        run=RunConfig(activation=way, mailbox_capacity=max(1024, agents)),
    )
    simulation = Simulation(config, BenchmarkDomain(agents, cycle))
    moments: list[float] = []
    anyio.run(simulation.run, lambda _: moments.append(process_time()))
    return (moments[-1] - moments[0]) / ((per_round - 1) * agents)


def time_fire(calls: int) -> tuple[float, float]:
    """Return the seconds of one `fire` of an unguarded row, and of one step of a plain table-driven machine."""
    agent = SocialAgent(max_history_depth=0)
    chart = SOCIAL_CHART
    table: dict[str, dict[str, AgentState]] = {
        AgentState.IDLE: {"feed_ready": AgentState.SCROLLING},
        AgentState.SCROLLING: {"round_ends": AgentState.IDLE},
    }

    class Plain:
        state: AgentState = AgentState.IDLE

    def step(plain: Plain, trigger: str) -> AgentState:
        target = table[plain.state][trigger]
        plain.state = target
        return target

    plain = Plain()
    halves = range(calls // 2)
    begun = process_time()
    for _ in halves:
        chart.fire(agent, "feed_ready")
        chart.fire(agent, "round_ends")
    fired = process_time()
    for _ in halves:
        step(plain, "feed_ready")
        step(plain, "round_ends")
    ended = process_time()
    return (fired - begun) / calls, (ended - fired) / calls


def main() -> None:
    """Print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000, help="agents, and tasks of the bare wake-up")
    parser.add_argument("--ticks", type=int, default=200, help="ticks in one measurement")
    parser.add_argument("--repeats", type=int, default=7, help="measurements of each kind, interleaved")
    options = parser.parse_args()
    measured: dict[str, Callable[[], float]] = {
        "bare wake-up (W)": partial(time_wake_ups, options.agents, options.ticks),
        "step, trigger alone": partial(time_steps, options.agents, options.ticks, LIGHT, "resident"),
        "step, with posts": partial(time_steps, options.agents, options.ticks, SOCIAL, "resident"),
        "one by one, alone": partial(time_steps, options.agents, options.ticks, LIGHT, "compiled"),
        "one by one, with posts": partial(time_steps, options.agents, options.ticks, SOCIAL, "compiled"),
    }
    samples: dict[str, list[float]] = {name: [] for name in measured}
    fires: list[tuple[float, float]] = []
    for _ in range(options.repeats):
        for name, measure in measured.items():
            gc.collect()
            samples[name].append(measure())
        fires.append(time_fire(200_000))
    bare = samples["bare wake-up (W)"]
    print(f"{options.agents:,} agents, {options.ticks} ticks, medians of {options.repeats}")
    for name, seconds in samples.items():
        ratio = median(value / base for value, base in zip(seconds, bare, strict=True))
        print(f"{name:22} {median(seconds) * 1e6:8.2f} us {ratio:8.2f} W")
    fire, plain = (median(column) for column in zip(*fires, strict=True))
    ratio = median(one / other for one, other in fires)
    print(f"{'fire()':22} {fire * 1e6:8.3f} us {ratio:8.2f} x a table look-up of {plain * 1e6:.3f} us")


if __name__ == "__main__":
    main()
