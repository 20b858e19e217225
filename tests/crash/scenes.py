"""Two small runs on a simulated disk: one whose oracle computes its answers, and one whose oracle never repeats one."""

import errno
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import anyio
from msgspec.structs import replace

from actors.core.errors import first_error
from actors.core.kinds import shapes_of
from actors.core.ports import Observer
from actors.runs.compatibility import manifest_of
from actors.runs.directory import RunDirectory
from actors.runs.execute import Run, run_recorded
from actors.runs.replay import AbsentOracle, Replay
from actors.runtime.simulation import Simulation
from actors.store.journal import JOURNAL, create_journal, header_of
from actors.store.oracle_log import create_answers
from actors.store.recovery import recover
from prism.config import Config, SimulationConfig
from prism.errors import PrismError
from prism.rng import Draw, pick, uniform
from prism.social.domain import SocialDomain
from prism.social.people.population import Population, build_population
from prism.statechart import Judgement, Oracle
from tests.actors.oracles import SlowJudge
from tests.crash.disk import CrashedError, SimulatedDisk
from tests.plain import plain_config
from tests.schedules import run_scheduled

Name = tuple[int, int, str]  # a question: `(agent, tick, trigger)`

LONGEST_S = 6.0
"""The longest time of an answer. A tick takes one virtual second, so some answers take longer than the lookahead."""

CONFIG = plain_config(
    simulation={"seed": 11, "rounds": 3, "ticks_per_round": 7},
    population={"size": 12, "posts_per_session": 0.5, "ambiguity": 1.0, "activity": {"mean": 0.9, "sigma": 0.2}},
    oracle={"deadline_s": 1e6},
    run={"checkpoint_every_ticks": 7, "tick_s": 1.0},
)
"""Twelve people for twenty-one ticks with a checkpoint every seven. A tick takes a virtual second, so the disk gets
time."""

MADE_OF = manifest_of(CONFIG, {})


class FickleOracle(Oracle[Any]):
    """An oracle that draws its answers from its process's seed, after random times; `asked` holds its questions."""

    judges = True

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.asked: list[Name] = []

    async def ask(
        self, agent: Any, current_state: Any, trigger: str, options: Sequence[Any], context: Any = None
    ) -> Any:
        self.asked.append((agent.agent_id, agent.tick, trigger))
        await anyio.sleep(LONGEST_S * self._random.random())
        return self._random.choice(options)

    async def judge(
        self,
        agent: Any,
        current_state: Any,
        trigger: str,
        options: Sequence[Any],
        context: Any = None,
        samples: int = 1,
    ) -> Judgement:
        await self.ask(agent, current_state, trigger, options, context)
        weights = [self._random.random() for _ in options]
        return Judgement(tuple(weight / sum(weights) for weight in weights))

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        return pick(probabilities, uniform(3, agent, tick, Draw.CHOICE))


class Scene:
    """A run that can be begun, ended by a crash, and resumed.

    `is_live`: whether a fickle oracle answers, instead of the embedded one. `fails`: the share of questions that get no
    judgement; the others get theirs after a while.
    """

    def __init__(self, *, is_live: bool, config: Config = CONFIG, fails: float = 0.0) -> None:
        self.is_live = is_live
        self.config = config
        self._fails = fails

    def run(
        self,
        disk: SimulatedDisk,
        *,
        process: int = 0,
        oracle: Oracle[Any] | None = None,
        observer: Observer | None = None,
    ) -> None:
        """Begin the run or resume it, and run it to its end, as `prism run` and `prism resume` do.

        `process`: the seed of the schedule, of the disk's delays and of the fickle oracle's answers. If the disk has
        crashed, it is a CrashedError, and if the run has failed, a PrismError.
        """
        # Agents of every other process have no task.
        config = changed(self.config, "run", activation=("resident", "compiled")[process % 2])
        domain = SocialDomain(config, self._population)
        oracle = self._oracle(domain, process) if oracle is None else oracle
        directory = RunDirectory(Path("simulated"))
        if JOURNAL not in disk.visible_names():
            self._create(disk, directory, domain)
        recovered = recover(disk)
        run = Run(
            directory=directory,
            config=config,
            manifest=MADE_OF,
            domain=domain,
            recorded=recovered.recorded,
            digest=recovered.digest,
            checkpoint=recovered.checkpoint,
        )

        async def go_on() -> None:
            await run_recorded(run, oracle, disk, undisturbed, observer=observer, execute=with_delays(process))

        try:
            run_to_the_end(go_on, process)
        except BaseException:
            if disk.is_dead:
                raise CrashedError from None
            raise

    def _oracle(self, domain: SocialDomain, process: int) -> Oracle[Any]:
        oracle = FickleOracle(process) if self.is_live else domain.oracle()
        return SlowJudge(oracle, process, self._fails, LONGEST_S) if self._fails else oracle

    def _create(self, disk: SimulatedDisk, directory: RunDirectory, domain: SocialDomain) -> None:
        with directory.writing():
            create_answers(disk)
            create_journal(disk, header_of(self.config, {}, domain.size, "simulated", shapes_of(domain)))

    def replay(self, disk: SimulatedDisk) -> None:
        """Run again as `prism replay` does, and compare. It raises a PrismError if the result is different."""
        recorded = recover(disk, repair=False, before=0).recorded
        absent = AbsentOracle(may_be_late=self.is_real_time)
        simulation = Simulation(self.config, SocialDomain(self.config, self._population), absent, Replay(recorded))
        run_to_the_end(simulation.run)

    @cached_property
    def _population(self) -> Population:
        return build_population(self.config.population, self.config.simulation.seed)

    @property
    def is_real_time(self) -> bool:
        """True if the clock does not wait for answers."""
        return self.config.oracle.mode == "realtime"

    @cached_property
    def whole(self) -> SimulatedDisk:
        return self._after(0)

    @cached_property
    def changes(self) -> tuple[int, int]:
        """The number of operations that change something on a fast disk, and on a slow one."""
        return self.whole.changes, self._after(1).changes

    def _after(self, process: int) -> SimulatedDisk:
        disk = SimulatedDisk()
        self.run(disk, process=process)
        return disk


