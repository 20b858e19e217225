"""A model server in virtual time: it can be away, hang, refuse and give useless answers."""

from collections.abc import Callable
from typing import Any

import anyio

from prism.llm import LLMFailureException
from prism.statechart import ATTEMPT, Oracle

Fault = Callable[[float, int], str | None]
"""`(time, number of the call)` -> the reason of its failure; None for an answer."""


class FaultyServer(Oracle[Any]):
    """An oracle that answers with the last option, and fails as scripted.

    Args:
        fault: the fault of each call.
        takes_s: the time of a call; a `timeout` takes `timeout_s`.
        test_fault: the fault of each call for its test question; None if it has none.
    """

    def __init__(
        self,
        fault: Fault = lambda *_: None,
        *,
        takes_s: float = 0.1,
        timeout_s: float = 5.0,
        test_fault: Fault | None = None,
    ) -> None:
        self._test_fault = test_fault
        self.tests = 0
        self.fault = fault
        self.takes_s = takes_s
        self.timeout_s = timeout_s
        self.retry_after_s = 0.0
        self.asked: list[tuple[float, int, int]] = []
        """`(time, agent, attempt)` of every call."""
        self.forgotten: list[tuple[int, str]] = []

    @property
    def has_test(self) -> bool:
        return self._test_fault is not None

    async def test(self, agent: Any, number: int) -> None:
        assert self._test_fault is not None
        self.tests += 1
        await anyio.sleep(self.takes_s)
        if (reason := self._test_fault(anyio.current_time(), self.tests)) is not None:
            raise LLMFailureException(reason)  # type: ignore[arg-type]

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        self.asked.append((anyio.current_time(), agent.agent_id, ATTEMPT.get()))
        reason = self.fault(anyio.current_time(), len(self.asked))
        if reason == "hang":
            await anyio.Event().wait()
        if reason == "connection_error":
            await anyio.sleep(0.001)
        elif reason == "timeout":
            await anyio.sleep(self.timeout_s)
        elif reason not in {"overloaded", "limited"}:
            await anyio.sleep(self.takes_s)
        if reason is not None:
            status = {"limited": 429, "overloaded": 503}.get(reason)
            said = "overloaded" if reason == "limited" else reason
            raise LLMFailureException(said, status_code=status, retry_after_s=self.retry_after_s)  # type: ignore[arg-type]
        return options[-1]

    async def before_retry(self, agent: Any, trigger: str, context: Any, reason: str) -> None:
        self.forgotten.append((agent.agent_id, reason))


def away(begin: float, end: float, reason: str = "connection_error") -> Fault:
    """Return the faults of a server that is away between two times."""
    return lambda now, _: reason if begin <= now < end else None


def limited(rate_per_s: float, burst: int) -> Fault:
    """Return the faults of a server that takes this many calls a second, `burst` at once, and refuses the others."""
    tokens, seen = float(burst), 0.0

    def fault(now: float, _: int) -> str | None:
        nonlocal tokens, seen
        tokens, seen = min(float(burst), tokens + (now - seen) * rate_per_s), now
        if tokens < 1.0:
            return "limited"
        tokens -= 1.0
        return None

    return fault
