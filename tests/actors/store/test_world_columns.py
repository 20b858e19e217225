"""A world and its actors put down between any two ticks and taken up again go on as if nothing had happened."""

from itertools import chain
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.core.errors import JournalError
from actors.core.frames import ORIGIN
from actors.core.state import RunState
from actors.runs.replay import restore
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint, Position
from prism.columns import Bundles, Columns, pack
from prism.config import Config
from prism.social.chart import SOCIAL_CHART
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Statechart
from tests.actors.oracles import SlowOracle
from tests.actors.social_runs import SMALL, simulation, with_deliberation, with_run, with_simulation
from tests.actors.traffic_lights import FaultError
from tests.catalogue import catalogue
from tests.schedules import run_scheduled
from tests.tiers import size

TICKS = SMALL.simulation.length
EVENTFUL = with_run(SMALL, restart_intensity=1, restart_period_ticks=20)
"""Whoever crashes twice within twenty ticks is out for good."""


class Taken(NamedTuple):
    """What there is between two ticks: the digest, what the actors hold, and the world's columns."""

    digest: str
    state: RunState
    columns: Bundles


class RunPart:
    """A simulation from where it is put down to its end, and what there was after each of its ticks.

    `schedule`: of its tasks, and of how long the oracle takes, at most `longest_s` in virtual time, where a tick takes
    a second. `crashes`: every so many people crash when they see a post; 0 for none.
    """

    def __init__(
        self, config: Config, schedule: int, *, crashes: int = 0, longest_s: float = 0.0, start: Taken | None = None
    ) -> None:
        config = with_run(config, tick_s=1) if longest_s else config
        domain = SocialDomain(
            config, build_population(config.population, config.simulation.seed), chart_with_crashes(crashes)
        )
        oracle = SlowOracle(domain.oracle(), schedule, longest_s) if longest_s else None
        self.simulation = Simulation(config, domain, oracle)
        if start is not None:
            columns = Columns(start.columns)
            self.simulation.restore(start.state, columns)
            assert columns.unread == []
        self.taken: dict[int, Taken] = {}
        run_scheduled(schedule, self._run)

    async def _run(self) -> None:
        await self._take()
        await self.simulation.run(between=self._take)

    async def _take(self) -> None:
        engine = self.simulation.engine
        self.taken[engine.tick] = Taken(engine.digest.hexdigest(), *await self.simulation.checkpoint())


def chart_with_crashes(every: int) -> Statechart[Any]:
    """Return the social chart, with a fault for one person in `every`; 0 is none."""
    if not every:
        return SOCIAL_CHART

    def crash(agent: Any, _: Any) -> None:
        if agent.agent_id % every == 0:
            raise FaultError

    rows = [
        msgspec.structs.replace(row, action=crash) if row.trigger == "sees_post" else row
        for row in SOCIAL_CHART.transitions
    ]
    return Statechart(states=SOCIAL_CHART.states, initial=SOCIAL_CHART.initial, transitions=rows)


def assert_goes_on(whole: RunPart, resumed: RunPart, tick: int) -> None:
    """Check that a part resumed at this tick equals the rest of the whole run."""
    assert list(resumed.taken) == list(range(tick, TICKS + 1))
    for later, taken in resumed.taken.items():
        assert taken.digest == whole.taken[later].digest
        assert taken.columns == whole.taken[later].columns
        assert taken.state.counters == whole.taken[later].state.counters
        assert taken.state.supervisor == whole.taken[later].state.supervisor
        assert [due for due, _ in taken.state.engine.asked] == [due for due, _ in whole.taken[later].state.engine.asked]


def test_the_runs_have_everything_that_could_be_lost() -> None:
    whole = RunPart(with_deliberation(4, EVENTFUL), 0, crashes=9, longest_s=6.0)
    states = [taken.state for taken in whole.taken.values()]
    columns = chain.from_iterable(taken.columns for taken in whole.taken.values())
    names = {column.name for column in columns if len(column.data) > (not column.dtype)}
    assert {"sessions", "current", "pending", "waits", "barred", "timeline", "seen", "posts.author"} <= names
    assert any(state.engine.asked for state in states)
    assert any(state.engine.decided for state in states)
    assert states[-1].supervisor.quarantined
    assert states[-1].supervisor.crashes > 3


@pytest.mark.sized
@settings(max_examples=size()(15, everyday=4))
@given(
    seed=st.integers(0, 2**31),
    schedules=st.tuples(st.integers(0, 2**16), st.integers(0, 2**16)),
    tick=st.integers(0, TICKS),
    lookahead=st.sampled_from([0, 1, 4]),
    crashes=st.sampled_from([0, 7]),
    longest_s=st.sampled_from([0.0, 3.0, 9.0]),
)
def test_it_goes_on_in_any_run_from_any_tick_in_any_schedule(
    seed: int, schedules: tuple[int, int], tick: int, lookahead: int, crashes: int, longest_s: float
) -> None:
    config = with_simulation(with_deliberation(lookahead, EVENTFUL), seed=seed)
    before, after = schedules
    whole = RunPart(config, before, crashes=crashes, longest_s=longest_s)
    resumed = RunPart(config, after, crashes=crashes, longest_s=longest_s, start=whole.taken[tick])
    assert_goes_on(whole, resumed, tick)


@catalogue("change", ["missing", "unknown", "other values"])
def test_the_world_of_another_version_is_one_clear_line(change: str) -> None:
    state, columns = RunPart(SMALL, schedule=1).taken[TICKS][1:]
    kept = [column for column in columns if column.name != "shown"]
    changed = {
        "missing": kept,
        "unknown": [*columns, *pack("moods", [1, 2])],
        "other values": [*kept, *pack("shown", ["one", "two"])],
    }[change]
    position = Position(tick=TICKS, journal_bytes=0, link=ORIGIN, oldest_asked=0, answers_end=0)
    with pytest.raises(JournalError, match=r"00\d\d\.bin: holds the world of another version, which (can|has)"):
        restore(simulation(), Checkpoint(position=position, state=state, columns=Bundles.of(changed)))
