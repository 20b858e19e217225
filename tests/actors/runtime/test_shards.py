"""People in shards make the run that people in one process make: its digest, its counts and its checkpoints."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from actors.core.ports import Record
from actors.core.state import RunState
from actors.runtime.engine import EngineActor
from actors.runtime.shards import ShardedEngine
from actors.runtime.simulation import Simulation
from prism.columns import Bundles, Columns
from prism.config import Config
from prism.config.model import ActivityConfig, FeedConfig, GraphConfig, PopulationConfig, SimulationConfig
from prism.llm import LanguageModel
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.domain import SocialDomain
from prism.social.people.population import Population, build_population
from prism.statechart import Behaviour
from tests.actors.runtime.test_compiled import random_chart, random_settings
from tests.actors.shards_here import ShardsHere
from tests.catalogue import catalogue
from tests.social.test_joining import built
from tests.tiers import Size

pytestmark = pytest.mark.usefixtures("logged")

SHARDS = (1, 2, 3, 8)
Checkpoint = tuple[RunState, Bundles]


def settings_of(seed: int) -> dict[str, Any]:
    settings = random_settings(seed)
    if settings["feed"]["reshare_credit"] == "newest":
        settings["feed"]["reshare_credit"] = "root"
    return {**settings, "run": {"activation": "compiled"}, "llm": {"memory": 0}}


class World:
    """A world with this chart, of which any number of runs are made."""

    def __init__(self, config: Config, behaviour: Behaviour[Any], people: Population) -> None:
        self.config = config
        self._behaviour = behaviour
        self._people = people

    async def simulation(
        self,
        shards: int,
        checkpoint: Checkpoint | None = None,
        model: LanguageModel | None = None,
        record: Record | None = None,
    ) -> Simulation:
        """Return a run in so many shards, or, with 0, in one process; from a checkpoint, if there is one."""
        run = msgspec.structs.replace(self.config.run, shards=max(1, shards))
        config = msgspec.structs.replace(self.config, run=run)
        domain = SocialDomain(config, self._people, self._behaviour)
        sharded = partial(ShardedEngine, shards=ShardsHere(config, domain), domain=domain)
        engine = sharded if shards else EngineActor
        simulation = Simulation(config, domain, domain.oracle(model), record, engine=engine)
        if checkpoint is not None:
            simulation.restore(checkpoint[0], Columns(simulation.engine.own_part(checkpoint[1])))
            await simulation.engine.scatter(*checkpoint)
        return simulation


def random_world(seed: int) -> World:
    config = msgspec.convert(settings_of(seed), Config)
    return World(config, random_chart(seed), build_population(config.population, config.simulation.seed))


async def outcome(simulation: Simulation) -> tuple[object, ...]:
    """Run to the end; return the digest, the totals, and all that a checkpoint has."""
    await simulation.run()
    state, columns = await simulation.checkpoint()
    totals = simulation.domain.world.totals()
    return simulation.engine.digest.hexdigest(), totals, columns, state


def run_in(world: World, shards: int) -> tuple[object, ...]:
    async def run() -> tuple[object, ...]:
        return await outcome(await world.simulation(shards))

    return anyio.run(run)


def test_any_number_of_shards_makes_the_run_of_one_process(size: Size, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(size(80, everyday=2)):
        monkeypatch.setattr("prism.columns.AGENTS_A_BLOCK", (7, 2048)[seed % 2])
        world = random_world(seed // 2)
        whole = run_in(world, 0)
        for shards in SHARDS[seed % 2 :: 2]:
            assert run_in(world, shards) == whole, (seed, shards)


def test_people_publish_their_own_posts_in_every_way() -> None:
    rows = "".join(f"\nNote {number},{('ada', 'bo', 'cy')[number % 3]}" for number in range(30))
    people = built(posts=f"text,author{rows}", activity=ActivityConfig(mean=0.9))
    config = Config(
        simulation=SimulationConfig(rounds=5, ticks_per_round=12, seed=1),
        population=PopulationConfig(
            posts_per_session=0.9, activity=ActivityConfig(mean=0.9), graph=GraphConfig(path="x")
        ),
        feed=FeedConfig(horizon_rounds=5),  # all posts stay in view
    )
    world = World(config, SOCIAL_BEHAVIOUR, people)

    async def run(config: Config, shards: int) -> Simulation:
        world.config = config
        made = await world.simulation(shards)
        await made.run()
        return made

    resident = anyio.run(run, config, 0)
    compiled = replace(config, run=replace(config.run, activation="compiled"))
    others = [anyio.run(run, compiled, shards) for shards in (0, 3)]
    assert {each.engine.digest.hexdigest() for each in others} == {resident.engine.digest.hexdigest()}
    network: Any = resident.domain.world.network  # type: ignore[attr-defined]
    given = [(post.author, post.given) for post in network.living if post.kind == "original" and post.given]
    assert len(given) > 5
    assert all(people.owners[number - 1] == author for author, number in given)
    # Those who have no post of their own write sentences.
    assert {post.author for post in network.living if post.kind == "original" and not post.given} == {
        people.number("di")
    }


async def goes_on(
    world: World,
    before: int,
    after: int,
    take: Callable[[Simulation], bool],
    make: Callable[[int], LanguageModel | None],
) -> None:
    """Check that a run which goes on from a checkpoint in another number of shards is that of one process.

    `take`: whether the checkpoint is taken now; `make`: makes the model of the first, the second and the whole run.
    """
    first, taken = await world.simulation(before, model=make(1)), list[Checkpoint]()

    async def between() -> None:
        if not taken and take(first):
            taken.append(await first.checkpoint())

    await first.run(between=between)
    resumed = await world.simulation(after, taken[0], make(2))
    await resumed.run()
    whole = await world.simulation(0, model=make(3))
    await whole.run()
    one, two, three = (each.engine.digest.hexdigest() for each in (first, resumed, whole))
    assert one == two == three


@catalogue(("before", "after"), [(2, 3), (3, 0), (0, 2), (8, 1)])
def test_a_run_goes_on_from_a_checkpoint_in_another_number_of_shards(
    before: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prism.columns.AGENTS_A_BLOCK", 7)
    anyio.run(goes_on, random_world(3), before, after, lambda run: run.tick == 20, lambda _: None)


async def stops(world: World, at: int, make: Callable[[int], LanguageModel | None]) -> None:
    """Check that a run which is told to stop ends with the tick that its shards have begun, and goes on later."""
    stopped = await world.simulation(2, model=make(1))
    await stopped.run(lambda tick: stopped.stop() if tick == at else None, every=50)
    assert at <= stopped.tick <= at + 1
    resumed = await world.simulation(3, await stopped.checkpoint(), make(2))
    await resumed.run()
    whole = await world.simulation(0, model=make(3))
    await whole.run()
    assert resumed.engine.digest.hexdigest() == whole.engine.digest.hexdigest()


def test_a_run_that_is_told_to_stop_ends_with_the_tick_that_its_shards_have_begun() -> None:
    anyio.run(stops, random_world(3), 7, lambda _: None)
