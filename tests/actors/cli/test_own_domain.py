"""A domain of one's own on the command line: its files, and everything that goes on from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.runs.directory import MANIFEST
from tests.command import Ended, Prism
from tests.own_domains import CROSSING, Study, path_restored, write_study

pytestmark = pytest.mark.long

OTHER = (
    CROSSING.replace("return TrafficDomain(", "return Late(")
    + """
from tests.domains import TrafficLight


class LateLight(TrafficLight):
    def effect(self) -> int:
        return self.tick + 1


class Late(TrafficDomain):
    def agent(self, agent_id: int) -> LateLight:
        return LateLight(agent_id, self.world.lights[agent_id])
"""
)
"""The crossing, with another effect in each tick."""

CHANGED = "the domain's own code has changed (sha256 "


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let a task read files here: nothing else is under way that it could hold up."""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path / "study")


@pytest.fixture
def own(prism: Prism) -> Prism:
    """Return `prism`, where each command imports the domain anew, as a process of its own does."""

    def run(*arguments: str) -> Ended:
        with path_restored():
            return prism(*arguments)

    return run


@pytest.fixture
def begun(own: Prism, study: Study) -> Study:
    """Return a study with a run of 15 of its 30 ticks in `run`."""
    ended = own("run", str(study.config), "-q", "--out", "run", "--ticks", "15")
    assert ended.code == 0, ended.err
    return study


def good(ended: Ended) -> str:
    assert ended.code == 0, ended.err
    return ended.out


def test_a_run_is_resumed_replayed_verified_and_forked_from_anywhere(begun: Study, own: Prism) -> None:
    whole = good(own("run", str(begun.config), "-q", "--out", "whole"))
    assert good(own("resume", "run", "-q", "--ticks", "30")) == whole
    assert whole.strip() in good(own("replay", "run"))
    assert "BAD" not in good(own("verify", "run"))
    assert good(own("fork", "run", "-q", "--at", "20", "--out", "fork")) == whole
    assert "done" in good(own("runs", "."))


@pytest.mark.slow
@pytest.mark.process
def test_a_configuration_says_what_is_run_and_what_its_model_would_cost(study: Study, own: Prism) -> None:
    said = good(own("validate", str(study.config), "--forecast"))
    assert ": ok: 3 agents, 3 rounds of 10 ticks (30 ticks), seed 42, oracle choice" in said
    assert "calls: " in said


def test_the_doctor_asks_the_oracle_the_first_question_of_the_run(study: Study, own: Prism) -> None:
    assert "embedded, no server; answered 'green' in " in good(own("doctor", str(study.config)))
    one_tick = good(own("doctor", str(study.config), "--set", "simulation.ticks=1"))
    assert "embedded, no server; not asked, because" in one_tick


def test_the_settings_of_a_run_are_all_in_its_configuration(begun: Study, own: Prism) -> None:
    kept = Path("run", "config.yaml").read_text()
    assert "domain:\n  lights: 3\n" in kept
    assert f"  domain_path: {begun.path}\n" in kept


def test_other_code_is_found_by_its_hash_and_a_fork_goes_on_with_it(begun: Study, own: Prism) -> None:
    begun.file.write_text(f'"""Some lights."""\n\n{CROSSING}')
    assert own("resume", "run", "--ticks", "20").code == 0
    begun.file.write_text(f"{CROSSING}\nX = 1\n")
    refused = own("resume", "run", "--ticks", "25")
    assert (refused.code, CHANGED in refused.err) == (2, True)
    assert own("replay", "run").code == 0
    good(own("fork", "run", "-q", "--at", "20", "--ticks", "25", "--out", "fork"))
    before, after = (json.loads(Path(each, MANIFEST).read_text())["domain_code"] for each in ("run", "fork"))
    assert before != after


def test_code_with_another_result_is_refused_and_named_in_a_replay(begun: Study, own: Prism) -> None:
    begun.file.write_text(OTHER)
    refused = own("resume", "run", "--ticks", "20")
    assert refused.code == 2
    assert CHANGED in refused.err
    replayed = own("replay", "run")
    assert replayed.code == 1
    assert CHANGED in replayed.err
    assert "not worked out again, because the code has changed" in own("verify", "run").out


def test_a_domain_that_is_gone_is_one_line_that_says_what_to_do(
    begun: Study, own: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun.path.rename(tmp_path / "moved")
    ended = own("resume", "run", "--ticks", "20")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: run: simulation.domain: no module '{begun.module}' on Python's path or in ")
    assert ended.err.endswith("; install it, or name its directory in simulation.domain_path or PYTHONPATH\n")
    assert own("verify", "run").code == 0
    moved = f"simulation.domain_path={tmp_path / 'moved'}"
    assert own("resume", "run", "--ticks", "20", "--set", moved).code == 0
    with path_restored():
        monkeypatch.syspath_prepend(tmp_path / "moved")
        assert own("replay", "run").code == 0


def test_settings_of_the_domain_may_not_change_in_a_run_and_a_fork_keeps_its_agents(begun: Study, own: Prism) -> None:
    refused = own("resume", "run", "--set", "domain.lights=4")
    assert (refused.code, "domain.lights is 4, was 3 when the run began" in refused.err) == (2, True)
    forked = own("fork", "run", "--at", "10", "--set", "domain.lights=4", "--out", "fork")
    assert (forked.code, "it would have 4 agents, and its past has 3" in forked.err) == (2, True)
    assert not Path("fork").exists()


def test_a_new_setting_of_the_domain_is_no_change_for_a_fork(begun: Study, own: Prism) -> None:
    begun.file.write_text(CROSSING.replace("] = 3\n", "] = 3\n    cars: int = 5\n"))
    good(own("fork", "run", "-q", "--at", "15", "--ticks", "20", "--out", "fork"))
