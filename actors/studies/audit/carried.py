"""Shifted choices carried to the outcome: the runs of a study in full, with the answers of a small model of choices.

The same run is done twice under the same draws: with choices as they were recorded, and with shifted ones. What differs
is the effect of the shift alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from anyio import to_thread
from msgspec.structs import replace

from actors.explain.futures import Change, Departed, RunParts, Track, seed_of_draws
from actors.runs.replay import Part, run_parts
from actors.runtime.simulation import Simulation
from actors.studies.audit.questions import Features, Runs, Study
from actors.studies.causes.search import Processes
from actors.studies.causes.track import track_of
from actors.studies.experiments.run_measures import measured
from prism.audit.choices import ChoiceModel, Recorded, fitted, tilted
from prism.audit.record import Claim, carried
from prism.columns import Floats, Ints
from prism.domain import Domain
from prism.statechart import Judgement, Oracle

TOLD: Final = 8  # messages on how many futures are done

MakeOracle = Callable[[Domain, Features], Oracle[Any]]  # another process may call it


class ModelledChoices(Oracle[Any]):
    """An oracle that draws the options from a small model of choices, with the embedded oracle's random numbers."""

    waits = False
    judges = True

    def __init__(self, model: ChoiceModel, domain: Domain, features: Features) -> None:
        self._model, self._embedded, self._features = model, domain.oracle(), features

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


class _Tracks(Track):
    def __init__(self, tracks: Sequence[Track]) -> None:
        self.each = tracks

    def add_tick(self, tick: int, frame: bytes) -> None:
        for each in self.each:
            each.add_tick(tick, frame)

    def add_round(self, simulation: Simulation) -> None:
        for each in self.each:
            each.add_round(simulation)


class Future(NamedTuple):
    cell: int
    draw: int | None  # the number of other draws; None for those of the run
    make: MakeOracle


class Outcomes:
    """The measures of a study's runs in other futures, as `{name: where the value is found}`."""

    def __init__(self, runs: Runs, measures: Mapping[str, str]) -> None:
        self._runs, self._measures = runs, measures
        self._parts: dict[int, RunParts] = {}

    async def of(self, future: Future) -> dict[str, float]:
        cell, draw, make = future
        run = self._runs.run(cell)
        if cell not in self._parts:
            self._parts[cell] = await to_thread.run_sync(RunParts, run)
        draws = None if draw is None else seed_of_draws(run.config.simulation.seed, draw)
        parts = self._parts[cell].between(0, run.length, Change(), draws)
        tracks = _Tracks([track_of(run, place) for place in self._measures.values()])
        record = Departed(run.length, None, Change(), tracks, run.record.shapes, 0)

        def oracle_of(_: Part, domain: Domain) -> Oracle[Any]:
            return make(domain, self._runs.features(cell, domain))

        simulation = await run_parts(parts, record, lambda _: None, lambda _: None, tracks.add_round, oracle_of)
        return {name: track.value(simulation) for name, track in zip(self._measures, tracks.each, strict=True)}

    async def each(
        self, futures: Sequence[Future], on_done: Callable[[dict[str, float]], None] = lambda _: None
    ) -> list[dict[str, float]]:
        found = []
        for number, future in enumerate(futures):
            if not number:
                await to_thread.run_sync(self._runs.run(future.cell).prepare, len(futures))
            found.append(await self.of(future))
            on_done(found[-1])
        return found


