"""The oracles of other futures: the run's model for a limited number of new questions.

A new question is one that the run never asked. The run's own tape and its journal do not change. Questions whose
answers are on the new tape count towards the limit, so a repeated search asks nothing, and finds the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.messages import QuestionName
from actors.explain.futures import CAPS, Futures, Substitute
from actors.factory.oracle_backends import open_oracle
from prism.llm import Tape, TapedModel
from prism.statechart import Oracle


def tape_beside(run: Path) -> Path:
    return run.with_name(f"{run.name}.cause.sqlite")


class Asking:
    """The model of a run, and the number of new questions that it may still answer.

    Args:
        most: the most new questions, with those whose answers are on the tape.
        taped: an oracle that answers from the tape alone; asked: one that answers from the tape, or else asks the
            server and records its answer.
    """

    def __init__(self, most: int, taped: Oracle[Any], asked: Oracle[Any]) -> None:
        self._left = most
        self._taped, self._asked = taped, asked

    def oracle(self, computed: Oracle[Any], replaces: Mapping[QuestionName, str]) -> Substitute:
        """Return the oracle of one future."""
        known: dict[QuestionName, bool] = {}  # so that a retry does not count

        def may_ask(name: QuestionName) -> bool:
            if name not in known:
                known[name] = self._left > 0
                self._left -= known[name]
            return known[name]

        return Substitute(computed, self._taped, self._asked, replaces, may_ask)


@asynccontextmanager
async def asking(futures: Futures[Any], most: int, tape: Path) -> AsyncIterator[None]:
    """Let the run's model answer at most so many new questions of its futures within the block."""
    run = futures.run
    if run.config.oracle.backend == "choice":
        raise RunDirectoryError(f"{run.path}: this run asks no model, so there is none for --ask")
    config = replace(run.config, oracle=replace(run.config.oracle, tape="record", tape_path=str(tape)))
    async with (
        open_oracle(config, run.domain, None) as opened,
        aclosing(TapedModel(None, Tape(tape, "replay"), "replay")) as read,
    ):
        futures.oracle_of = Asking(most, run.domain.oracle(read), opened.oracle).oracle
        futures.lifted = CAPS
        yield
