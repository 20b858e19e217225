"""The oracles of other futures: the run's model for a limited number of new questions, and redrawn judgements.

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
from actors.core.messages import Decided, QuestionName
from actors.explain.requests import Requests
from actors.explain.retrace import OpenRun
from actors.explain.what_if import Substitute
from actors.factory.oracle_backends import open_oracle
from prism.agents import Question
from prism.domain import Domain
from prism.llm import Tape, TapedModel
from prism.rng import Draw, pick, uniform
from prism.sharing.redrawn import Drawn, Possible
from prism.sharing.settings import archetypes_of, fields_of
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

        return Substitute(0, computed, self._taped, self._asked, replaces, may_ask)


@asynccontextmanager
async def open_asking(run: OpenRun, most: int, tape: Path) -> AsyncIterator[Asking]:
    """Open the model of a run for new questions."""
    config = run.config
    if config.oracle.backend == "choice":
        raise RunDirectoryError(f"{run.path}: this run asks no model, so there is none for --ask")
    config = replace(config, oracle=replace(config.oracle, tape="record", tape_path=str(tape)))
    async with (
        open_oracle(config, run.domain, None) as opened,
        aclosing(TapedModel(None, Tape(tape, "replay"), "replay")) as read,
    ):
        yield Asking(most, run.domain.oracle(read), opened.oracle)


class Redrawn:
    """The decisions of people in one future."""

    def __init__(self, run: OpenRun, possible: Possible, number: int, domain: Domain) -> None:
        config = run.config
        self._archetypes = archetypes_of(config, fields_of(config, domain))
        self._drawn = Drawn(possible, number)
        self._number, self._seed = number, config.simulation.seed
        is_asked = config.oracle.backend != "choice"
        self._oracle = domain.oracle(Requests("", "", ()).model if is_asked else None)
        """The oracle of the run, which is not asked: it draws options from judgements as in the run."""
        self._domain = domain

    def decided(self, question: Question[Any]) -> Decided | None:
        """Return a person's decision by an individual judgement; None if the run has no such questions."""
        options = tuple(map(str, question.options))
        kind = question.state, question.trigger, *options
        asker, context = self._domain.asker(question), question.context
        of_fields, values = self._archetypes.key(asker, context), self._archetypes.values(asker, context)
        likely = self._drawn.judgement(question.agent, kind, of_fields, values)
        if likely is None:
            return None
        agent, tick = question.agent, question.tick
        if likely.is_counted:
            unit = uniform(self._seed, agent, tick, Draw.REDRAWN, self._number + 1)
            place = pick(likely.probabilities, unit)
        else:
            place = self._oracle.drawn(likely.probabilities, agent, tick, context)
        return Decided(tick, agent, question.trigger, options[place], self._oracle.source)
