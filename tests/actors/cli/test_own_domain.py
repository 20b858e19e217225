"""A domain of one's own on the command line: its files, and everything that goes on from them."""

import json
from pathlib import Path

import pytest

from actors.store.manifest import MANIFEST
from tests.command import Ended, Prism
from tests.own_domains import CROSSING, Study, path_restored, write_study

CHANGED = "the domain's own code has changed (sha256 "


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path / "study")


@pytest.fixture
def own(prism: Prism, study: Study) -> Prism:
    """Return `prism`, where each command imports the domain anew; there is a run of 15 of its 30 ticks in `run`."""

    def run(*arguments: str) -> Ended:
        with path_restored():
            return prism(*arguments)

    good(run("run", str(study.config), "-q", "--out", "run", "--ticks", "15"))
    return run


def good(ended: Ended) -> str:
    assert ended.code == 0, ended.err
    return ended.out


def test_a_run_is_resumed_replayed_verified_and_forked_from_anywhere(study: Study, own: Prism) -> None:
    whole = good(own("run", str(study.config), "-q", "--out", "whole"))
    assert good(own("resume", "run", "-q", "--ticks", "30")) == whole
    assert whole.strip() in good(own("replay", "run"))
    assert "BAD" not in good(own("verify", "run"))
    assert good(own("fork", "run", "-q", "--at", "20", "--out", "fork")) == whole
    assert "done" in good(own("runs", "."))


def test_the_doctor_asks_the_oracle_the_first_question_of_the_run(study: Study, own: Prism) -> None:
    assert "embedded, no server; answered 'green' in " in good(own("doctor", str(study.config)))
    one_tick = good(own("doctor", str(study.config), "--set", "simulation.ticks=1"))
    assert "embedded, no server; not asked, because" in one_tick


def test_other_code_and_settings_are_refused_and_a_fork_goes_on_with_them(study: Study, own: Prism) -> None:
    study.file.write_text(f"{CROSSING}\nX = 1\n")
    assert own("resume", "run", "--ticks", "20").code == 0  # with the code that it has kept
    edited = ("--trust", "--set", f"simulation.domain_path={study.path}")
    refused = own("resume", "run", "--ticks", "25", *edited)
    assert (refused.code, CHANGED in refused.err) == (2, True)
    assert own("replay", "run").code == 0
    good(own("fork", "run", "-q", "--at", "20", "--ticks", "25", "--out", "fork", *edited))
    before, after = (json.loads(Path(each, MANIFEST).read_text())["domain_code"] for each in ("run", "fork"))
    assert before != after
    refused = own("resume", "run", "--set", "domain.lights=4")
    assert (refused.code, "domain.lights is 4, was 3 when the run began" in refused.err) == (2, True)
    forked = own("fork", "run", "--at", "10", "--set", "domain.lights=4", "--out", "other")
    assert (forked.code, "it would have 4 agents, and its past has 3" in forked.err) == (2, True)
    assert not Path("other").exists()
