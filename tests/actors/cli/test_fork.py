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
from tests.command import Prism
from tests.wire.support import summary

HOT = ("--set", "feed.algorithm=hot", "-q")


@pytest.fixture
def parent(small_run: Path, tmp_path: Path) -> Path:
    """A run of 72 ticks."""
    return shutil.copytree(small_run, tmp_path / "parent")


def test_the_past_is_the_parents_and_the_future_another(parent: Path, prism: Prism) -> None:
    options = ("fork", "parent", "--at", "30", *HOT)
    ended = prism(*options, "--out", "child")
    assert ended.out.strip() == summary("child")["digest"] != summary(parent)["digest"]
    (origin,) = json.loads(Path("child", MANIFEST).read_text())["forks"]
    assert (origin["parent"], origin["tick"]) == ("parent", 30)
    common = prism("replay", "parent", "-q", "--ticks", "30").out.strip()
    assert prism("replay", "child", "-q", "--ticks", "30").out.strip() == common == origin["digest"]
    assert prism("replay", "child", "-q").out == ended.out
    prepared = prism("fork", "parent", "--at", "30", *HOT[:-1], "--prepare", "--out", "later")
    assert (prepared.code, prepared.out) == (0, "later: ready; run it with: prism resume later\n")
    assert not Path("later", SUMMARY).exists()
    assert prism("resume", "later", "-q").out == ended.out


def test_a_fork_begins_at_the_nearest_checkpoint_and_is_the_one_that_begins_at_tick_0(
    few_run: Path, tmp_path: Path
) -> None:
    kept = sorted(tick_of(path.name) for path in few_run.glob("checkpoint-*.bin"))
    at = kept[0] + 1
    assert at < 36
    shutil.copytree(few_run, tmp_path / "few")
    shutil.copytree(few_run, tmp_path / "bare", ignore=shutil.ignore_patterns("checkpoint-*"))
    begun: list[int] = []
    for parent in ("few", "bare"):
        child = RunDirectory.create(tmp_path / f"of-{parent}", "")
        anyio.run(
            partial(fork, RunDirectory(tmp_path / parent), child, at, ["feed.algorithm=hot"], 36),
            lambda simulation: begun.append(simulation.tick),
        )
    assert begun == [kept[0], 0]
    for name in (JOURNAL, ANSWERS, ROUNDS):
        one, other = ((tmp_path / f"of-{parent}" / name) for parent in ("few", "bare"))
        assert one.exists() == other.exists(), name
        assert not one.exists() or one.read_bytes() == other.read_bytes(), name
    # Which answers of open questions have arrived is a matter of time: a resume asks for the others again.
    first, second = (
        read_checkpoint(RealDisk(tmp_path / f"of-{parent}"), checkpoint_name(at)) for parent in ("few", "bare")
    )
    assert (first.position.journal_bytes, first.position.link) == (second.position.journal_bytes, second.position.link)
    assert first.columns == second.columns
    assert first.state.engine.asked == second.state.engine.asked


@pytest.mark.slow
@pytest.mark.usefixtures("parent")
def test_a_fork_of_a_fork_replays_through_all_three_futures(prism: Prism) -> None:
    assert prism("fork", "parent", "--at", "24", *HOT, "--out", "one").code == 0
    second = prism("fork", "one", "--at", "48", "--set", "feed.algorithm=random", "-q", "--out", "two", "--ticks", "96")
    assert (second.code, summary("two")["ticks"]) == (0, 96)
    forks = json.loads(Path("two", MANIFEST).read_text())["forks"]
    assert [(each["parent"], each["tick"]) for each in forks] == [("parent", 24), ("one", 48)]
    for name in ("parent", "one"):  # a run stands on its own, also when those before it are gone
        shutil.rmtree(name)
    assert prism("replay", "two", "-q").out == second.out
    assert prism("verify", "two").code == 0
    # Its rows are those of three pasts, and so are the settings that the rows are compared with.
    rows, whole = Path("two", ROUNDS), Path("two", ROUNDS).read_text()
    rows.write_text(whole.replace("1,24,", "1,24,9", 1))
    assert f"two/{ROUNDS}: BAD: round 1: activations is 9" in prism("verify", "two").out
    rows.write_text(whole)
    Path("two/config-until-24.yaml").unlink()
    assert "two/config-until-24.yaml: BAD: cannot be read: " in prism("verify", "two").out


def test_a_fork_whose_checkpoints_are_gone_says_how_to_branch_off_again(parent: Path, prism: Prism) -> None:
    assert prism("fork", str(parent), "--at", "70", *HOT, "--out", "f").code == 0
    for path in Path("f").glob("checkpoint-*"):
        path.unlink()
    ended = prism("resume", "f", "--ticks", "100")
    told = (
        "prism: f: cannot continue: it branched off parent after 70 ticks, and no checkpoint from then on can be used."
        " Branch off again with: prism fork parent --at 70\n"
    )
    assert (ended.code, ended.err) == (2, told)
    assert prism("replay", "f", "-q").code == 0, "what there is can still be read"


def test_a_fork_has_the_rows_of_its_past_whatever_became_of_its_parents_file(parent: Path, prism: Prism) -> None:
    whole = (parent / ROUNDS).read_text().splitlines(keepends=True)
    (parent / ROUNDS).unlink()
    assert prism("fork", "parent", "--at", "50", "--prepare", "--out", "child").code == 0
    assert Path("child", ROUNDS).read_text() == "".join(whole[:3])
    assert prism("verify", "child").code == 0
    assert prism("resume", "child", "-q", "--ticks", "100").code == 0
    assert Path("child", ROUNDS).read_text().startswith("".join(whole) + "4,96,")
