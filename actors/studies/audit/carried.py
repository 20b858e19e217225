"""Shifted choices carried to the outcome: the runs of a study in full, with the answers of a small model of choices.

The same run is done twice under the same draws: with choices as they were recorded, and with shifted ones. What differs
is the effect of the shift alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyio import to_thread

from actors.explain.futures import Change, Departed, Track, changed, seed_of_draws
from actors.runs.directory import RunDirectory
from actors.runs.replay import Part, parts_of, run_parts
from actors.runtime.simulation import Simulation
from actors.studies.audit.questions import Features, Study
from actors.studies.causes.track import track_of
from prism.audit import ChoiceModel
from prism.domain import Domain, HasFutures
from prism.statechart import Judgement, Oracle

MakeOracle = Callable[[Domain, Features], Oracle[Any]]


class ModelledChoices(Oracle[Any]):
    """An oracle that draws the options from a small model of choices, with the embedded oracle's random numbers."""

    waits = False
    judges = True

    def __init__(self, model: ChoiceModel, embedded: Oracle[Any], features: Features) -> None:
        self._model, self._embedded, self._features = model, embedded, features

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        found = await self.judge(agent, current_state, trigger, options, context)
        return options[self.drawn(found.probabilities, agent.agent_id, agent.tick, context)]

    async def judge(
        self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None, samples: int = 1
    ) -> Judgement:
        likely = None
        if self._embedded.judges:
            likely = (
                await self._embedded.judge(agent, current_state, trigger, options, context, samples)
            ).probabilities
        features = self._features.of(agent, context, likely)
        return Judgement(tuple(self._model.probabilities([str(option) for option in options], features)))

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        return self._embedded.drawn(probabilities, agent, tick, context)


class FixedChoices(Oracle[Any]):
    """An oracle that draws from the same shares whatever is seen; of no shares it takes the first option."""

    waits = False

    def __init__(self, shares: Mapping[str, float], embedded: Oracle[Any]) -> None:
        self._shares, self._embedded = shares, embedded

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:  # noqa: ARG002
        weights = [self._shares.get(str(option), 0.0) for option in options]
        if not sum(weights):
            return options[0]
        return options[
            self._embedded.drawn([each / sum(weights) for each in weights], agent.agent_id, agent.tick, context)
        ]


class _Tracks(Track):
    """The tracks of several measures of one future, as one."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self.each = tracks

    def add_tick(self, tick: int, frame: bytes) -> None:
        for each in self.each:
            each.add_tick(tick, frame)

    def add_round(self, simulation: Simulation) -> None:
        for each in self.each:
            each.add_round(simulation)


class Outcomes:
    """The measures of a study's runs in other futures.

    Args:
        measures: `{name: where the value is found}`.
    """

    def __init__(self, study: Study, measures: Mapping[str, str]) -> None:
        self._study, self._measures = study, measures
        self._parts: dict[int, list[Part]] = {}
        self.futures = 0

    async def of(self, cell: int, draw: int | None, make: MakeOracle) -> dict[str, float]:
        """Return the measures of a run in full with another oracle.

        Args:
            draw: the number of other draws; None for those of the run.
        """
        run = self._study.run(cell)
        if cell not in self._parts:
            self._parts[cell] = await to_thread.run_sync(
                parts_of, RunDirectory(run.path), run.config, run.domain, run.length
            )
        parts = list[Part]()
        for part in self._parts[cell]:
            config = changed(part.config, Change())
            base: Any = part.domain
            seed = run.config.simulation.seed
            if draw is not None:
                seed = seed_of_draws(seed, draw)
            parts.append(Part(part.until, config, base.anew(seed) if isinstance(base, HasFutures) else None))
        tracks = _Tracks([track_of(run, place) for place in self._measures.values()])
        record = Departed(run.length, None, Change(), tracks, run.record.shapes)

        def oracle_of(_: Part, domain: Domain) -> Oracle[Any]:
            return make(domain, self._study.features(cell, domain))

        simulation = await run_parts(parts, record, lambda _: None, lambda _: None, tracks.add_round, oracle_of)
        self.futures += 1
        if simulation is None:
            raise ValueError("a run without ticks has no future")
        return {name: track.value(simulation) for name, track in zip(self._measures, tracks.each, strict=True)}
