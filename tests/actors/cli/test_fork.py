"""`prism fork`: the same past, and another future."""

import json
import shutil
from functools import partial
from pathlib import Path

import anyio
import pytest

from actors.runs.directory import RunDirectory
from actors.runs.fork import fork
from actors.store.checkpoint import checkpoint_name, read_checkpoint, tick_of
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.manifest import MANIFEST, SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from prism.social.chart import social_chart_text
from tests.command import Prism
from tests.standin import ModelServer


@pytest.fixture
def parent(small_run: Path, tmp_path: Path) -> Path:
    """A run of 72 ticks."""
    return shutil.copytree(small_run, tmp_path / "parent")


def digest(run: Path) -> str:
    return str(json.loads((run / SUMMARY).read_text())["digest"])


def test_the_past_is_the_parents_and_the_future_another(parent: Path, prism: Prism, tmp_path: Path) -> None:
    ended = prism("fork", "parent", "--at", "30", "--set", "feed.algorithm=chronological", "-q", "--out", "child")
    assert ended.code == 0
    assert ended.out.strip() == digest(tmp_path / "child") != digest(parent)
    (origin,) = json.loads((tmp_path / "child" / MANIFEST).read_text())["forks"]
    assert (origin["parent"], origin["tick"]) == ("parent", 30)
    common = prism("replay", "parent", "-q", "--ticks", "30").out.strip()
    assert prism("replay", "child", "-q", "--ticks", "30").out.strip() == common == origin["digest"]
    assert prism("replay", "child", "-q").out == ended.out


def test_answers_copied_from_the_parent_are_as_safe_from_damage_as_its_own(
    parent: Path, prism: Prism, tmp_path: Path
) -> None:
    with ModelServer() as server:
        asked = ("--set", "oracle.backend=ollama", "--set", f"llm.host={server.url}")
        assert prism("run", "small.yaml", "-q", "--out", "asked", "--ticks", "48", *asked).code == 0
        assert prism("fork", "asked", "--at", "36", "-q", "--out", "child", "--prepare").code == 0
        answers = (tmp_path / "child" / ANSWERS).read_bytes()
        assert len(answers) > 600
        (tmp_path / "child" / ANSWERS).write_bytes(answers[:500] + bytes([answers[500] ^ 1]) + answers[501:])
        ended = prism("resume", "child", "-q")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("prism: oracle.log: damaged at byte ")
    assert ended.err.endswith("`prism resume --cut-damage` cuts the log there and asks again\n")


@pytest.mark.parametrize("at", [71, 30])
def test_a_fork_begins_at_the_nearest_checkpoint_and_is_the_one_that_begins_at_tick_0(
    prism: Prism, tmp_path: Path, at: int
) -> None:
    often = ("--set", "run.checkpoint_every_ticks=6")
    assert prism("run", "small.yaml", "-q", "--ticks", "72", *often, "--out", "parent").code == 0
    kept = [tick_of(path.name) for path in (tmp_path / "parent").glob("checkpoint-*.bin")]
    assert len(kept) > 1
    shutil.copytree(tmp_path / "parent", tmp_path / "bare")
    for path in (tmp_path / "bare").glob("checkpoint-*.bin"):
        path.unlink()
    begun: list[int] = []
    for parent in ("parent", "bare"):
        child = RunDirectory.create(tmp_path / f"of-{parent}", "")
        anyio.run(
            partial(fork, RunDirectory(tmp_path / parent), child, at, ["feed.algorithm=hot"], 72),
            lambda simulation: begun.append(simulation.tick),
        )
    assert begun == [max((tick for tick in kept if tick < at), default=0), 0]
    for name in (JOURNAL, ANSWERS, ROUNDS):
        one, other = ((tmp_path / f"of-{parent}" / name) for parent in ("parent", "bare"))
        assert one.exists() == other.exists(), name
        assert not one.exists() or one.read_bytes() == other.read_bytes(), name
    # Which answers of open questions have arrived is a matter of time: a resume asks for the others again.
    first, second = (
        read_checkpoint(RealDisk(tmp_path / f"of-{parent}"), checkpoint_name(at)) for parent in ("parent", "bare")
    )
    assert (first.position.journal_bytes, first.position.link) == (second.position.journal_bytes, second.position.link)
    assert first.columns == second.columns
    assert first.state.engine.asked == second.state.engine.asked


