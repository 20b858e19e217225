"""Whole runs with every term that is off by default: checkpoints, a kill, resume, replay, verify, forks, the file."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.world import SocialWorld
from tests.command import Prism
from tests.plain import plain
from tests.social.driver import assert_goes_on

HOURS = [2, 1, 1, 1, 1, 2, 4, 6, 7, 7, 7, 7, 8, 7, 6, 6, 7, 8, 9, 10, 10, 9, 6, 4]
STUDY: dict[str, Any] = plain(
    {
        "simulation": {
            "rounds": 4,
            "ticks_per_round": 16,
            "seed": 4,
            "epoch": "2026-01-05T08:30:00+01:00",
            "tick_seconds": 120,
        },
        "population": {
            "size": 40,
            "ambiguity": 0.8,
            "posts_per_session": 0.4,
            "posts_by_followers": 1.5,
            "quality_sigma": 1.0,
            "relevance": {"appeal": 0.8, "exposure": 0.1},
            "activity": {"mean": 0.8, "sigma": 0.2, "hours": HOURS},
            "dwell": {"look_median_s": 60, "look_sigma": 0.8, "write_median_s": 150, "write_sigma": 0.5},
            "graph": {"degree": 6},
        },
        "feed": {"fill": "borrow", "exposure": "complex", "reshare_credit": "newest"},
        "oracle": {"choice": {"quality": 0.5, "exposure": 0.3}},
        "run": {"checkpoint_every_ticks": 10},
    }
)


def study(directory: Path, **differences: Any) -> Path:
    path = directory / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **differences}))
    return path


def simulation(**differences: Any) -> Simulation:
    config = Config(**{**STUDY, **differences})
    return Simulation(config, SocialDomain(config, build_population(config.population, config.simulation.seed)))


@pytest.mark.slow
@pytest.mark.parametrize("exposure", ["simple", "complex"])
def test_a_run_from_a_checkpoint_is_the_whole_run_and_every_term_counts_in_it(exposure: str) -> None:
    changed: dict[str, Any] = {"feed": {"exposure": exposure, "reshare_credit": "newest"}}
    if exposure != "complex":
        changed |= {"oracle": {}, "population": {**STUDY["population"], "relevance": {}}}
    whole = assert_goes_on(lambda: simulation(**changed), 4)
    world = whole.domain.world
    assert isinstance(world, SocialWorld)
    network = world.network
    t, living = network.state.t, network.cascades.length
    assert (t.cascades["quality"][:living] != 1.0).any()
    assert t.people["engaged_count"].any()
    shown = [network.state.ring("exposed").of(agent) for agent in range(network.population.size)]
    assert any(len(cascades) > len({*cascades}) for cascades in shown), "somebody has been shown a cascade twice"


def test_a_cap_that_binds_is_in_the_log_and_in_a_validation_that_builds(prism: Prism, tmp_path: Path) -> None:
    path = study(tmp_path, population={**STUDY["population"], "posts_per_session": 2, "posts_by_followers": 4})
    built = prism("validate", str(path)).out
    capped = ("population.activity.hours: ", "population.posts_per_session: ")
    told = [line for line in built.splitlines() if line.startswith(capped)]
    assert len(told) == 2
    run, ended = tmp_path / "run", prism("run", str(path), "--quiet", "--out", str(tmp_path / "run"))
    assert (ended.code, ended.err) == (0, "")
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [line["note"] for line in log if line["event"] == "probability_capped"] == told
