"""An oracle in place of a model that must not be asked: a replay has every answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import anyio

from actors.persistence.oracle_log import ANSWERS
from prism.config import Config
from prism.domain import Domain
from prism.errors import OracleUnavailableError
from prism.llm.port import ChatRequest, ChoiceRequest
from prism.statechart import Judgement, Oracle


class AbsentOracle(Oracle[Any]):
    """An oracle in place of the model: every answer is recorded, so it should never be asked.

    Args:
        may_be_late: whether a question may have no recorded answer because the clock did not wait for one.
        absent: the oracle whose place it takes. It says which questions are the same; None if nobody will ask for that.
    """

    judges = True

    def __init__(self, *, may_be_late: bool, absent: Oracle[Any] | None = None) -> None:
        self._may_be_late = may_be_late
        self._absent = absent

    async def ask(
        self,
        agent: Any,
        current_state: Any,  # noqa: ARG002  # the interface's
        trigger: str,
        options: Any,  # noqa: ARG002
        context: Any = None,  # noqa: ARG002
    ) -> Any:
        """Raise, or never return, where a question has no recorded answer."""
        if self._may_be_late:
            await anyio.sleep_forever()
        raise _lost(agent.agent_id, agent.tick, trigger)

    async def judge(
        self,
        agent: Any,
        current_state: Any,  # noqa: ARG002  # the interface's
        trigger: str,
        options: Any,  # noqa: ARG002
        context: Any = None,  # noqa: ARG002
        samples: int = 1,  # noqa: ARG002
    ) -> Judgement:
        """Raise: every judgement is recorded."""
        raise _lost(agent.agent_id, agent.tick, trigger)

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:  # noqa: ARG002
        """Raise: every answer is recorded."""
        raise _lost(agent, tick, "question")

    def same_question(self, agent: Any, trigger: str, options: Sequence[Any], context: Any = None) -> str | None:
        """Return what the oracle returns whose place it takes: by that the run has told who shares."""
        return None if self._absent is None else self._absent.same_question(agent, trigger, options, context)


class _AbsentModel:
    """A model that cannot be asked."""

    name = "absent"

    @property
    def identity(self) -> NoReturn:
        """Raise: nothing is asked."""
        raise OracleUnavailableError("a replay asks no model")

    async def complete(self, request: ChatRequest) -> NoReturn:  # noqa: ARG002  # the interface's
        """Raise: nothing is asked."""
        raise OracleUnavailableError("a replay asks no model")

    async def choose(self, request: ChoiceRequest) -> NoReturn:  # noqa: ARG002  # the interface's
        """Raise: nothing is asked."""
        raise OracleUnavailableError("a replay asks no model")

    async def check(self) -> NoReturn:
        """Raise: nothing is asked."""
        raise OracleUnavailableError("a replay asks no model")

    async def aclose(self) -> None:
        """Do nothing."""


def absent_oracle(config: Config, domain: Domain) -> AbsentOracle:
    """Return the oracle in place of the model that a configuration names."""
    absent = domain.oracle(_AbsentModel()) if config.oracle.sharing.by == "exact" else None
    return AbsentOracle(may_be_late=config.oracle.mode == "realtime", absent=absent)


def _lost(agent: int, tick: int, trigger: str) -> OracleUnavailableError:
    return OracleUnavailableError(
        f"{ANSWERS}: has no answer to agent {agent}'s {trigger!r} of tick {tick}; a part of it is lost"
    )
