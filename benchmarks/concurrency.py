"""Goodput of each setting of `oracle.concurrency`, against servers with different limits.

Only the oracle actor runs, with more questions waiting than it may ask at once, so the settings differ in the limit
alone. Each setting warms up, and then answers are counted in three windows in a row; the table has the medians, in
answers a second. The adaptive setting gets more time, because it has to find its level first. Each server is a process
of its own, because it would otherwise share the interpreter with the client:

- 1, 4 and 32 slots: calls beyond them wait in the server's queue, and goodput no longer grows;
- slowing: every other call under way makes a call a quarter slower, so goodput grows ever less with concurrency;
- thrashing: every other call makes a call one and a half times slower, so goodput is best with one call at a time;
- 32 slots, a tenth broken: a tenth of the calls end in a plain 500, however many are under way.

    python -m benchmarks.concurrency [--window 1.0] [--warm-up 12] [--adaptive-window 3] [--server thrashing]...
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import NamedTuple

import anyio

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.oracle.actor import OracleActor
from actors.testing import Fault, FaultPlan, Latency, ModelServerProcess, ServerSettings
from benchmarks.rate import OPTIONS, asker
from prism.agents import Question, Source
from prism.config import OracleConfig
from prism.llm import LLMConfig, OllamaChatClient, SocialModelOracle
from prism.statechart import AgentState

FIXED = (1, 2, 4, 8, 16, 32, 64)
MOST = 64
WAITING = 128
FIXED_WARM_UP_S = 0.4
WINDOWS = 3
TENTH = FaultPlan(shares={Fault.ERROR: 0.1})
SERVERS = {
    "1 slot": ServerSettings(slots=1, latency=Latency(mean_s=0.02)),
    "4 slots": ServerSettings(slots=4, latency=Latency(mean_s=0.04)),
    "32 slots": ServerSettings(slots=32, latency=Latency(mean_s=0.2, p99_s=0.4)),
    "slowing": ServerSettings(slots=64, latency=Latency(mean_s=0.025, slope=0.25)),
    "thrashing": ServerSettings(slots=64, latency=Latency(mean_s=0.01, slope=1.5)),
    "a tenth broken": ServerSettings(slots=32, latency=Latency(mean_s=0.2, p99_s=0.4), faults=TENTH),
}


class Measured(NamedTuple):
    """The answers a second, and the limit at the end."""

    goodput: float
    limit: int


class Stream:
    """An oracle actor that always has questions waiting."""

    def __init__(self, model: OllamaChatClient, llm: LLMConfig, oracle: OracleConfig) -> None:
        self.codec = Codec(int, int)
        self.questions: Mailbox[bytes] = Mailbox("oracle", WAITING)
        self.answers: Mailbox[bytes] = Mailbox("engine", WAITING)
        self.actor = OracleActor(SocialModelOracle(model, llm, seed=1), asker, self.codec, self.answers, oracle)
        self.answered = 0

    async def ask(self) -> None:
        """Keep the mailbox full."""
        agent = 0
        while True:
            question = Question[int](0, agent, "decides", AgentState.EVALUATING.value, OPTIONS)
            await self.questions.send(self.codec.encode(question))
            agent += 1

    async def count(self) -> None:
        """Count the model's answers, without fallbacks."""
        while True:
            decided = map(self.codec.decided, await self.answers.receive_all())
            self.answered += sum(each.source == Source.LLM for each in decided)


async def goodput(host: str, oracle: OracleConfig, warm_up_s: float, window_s: float) -> Measured:
    """Return the median of three windows, after the warm-up."""
    llm = LLMConfig(host=host)
    model = OllamaChatClient(llm, {})
    stream = Stream(model, llm, oracle)
    seen: list[float] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.actor.run, stream.questions)
            tasks.start_soon(stream.ask)
            tasks.start_soon(stream.count)
            await anyio.sleep(warm_up_s)
            for _ in range(WINDOWS):
                begun, before = anyio.current_time(), stream.answered
                await anyio.sleep(window_s)
                seen.append((stream.answered - before) / (anyio.current_time() - begun))
            tasks.cancel_scope.cancel()
    finally:
        await model.aclose()
    return Measured(median(seen), stream.actor.admission.limit.limit)


def settings(concurrency: int | None) -> OracleConfig:
    """Return the settings for this number of calls at once; None is adaptive."""
    if concurrency is None:
        return OracleConfig(concurrency="adaptive", max_concurrency=MOST, queue_size=WAITING, deadline_s=1e6)
    return OracleConfig(concurrency="fixed", max_concurrency=concurrency, queue_size=WAITING, deadline_s=1e6)


def row(server: ServerSettings, options: argparse.Namespace) -> tuple[list[float], Measured]:
    """Return the goodputs of the fixed settings, and of the adaptive one, against one server."""
    with ModelServerProcess(server) as process:
        fixed = [
            anyio.run(goodput, process.url, settings(each), FIXED_WARM_UP_S, options.window).goodput for each in FIXED
        ]
        adaptive: Measured = anyio.run(goodput, process.url, settings(None), options.warm_up, options.adaptive_window)
    return fixed, adaptive


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=float, default=1.0, help="seconds of each window of a fixed setting")
    parser.add_argument("--warm-up", type=float, default=12.0, help="seconds before the adaptive setting is measured")
    parser.add_argument("--adaptive-window", type=float, default=3.0, help="seconds of each of its windows")
    parser.add_argument("--server", action="append", choices=SERVERS, help="this one alone; may be repeated")
    options = parser.parse_args()
    columns = [*(str(each) for each in FIXED), "adaptive", "at limit", "adaptive / best fixed"]
    print(f"| server | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name in options.server or SERVERS:
        fixed, adaptive = row(SERVERS[name], options)
        cells = [*(f"{each:.0f}" for each in fixed), f"{adaptive.goodput:.0f}", str(adaptive.limit)]
        print(f"| {name} | {' | '.join(cells)} | {adaptive.goodput / max(fixed):.0%} |", flush=True)


if __name__ == "__main__":
    main()
