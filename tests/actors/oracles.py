"""Oracles for tests: real ones with a scripted answer, duration or fault."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from prism.errors import NotAnOptionError
from prism.rng import uniform
from prism.statechart import Judgement, Oracle

Answer = Callable[[Any, Sequence[Any]], Awaitable[Any]]


class ScriptedOracle(Oracle[Any]):
    """An oracle that answers as scripted, and records its questions.

    Args:
        answer: `(agent, options)` -> the answer; by default the last option, at once.
    """

    def __init__(self, answer: Answer | None = None) -> None:
        self._answer = answer or last_option
        self.asked: list[tuple[float, int]] = []
        """`(time, agent)` of every call."""
        self.under_way = self.under_way_max = 0

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        self.asked.append((anyio.current_time(), agent.agent_id))
        self.under_way += 1
        self.under_way_max = max(self.under_way_max, self.under_way)
        try:
            return await self._answer(agent, options)
        finally:
            self.under_way -= 1


class SlowOracle(Oracle[Any]):
    """An oracle that gives another oracle's answers, each after a random virtual time that follows from the seed.

    Args:
        oracle: who knows.
        seed: of the durations.
        longest_s: no answer takes longer.
    """

    def __init__(self, oracle: Oracle[Any], seed: int, longest_s: float) -> None:
        self._oracle = oracle
        self._seed = seed
        self._longest_s = longest_s

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        await anyio.sleep(self._longest_s * uniform(self._seed, agent.agent_id, agent.tick, 1_000_000))
        return await self._oracle.ask(agent, current_state, trigger, options, context)


async def last_option(agent: Any, options: Sequence[Any]) -> Any:
    return options[-1]


def after(seconds: float) -> Answer:
    async def answer(agent: Any, options: Sequence[Any]) -> Any:
        await anyio.sleep(seconds)
        return options[-1]

    return answer


async def never(agent: Any, options: Sequence[Any]) -> Any:
    await anyio.Event().wait()


def failing(error: BaseException) -> Answer:
    async def answer(agent: Any, options: Sequence[Any]) -> Any:
        raise error

    return answer


def saying(what: object) -> Answer:
    async def answer(agent: Any, options: Sequence[Any]) -> Any:
        return what

    return answer


class SlowJudge(Oracle[Any]):
    """An oracle that gives another one's judgements, each after a random virtual time, and fails on some questions.

    To people without openness it gives the judgement back to front, so that an archetype without that field is none.

    Args:
        seed: of the durations; which questions fail does not depend on it.
        fails: the share of questions that get no judgement.
        longest_s: no judgement takes longer.
    """

    judges = True

    def __init__(self, oracle: Oracle[Any], seed: int, fails: float, longest_s: float = 20.0) -> None:
        self._oracle = oracle
        self._seed = seed
        self._fails = fails
        self._longest_s = longest_s
        self.asked: list[tuple[int, int]] = []

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        raise AssertionError("every question of these runs shares")

    async def judge(
        self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None, samples: int = 1
    ) -> Judgement:
        self.asked.append((agent.tick, agent.agent_id))
        await anyio.sleep(self._longest_s * uniform(self._seed, agent.agent_id, agent.tick, 1_000_000))
        if uniform(7, agent.agent_id, agent.tick, 1_000_001) < self._fails:
            raise NotAnOptionError("what?", options)  # a breaker does not count it, so it stays closed
        judgement = await self._oracle.judge(agent, current_state, trigger, options, context, samples)
        shares = judgement.probabilities if agent.persona.traits.openness > 0 else judgement.probabilities[::-1]
        return Judgement(shares)

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        return self._oracle.drawn(probabilities, agent, tick, context)
