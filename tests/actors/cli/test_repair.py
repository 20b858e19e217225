"""`prism repair`: what it repairs without a server, what it leaves alone, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from actors.record.lock import locked
from tests.actors.cli.conftest import Made
from tests.command import Prism

pytestmark = pytest.mark.long

FALLS_BACK = ("--set", "oracle.when_spent=fallback", "--set", "oracle.max_fallback_share=1")


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Here a task may read files: nothing else is under way that it could hold up."""


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


@pytest.fixture
def capped(made: Made, tmp_path: Path) -> Path:
    """A run whose spend cap has left all but three choices to their fallbacks."""
    return shutil.copytree(made("--set", "oracle.max_calls=3", *FALLS_BACK), tmp_path / "capped")


@pytest.mark.slow
@pytest.mark.parametrize("cap", [3, 0])
def test_what_a_spend_cap_has_cost_is_repaired_from_the_first_such_choice_on(
    cap: int, prism: Prism, small_run: Path, tmp_path: Path
) -> None:
    undisturbed = json.loads((small_run / "summary.json").read_text())
    prism("run", "small.yaml", "-q", "--set", f"oracle.max_calls={cap}", *FALLS_BACK, "--out", "capped")
    before = files(tmp_path / "capped")
    ended = prism("repair", "capped", "--set", "oracle.max_calls=null", "--out", "repaired")
    assert (ended.code, f"digest {undisturbed['digest']}" in ended.out) == (0, True)
    repaired = json.loads((tmp_path / "repaired" / "summary.json").read_text())
    assert (repaired["status"], repaired["fallbacks_by_reason"]) == ("done", {})
    assert f"; {cap} are kept, and only what failed is asked again\n" in ended.err
    assert files(tmp_path / "capped") == before
    assert prism("replay", "repaired", "-q").out.strip() == undisturbed["digest"]
    assert prism("verify", "repaired").code == 0
    assert (tmp_path / "repaired" / "rounds.csv").read_bytes() == (small_run / "rounds.csv").read_bytes()
    (fork,) = json.loads((tmp_path / "repaired" / "manifest.json").read_text())["forks"]
    assert fork["repaired"] > 0


def test_a_run_that_lost_choices_says_so_and_how_to_repair_it(capped: Path, prism: Prism) -> None:
    summary = json.loads((capped / "summary.json").read_text())
    lost = summary["fallbacks_by_reason"]["spent"]
    assert summary["status"] == "done_with_fallbacks"
    (row,) = prism("runs", "capped").out.splitlines()[1:]
    assert row.split()[1] == "done"
    assert row.endswith(f"{lost} fallbacks")
    ended = prism("run", "small.yaml", "--set", "oracle.max_calls=3", *FALLS_BACK, "--out", "again")
    assert f"done, {lost} fallbacks: 60 agents" in ended.out
    assert ended.err.splitlines()[-1].startswith(f"prism: {lost} fallbacks, ")
    assert ended.err.endswith("; to ask for them again: prism repair again\n")


def test_it_can_be_prepared_and_run_later(capped: Path, prism: Prism, small_run: Path) -> None:
    ended = prism("repair", "capped", "-q", "--set", "oracle.max_calls=null", "--prepare", "--out", "ready")
    assert (ended.code, ended.out) == (0, "ready: ready; run it with: prism resume ready\n")
    undisturbed = json.loads((small_run / "summary.json").read_text())
    assert prism("resume", "ready", "-q").out.strip() == undisturbed["digest"]


def test_a_run_that_lost_nothing_is_one_line_and_nothing_is_written(
    prism: Prism, small_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(small_run, tmp_path / "whole")
    before = files(tmp_path / "whole")
    ended = prism("repair", "whole", "--out", "repaired")
    assert ended == (0, "whole: no choice was lost, so there is nothing to repair\n", "")
    assert files(tmp_path / "whole") == before
    assert not (tmp_path / "repaired").exists()


def test_a_run_that_only_stopped_is_one_line_that_says_how_to_go_on(prism: Prism, tmp_path: Path) -> None:
    stop = (
        "--set",
        "oracle.max_calls=3",
        "--set",
        "oracle.when_spent=stop",
        "--set",
        "population.deliberation_minutes=24",
    )
    assert prism("run", "small.yaml", "-q", *stop, "--ticks", "20", "--out", "stopped").code == 0
    assert prism("resume", "stopped", "-q", "--ticks", "20").code == 0
    config = tmp_path / "stopped" / "config.yaml"
    config.write_text(config.read_text().replace("ticks: 20", "ticks: 40"))
    ended = prism("repair", "stopped")
    assert ended.code == 0
    assert ended.out == (
        "stopped: no choice was lost, so there is nothing to repair; continue with: prism resume stopped\n"
    )
    assert not (tmp_path / "runs").exists()


def test_a_run_at_work_is_refused(capped: Path, prism: Prism, tmp_path: Path) -> None:
    with locked(capped):
        ended = prism("repair", "capped", "--out", "repaired")
    assert ended.code == 2
    assert ended.err.startswith("prism: capped: is in use by process ")
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "repaired").exists()


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            "oracle.max_calls=3",
            "its spend cap is reached. Raise it with --set oracle.max_calls=..., or max_tokens, or max_usd.",
        ),
        ("feed.algorithm=hot", 'feed.algorithm is "hot", was "interest" when the run began. A repair asks the same '),
        (
            "oracle.backend=ollama",
            'oracle.backend is "ollama", was "choice" when the run began. A repair asks the same ',
        ),
        (
            "population.deliberation_minutes=0",
            "population.deliberation_minutes is 0.0, was 4.0 when the run began. A repair asks the same ",
        ),
    ],
)
def test_settings_that_cannot_repair_it_are_refused_and_leave_nothing(
    setting: str, told: str, capped: Path, prism: Prism, tmp_path: Path
) -> None:
    ended = prism("repair", "capped", "--set", setting, "--out", "repaired")
    assert ended.code == 2
    assert ended.err.startswith(f"prism: capped: cannot be repaired: {told}"), ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "repaired").exists()


def test_what_is_no_run_cannot_be_repaired(prism: Prism) -> None:
    ended = prism("repair", "nowhere")
    assert (ended.code, ended.err) == (2, "prism: nowhere: no such directory\n")
