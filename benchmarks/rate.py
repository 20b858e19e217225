"""The precision of `oracle.rate_per_s`, in real time and with an oracle that answers at once.

The oracle actor gets more questions than the rate allows. Each call notes when it began. The achieved rate is the
number of calls before the one that comes ten seconds after the first, over the time between those two. The busiest 100
ms is compared with the allowed number: a tenth of the rate, and a burst of the calls of 10 ms, at least one.

    python -m benchmarks.rate [--seconds 10] [--rates 10 100 1000]
"""

from __future__ import annotations

import argparse
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import anyio

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.oracle.actor import OracleActor
from actors.oracle.limits import BURST_S
from prism.agents import Question, SocialAgent
from prism.config import OracleConfig
from prism.statechart import AgentState, Oracle

WINDOW_S = 0.1
OPTIONS = (AgentState.SCROLLING.value, AgentState.ENGAGING_LIKE.value)


class Punctual(Oracle[AgentState]):
    """An oracle that answers at once and notes when it was asked."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []

    async def ask(
        self,
        agent: Any,  # noqa: ARG002  # the interface's
        current_state: AgentState,  # noqa: ARG002
        trigger: str,  # noqa: ARG002
        options: Sequence[AgentState],
        context: Any = None,  # noqa: ARG002
    ) -> AgentState:
        """Return the first option."""
        self.asked_s.append(anyio.current_time())
        return options[0]


def asker(question: Question[Any]) -> SocialAgent:
    """Return a person, at the tick of the question."""
    return SocialAgent(question.agent, state=AgentState.EVALUATING, tick=question.tick, max_history_depth=0)


async def call_times(rate_per_s: float, seconds: float) -> list[float]:
    """Return the times at which calls began, over a tenth more than these seconds."""
    count = math.ceil(1.2 * rate_per_s * seconds) + 10
    codec, oracle = Codec(int, int), Punctual()
    questions: Mailbox[bytes] = Mailbox("oracle", count)
    answers: Mailbox[bytes] = Mailbox("engine", count)
    for agent in range(count):
        questions.put(codec.encode(Question(0, agent, "decides", AgentState.EVALUATING.value, OPTIONS)))
    config = OracleConfig(rate_per_s=rate_per_s, queue_size=count + 1, deadline_s=1e6)
    actor = OracleActor(oracle, asker, codec, answers, config)
    with anyio.move_on_after(1.1 * seconds + 3 / rate_per_s):
        await actor.run(questions)
    return oracle.asked_s


def busiest(times: Sequence[float]) -> int:
    """Return the most calls that began within any 100 ms, the end not included."""
    return max(bisect_left(times, begun + WINDOW_S, place) - place for place, begun in enumerate(times))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=float, nargs="+", default=[10.0, 100.0, 1000.0], help="calls a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="over which calls are counted")
    options = parser.parse_args()
    print("| rate_per_s | achieved a second | off by | busiest 100 ms | allowed |\n|---|---|---|---|---|")
    for rate in options.rates:
        times = anyio.run(call_times, rate, options.seconds)
        place = bisect_left(times, times[0] + options.seconds)
        achieved = place / (times[place] - times[0])
        allowed = rate * WINDOW_S + max(1.0, rate * BURST_S)
        off = achieved / rate - 1
        print(f"| {rate:g} | {achieved:.2f} | {off:+.2%} | {busiest(times)} | {allowed:g} |", flush=True)


if __name__ == "__main__":
    main()
