"""What oracles that ask a language model have in common: counts of their calls, and a tape where there is one."""

from __future__ import annotations

from prism.llm.port import LanguageModel
from prism.llm.records import Forgone
from prism.llm.statistics import CallCounters, OracleStatistics
from prism.llm.taped_model import TapedModel
from prism.statechart.oracle import Oracle
from prism.statechart.states import S


class AskingOracle(Oracle[S]):
    """An oracle that asks a language model. A subclass says what, and counts what becomes of each call in `counters`.

    Args:
        model: who is asked; a `TapedModel` has a tape.
    """

    source = "llm"

    def __init__(self, model: LanguageModel) -> None:
        self.counters = CallCounters()
        self._model = model
        self._tape = model if isinstance(model, TapedModel) else None

    @property
    def tokens(self) -> int:
        """Tokens read and written by the model so far."""
        return self.counters.tokens

    def statistics(self) -> OracleStatistics:
        """What became of the calls so far."""
        return self.counters.statistics()

    @property
    def replays(self) -> bool:
        """Whether the answers come from a tape."""
        return self._tape is not None and self._tape.mode == "replay"

    async def forgo(self, question: bytes, source: str, reason: str) -> None:
        """Note on the tape, where there is one, that a question was settled by a fallback."""
        if self._tape is not None:
            await self._tape.forgo(question, Forgone(source, reason))

    async def forgone(self, question: bytes) -> tuple[str, str] | None:
        """Source and reason of the fallback on the tape; None if the model answered."""
        found = None if self._tape is None else await self._tape.forgone(question)
        return None if found is None else (found.source, found.reason)

    async def forget_failures(self, asked_by: str) -> None:
        """Take the failed calls of one question off the tape, where there is one, so that it can be asked again."""
        if self._tape is not None:
            await self._tape.forget_failures(asked_by)
