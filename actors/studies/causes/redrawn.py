"""The decisions, in another future, of people who shared a judgement in the run and get an individual one instead."""

from __future__ import annotations

from typing import Any

from actors.core.messages import Decided
from actors.results.requests import Requests
from actors.results.retrace import OpenRun
from prism.agents import Question
from prism.domain import Domain
from prism.rng import Draw, pick, uniform
from prism.sharing.redrawn import Drawn, Possible
from prism.sharing.settings import archetypes_of, fields_of


class Redrawn:
    """The decisions of people in one future."""

    def __init__(self, run: OpenRun, possible: Possible, number: int, domain: Domain) -> None:
        config = run.config
        self._archetypes = archetypes_of(config, fields_of(config, domain))
        self._drawn = Drawn(possible, number)
        self._number, self._seed = number, config.simulation.seed
        is_asked = config.oracle.backend != "choice"
        self._oracle = domain.oracle(Requests(None, "", ()).model if is_asked else None)
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