@pytest.mark.slow
def test_a_fork_of_a_fork_replays_through_all_three_futures(parent: Path, prism: Prism, tmp_path: Path) -> None:
    assert prism("fork", "parent", "--at", "24", "--set", "feed.algorithm=hot", "-q", "--out", "one").code == 0
    second = prism("fork", "one", "--at", "48", "--set", "feed.algorithm=random", "-q", "--out", "two", "--ticks", "96")
    assert second.code == 0
    assert json.loads((tmp_path / "two" / SUMMARY).read_text())["ticks"] == 96
    forks = json.loads((tmp_path / "two" / MANIFEST).read_text())["forks"]
    assert [(each["parent"], each["tick"]) for each in forks] == [("parent", 24), ("one", 48)]
    for name in ("parent", "one"):  # a run stands on its own, also when those before it are gone
        for path in (tmp_path / name).iterdir():
            path.unlink()
    assert prism("replay", "two", "-q").out == second.out
    assert prism("verify", "two").code == 0


def test_what_is_prepared_is_run_by_resume(parent: Path, prism: Prism, tmp_path: Path) -> None:
    options = ("--at", "30", "--set", "feed.algorithm=hot")
    ended = prism("fork", "parent", *options, "--prepare", "--out", "child")
    assert (ended.code, ended.out) == (0, "child: ready; run it with: prism resume child\n")
    assert not (tmp_path / "child" / SUMMARY).exists()
    assert prism("resume", "child", "-q").out == prism("fork", "parent", *options, "-q", "--out", "at-once").out


def test_a_fork_whose_checkpoints_are_gone_says_how_to_branch_off_again(
    parent: Path, prism: Prism, tmp_path: Path
) -> None:
    assert prism("fork", "parent", "--at", "30", "--set", "feed.algorithm=hot", "-q", "--out", "f").code == 0
    for path in (tmp_path / "f").glob("checkpoint-*"):
        path.unlink()
    ended = prism("resume", "f", "--ticks", "100")
    told = (
        "prism: f: cannot continue: it branched off parent after 30 ticks, and no checkpoint from then on can be used."
        " Branch off again with: prism fork parent --at 30\n"
    )
    assert (ended.code, ended.err) == (2, told)
    assert prism("replay", "f", "-q").code == 0, "what there is can still be read"


def test_a_fork_has_the_rows_of_its_past_whatever_became_of_its_parents_file(
    parent: Path, prism: Prism, tmp_path: Path
) -> None:
    whole = (parent / "rounds.csv").read_text().splitlines(keepends=True)
    (parent / "rounds.csv").unlink()
    assert prism("fork", "parent", "--at", "50", "--prepare", "--out", "child").code == 0
    assert (tmp_path / "child" / "rounds.csv").read_text() == "".join(whole[:3])
    assert prism("resume", "child", "-q", "--ticks", "100").code == 0
    assert (tmp_path / "child" / "rounds.csv").read_text().startswith("".join(whole) + "4,96,")


def another_chart(directory: Path, old: str, new: str) -> None:
    chart = social_chart_text()
    assert old in chart
    (directory / "chart.yaml").write_text(chart.replace(old, new))


def test_a_fork_to_a_chart_without_the_states_that_people_are_in_is_one_line(
    parent: Path, prism: Prism, tmp_path: Path
) -> None:
    another_chart(tmp_path, "scrolling", "wandering")
    ended = prism("fork", "parent", "--at", "30", "--set", "statechart.file=chart.yaml", "-q", "--out", "child")
    assert ended.code == 3
    assert "statechart.file: people are in states that this chart does not have: scrolling" in ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "child" / JOURNAL).exists()
