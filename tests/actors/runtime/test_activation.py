"""One configuration and one seed are one journal, in whatever way turns are taken and in whatever order tasks run."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors import read_config, resume, run
from actors.runtime.activation import MANY, way_of
from actors.store.journal import JOURNAL
from prism.config import Config, RunConfig
from tests.actors.social_runs import (
    SMALL,
    digest_of,
    with_deliberation,
)
from tests.actors.traffic_lights import CrossingRun, config, with_faulty_action
from tests.catalogue import catalogue
from tests.domains import TrafficDomain
from tests.paths import ROOT, real_path
from tests.schedules import run_scheduled
from tests.tiers import Size

pytestmark = pytest.mark.usefixtures("logged")

HIGGS = "snap-higgs-follow-sample.txt.gz"
"""A part of the graph of higgs.yaml."""

SHIPPED = {
    "default.yaml": "simulation.rounds=2 population.size=300",
    "friends.yaml": "simulation.rounds=2 population.size=300",
    "stress.yaml": "simulation.ticks=12 population.size=3000",
    "soak.yaml": "simulation.ticks=30 population.size=2000 run.tick_s=0 metrics.enabled=false oracle.backend=choice",
    "cascades.yaml": "simulation.rounds=1 population.size=2000",
    "ollama.yaml": "simulation.rounds=1 oracle.backend=choice oracle.tape=off",
    "economy.yaml": "simulation.ticks=12",
    "higgs.yaml": "simulation.ticks=4 population.activity.mean=0.05",
    "opinions.yaml": "simulation.rounds=2 simulation.ticks_per_round=24 population.graph.degree=20 feed.size=20",
    "contagion.yaml": "simulation.rounds=10",
    "partisans.yaml": "simulation.rounds=3 population.size=150",
    "partisans-read.yaml": "simulation.rounds=3 oracle.backend=choice",
    "headlines.yaml": "simulation.rounds=3 population.size=150",
    "million.yaml": "simulation.rounds=1 population.size=3000",
}
"""The shipped configurations, and what makes a short run without a server of each."""


def at_once(settings: Config) -> Config:
    """Return the configuration with turns at once; of the crossing of lights, one by one."""
    return msgspec.structs.replace(settings, run=msgspec.structs.replace(settings.run, activation="compiled"))


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_configuration_has_one_digest_in_every_way(name: str) -> None:
    given = [f"population.graph.path={real_path(HIGGS)}"] if name == "higgs.yaml" else []
    chosen = read_config(ROOT / "configs" / name, [*SHIPPED[name].split(), *given])
    first = run(chosen)
    assert first.summary.activations > 100
    other = run(at_once(chosen))
    assert (other.digest, other.summary.world) == (first.digest, first.summary.world)
    assert other.summary.transitions == first.summary.transitions


def stories(settings: Config, domain: Callable[[], TrafficDomain], schedule: int) -> tuple[object, ...]:
    """Return what came of each light, with the record of crashes and the digest."""

    async def done() -> CrossingRun:
        return await CrossingRun(settings, domain()).run()

    crossing = run_scheduled(schedule, done)
    state = crossing.simulation.supervisor.state()
    return crossing.digest, state, [crossing.story(light) for light in range(crossing.domain.size)]


@catalogue("intensity", [0, 3, 100])
def test_crashes_restarts_and_quarantines_are_the_same(intensity: int, size: Size) -> None:
    def domain() -> TrafficDomain:
        return with_faulty_action(lambda light: (light.agent_id + light.tick) % 3 == 0, size=8)

    settings = config(ticks=30, restart_intensity=intensity, restart_period_ticks=10)
    reference = stories(settings, domain, 0)
    for seed in range(size(12, everyday=2)):
        assert stories(at_once(settings), domain, seed) == reference


def test_a_run_is_resumed_in_another_way(tmp_path: Path) -> None:
    run(SMALL, out=tmp_path / "whole")
    begun = msgspec.structs.replace(SMALL, run=RunConfig(activation="resident"))
    run(begun, out=tmp_path / "run", ticks=9)
    config_file, ways = tmp_path / "run" / "config.yaml", ("resident", "compiled", "resident")
    for (first, other), ticks in zip(pairwise(ways), (20, SMALL.simulation.length), strict=True):
        config_file.write_text(config_file.read_text().replace(f"activation: {first}", f"activation: {other}"))
        resume(tmp_path / "run", ticks=ticks)
    assert (tmp_path / "run" / JOURNAL).read_bytes() == (tmp_path / "whole" / JOURNAL).read_bytes()


@catalogue(
    ("chosen", "agents", "expected"),
    [
        ("resident", MANY, "resident"),
        ("compiled", 1, "one_by_one"),
        ("auto", MANY - 1, "resident"),
        ("auto", MANY, "one_by_one"),
    ],
)
def test_auto_chooses_by_the_number_of_agents_and_turns_at_once_need_a_domain_that_has_them(
    chosen: Any, agents: int, expected: str
) -> None:
    assert way_of(RunConfig(activation=chosen), TrafficDomain(agents)) == expected


@pytest.mark.parametrize(("lookahead", "full", "everyday"), [(4, 120, 4), (0, 15, 2), (1, 15, 2)])
def test_every_schedule_gives_the_same_digest(lookahead: int, full: int, everyday: int, size: Size) -> None:
    config, schedules = with_deliberation(lookahead), size(full, everyday=everyday)
    assert {digest_of(config, schedule=seed) for seed in range(schedules)} == {digest_of(config)}


ACTORS = ROOT / "actors"
NAMES = re.compile(r"social|econom|\bnations?\b", re.IGNORECASE)

ROOMS_OF_ANY_DOMAIN = ("core", "oracle", "runtime", "store", "metrics", "logs", "http")
ROOMS_OF_RESULTS = ("results", "pages", "view")
"""Rooms that say what took place in a run. They draw posts and quarters where the show of a domain has them."""
ASKED = re.compile(r"""["'](social|economy)["']""")
"""The name of a domain as a value: to compare with, or to look up."""


def test_the_rooms_that_run_name_no_domain() -> None:
    files = [path for room in ROOMS_OF_ANY_DOMAIN for path in (ACTORS / room).rglob("*.py")]
    assert len(files) > 20
    assert [path.name for path in files if NAMES.search(path.read_text(encoding="utf-8"))] == []


def test_who_says_what_took_place_asks_no_domain_for_its_name() -> None:
    files = [
        path for room in ROOMS_OF_RESULTS for path in (ACTORS / room).rglob("*.*") if path.suffix in (".py", ".js")
    ]
    assert len(files) > 15
    assert [path.name for path in files if ASKED.search(path.read_text(encoding="utf-8"))] == []