def changed(config: Config, section: str, **settings: Any) -> Config:
    return replace(config, **{section: replace(getattr(config, section), **settings)})


def with_sharing(config: Config, **settings: Any) -> Config:
    return changed(config, "oracle", sharing=replace(config.oracle.sharing, **settings))


def with_deliberation(ticks: int) -> Config:
    """Return the configuration in which people deliberate for so many ticks, each of a minute."""
    return changed(CONFIG, "population", deliberation_minutes=float(ticks))


EMBEDDED = Scene(is_live=False)
LIVE = Scene(
    is_live=True,
    config=replace(
        changed(CONFIG, "run", segment_mb=0.0015),
        interventions=[
            {"tick": 2, "publish": {"author": 1, "text": "Breaking: a bridge", "topics": ["food"], "quality": 0.9}},
            {"tick": 4, "set": {"feed.algorithm": "chronological", "population.posts_per_session": 0.9}},
            {"tick": 6, "follow": [[3, 4], [5, 4]]},
            {"tick": 7, "unfollow": [[3, 4]]},  # at a checkpoint
            {"tick": 9, "silence": [6, 7], "until_round": 3},
            {"tick": 13, "silence": [8]},
        ],
    ),
)
"""Some ticks are in each sealed segment, and interventions come before, at and between the checkpoints."""
_SHARING = with_sharing(CONFIG, by="archetype", archetype={"followed": "exact"}, audit=0.4)
SHARED = Scene(is_live=False, config=replace(_SHARING, simulation=SimulationConfig(seed=11, ticks=40)))
"""The embedded scene, longer, in which few archetypes share the judgements."""
SHARED_LIVE = Scene(is_live=True, config=SHARED.config)
FAILING = Scene(
    is_live=False,
    config=with_sharing(
        replace(
            changed(changed(_SHARING, "population", size=150), "oracle", max_attempts=1, max_fallback_share=None),
            simulation=SimulationConfig(seed=11, ticks=60),
        ),
        archetype={"followed": "exact", "topic_match": "2 bins", "likes": "log2", "personality": "exact"},
        audit=0.2,
    ),
    fails=0.5,
)
"""The same with more people and archetypes, half of whose questions get no judgement, and all others late."""
REAL_TIME = Scene(is_live=True, config=changed(CONFIG, "oracle", mode="realtime"))


def run_to_the_end(async_fn: Callable[[], Awaitable[None]], schedule: int = 0) -> None:
    """Run in one schedule. Of a group of errors, raise the one that the command line would show."""
    # What they keep is small, and a checkpoint is to be written in some pieces, as a large one is.
    with patch("prism.columns.BUNDLE_BYTES", 1):
        try:
            run_scheduled(schedule, async_fn)
        except BaseExceptionGroup as group:
            if (error := first_error(group, PrismError)) is not None:
                raise error from None
            raise


async def undisturbed(
    simulation: Simulation, on_tick: Callable[[int], None], between: Callable[[], Awaitable[None]], every: int
) -> None:
    await simulation.run(on_tick, between, every)


def with_delays(seed: int) -> Callable[[Callable[[], None]], Awaitable[None]]:
    """Return a function that runs a blocking call: at once if the seed is even, else within up to four virtual seconds.

    A machine that stops leaves no task, but tasks in a test have to end. So they get a disk that no longer writes
    anything, and unwind.
    """
    random = Random(seed)

    async def execute(function: Callable[[], None]) -> None:
        if seed % 2:
            await anyio.sleep(3.0 * random.random())
        try:
            function()
        except CrashedError:
            raise OSError(errno.EIO, "the machine has stopped") from None
        if seed % 2:
            await anyio.sleep(random.random())

    return execute