class Carrying(NamedTuple):
    """Claims of a study that are carried to its outcome under shifted choices.

    Args:
        measures: `{name: where the value is found}`.
        replicates: `{condition: (run, draw)}` of each seed of an experiment, or of each draw of one run.
        values: `{(condition, seed): {measure: value}}` as an experiment has them; empty for a run.
        draws: the resamples of the people.
    """

    study: Study
    claims: Sequence[Claim]
    measures: Mapping[str, str]
    replicates: Sequence[Mapping[str, tuple[int, int | None]]]
    values: Mapping[tuple[str, int], Mapping[str, float]]
    draws: int
    jobs: int
    on_progress: Callable[[str], None]

    async def carried(
        self,
        recorded: Recorded,
        model: ChoiceModel,
        shifts: Sequence[tuple[str, tuple[Ints, Floats]]],
        seed: int,
    ) -> tuple[list[Claim], int]:
        """Return the claims with the verdict on each, and how many futures were run.

        Args:
            shifts: (what differs from the run, (questions, differences)) of each way of asking.
            seed: of the resamples.
        """
        if not self.claims or not self.replicates:
            return [*self.claims], 0
        everywhere, random = range(len(self.replicates)), np.random.default_rng(seed)
        # 1. All futures, as (number of the replicate, its oracle), in the order in which they are read below.
        futures: list[tuple[int, MakeOracle]] = [(place, partial(ModelledChoices, model)) for place in everywhere]
        people = np.unique(self.study.people(range(len(recorded.chosen))), return_inverse=True)[1]
        count = int(people.max()) + 1
        resamples = []
        for number in range(self.draws):  # resamples of the people
            times = np.bincount(random.integers(count, size=count), minlength=count)
            resample = recorded._replace(weights=times[people].astype(np.float64))
            resamples.append((number % len(self.replicates), resample, fitted(resample)))
        futures += [(place, partial(ModelledChoices, own)) for place, _, own in resamples]
        for _, shift in shifts:
            shifted = tilted(model, recorded, *shift)
            futures += [(place, partial(ModelledChoices, shifted)) for place in everywhere]
            anew = [(place, tilted(own, resample, *shift)) for place, resample, own in resamples]
            futures += [(place, partial(ModelledChoices, each)) for place, each in anew]
        # 2. Their outcomes.
        values, ran = await self._outcomes(futures)
        found = iter(values)
        claims = list(self.claims)
        if self.values:
            own_values = [
                {name: self.values.get((name, self.study.cells[cell].seed), {}) for name, (cell, _) in each.items()}
                for each in self.replicates
            ]
        else:
            names = {each.measure: each.measure for each in claims}
            own_values = [{"": await to_thread.run_sync(measured, self.study.run(0).path, names, {})}] * len(everywhere)
            claims = [replace(each, effect=_effect(each, own_values[0])) for each in claims]
        # 3. The change under each way of asking: at each seed, and at the same seed in each resample.
        base, before = [next(found) for _ in everywhere], [next(found) for _ in resamples]
        for what, _ in shifts:
            at, now = [next(found) for _ in everywhere], [next(found) for _ in resamples]
            for number, each in enumerate(claims):
                moved = [
                    _effect(each, after)
                    - _effect(each, plainly)
                    - (_effect(each, at[place]) - _effect(each, base[place]))
                    for (place, *_), plainly, after in zip(resamples, before, now, strict=True)
                ]
                at_seeds = effects_at_seeds(each, own_values, base, at)
                under = carried(each, what, at_seeds, moved, len(shifts))
                claims[number] = replace(each, carried=(*each.carried, under))
        return claims, ran

    async def _outcomes(self, futures: Sequence[tuple[int, MakeOracle]]) -> tuple[list[dict[str, Any]], int]:
        """Return `{condition: {measure: value}}` of each future, for the conditions that claims are about."""
        wanted = {name for each in self.claims for name in each.contrast or ("",)}
        named = [
            (number, name, Future(*where, make))
            for number, (place, make) in enumerate(futures)
            for name, where in self.replicates[place].items()
            if name in wanted
        ]
        done, total = 0, len(named)

        def note(_: object) -> None:
            nonlocal done
            done += 1
            if done * TOLD // total > (done - 1) * TOLD // total:
                self.on_progress(f"carried to the outcome: {done:,} of {total:,} futures")

        every = [each for *_, each in named]
        if self.jobs == 1:
            values = await Outcomes(self.study, self.measures).each(every, note)
        else:
            own = Runs(self.study.cells, self.study.words)  # without runs that are open here
            with Processes(self.jobs, partial(Outcomes, own, self.measures)) as place:
                values = await place.done(Outcomes.each, every, lambda each: each.cell, note)
        found: list[dict[str, Any]] = [{} for _ in futures]
        for (number, name, _), value in zip(named, values, strict=True):
            found[number][name] = value
        return found, total


def _effect(claim: Claim, values: Mapping[str, Mapping[str, float]]) -> float:
    if not claim.contrast:
        return values[""][claim.measure]
    first, second = (values[name][claim.measure] for name in claim.contrast)
    return first - second


def effects_at_seeds(
    claim: Claim,
    recorded: Sequence[Mapping[str, Mapping[str, float]]],
    base: Sequence[Mapping[str, Mapping[str, float]]],
    at: Sequence[Mapping[str, Mapping[str, float]]],
) -> list[float]:
    """Return the effect of a claim at each seed that is carried; without a shift their mean is that of the study.

    Args:
        recorded, base, at: `{condition: {measure: value}}` at each seed: of the study, of its choices by the model of
            them, and of shifted ones.
    """
    own = [_effect(claim, was) for was in recorded]
    rest = claim.effect - float(np.mean(own))  # of the seeds that are not carried
    return [
        was + rest + _effect(claim, now) - _effect(claim, before)
        for was, before, now in zip(own, base, at, strict=True)
    ]
