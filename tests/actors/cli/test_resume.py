"""`prism resume`: going on with a run, and when it refuses to."""

import json
import shutil
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from tests.actors.cli.conftest import Made
from tests.command import Prism

CLOCK = ("wall_s", "latency_s_p50", "latency_s_p95", "wall_activations", "resumes", "ticks_replayed", "shards")


@pytest.fixture
def begun(made: Made, small_run: Path, tmp_path: Path) -> Path:
    """A run of 60 ticks, and one of all 72 to compare with: `begun` and `whole`."""
    shutil.copytree(small_run, tmp_path / "whole")
    return shutil.copytree(made("--ticks", "60"), tmp_path / "begun")


def same(run: Path, other: Path) -> bool:
    """Whether the journals, the series and, the clock aside, the summaries are equal."""
    one, two = (json.loads((path / SUMMARY).read_text()) for path in (run, other))
    for key in CLOCK:
        one.pop(key), two.pop(key)
    return one == two and all(
        (run / name).read_bytes() == (other / name).read_bytes() for name in (JOURNAL, "rounds.csv")
    )


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_more_ticks_make_a_run_the_same_as_a_longer_one(begun: Path, prism: Prism, tmp_path: Path) -> None:
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.err) == (0, "")
    assert same(begun, tmp_path / "whole")
    assert json.loads((begun / MANIFEST).read_text())["resumed"] == [60]


def test_a_run_that_is_done_is_left_as_it_is(begun: Path, prism: Prism, tmp_path: Path) -> None:
    before = (tmp_path / "whole" / JOURNAL).read_bytes()
    digest = json.loads((tmp_path / "whole" / SUMMARY).read_text())["digest"]
    ended = prism("resume", "whole", "-q")
    assert (ended.code, ended.out) == (0, f"{digest}\n")
    assert (tmp_path / "whole" / JOURNAL).read_bytes() == before
    assert prism("resume", "whole").out == "whole: has all its 72 ticks; --ticks N makes it longer\n"


@pytest.mark.parametrize(
    ("spoil", "has_checkpoints"),
    [
        ("no_rows", False),
        ("a_row_less", True),
        ("another_header", False),
        ("another_digest", True),
        ("no_summary", False),
    ],
)
def test_what_a_run_that_is_done_lacks_is_written_again(
    spoil: str, has_checkpoints: bool, begun: Path, prism: Prism, tmp_path: Path
) -> None:
    (tmp_path / "spoilt").mkdir()
    for path in (tmp_path / "whole").iterdir():
        if has_checkpoints or not path.name.startswith("checkpoint-"):
            (tmp_path / "spoilt" / path.name).write_bytes(path.read_bytes())
    rounds, summary = tmp_path / "spoilt" / "rounds.csv", tmp_path / "spoilt" / SUMMARY
    digest = json.loads(summary.read_text())["digest"]
    if spoil == "no_rows":
        rounds.unlink()
    elif spoil == "a_row_less":
        rounds.write_text("".join(rounds.read_text().splitlines(keepends=True)[:-1]))
    elif spoil == "another_header":
        edit(rounds, "round,tick", "Round,tick")
    elif spoil == "another_digest":
        edit(summary, digest, "z" * len(digest))
    else:
        summary.unlink()
    ended = prism("resume", "spoilt", "-q")
    assert (ended.code, ended.out) == (0, f"{digest}\n")
    assert same(tmp_path / "spoilt", tmp_path / "whole")
    assert prism("verify", "spoilt").code == 0


@pytest.mark.parametrize("how", ["--set", "edit"])
def test_a_setting_that_made_the_past_cannot_be_another(how: str, begun: Path, prism: Prism) -> None:
    options: tuple[str, ...] = ("--accept-settings",)
    if how == "edit":
        edit(begun / CONFIG, "algorithm: interest", "algorithm: hot")
    else:
        options = ("--set", "feed.algorithm=hot", "--accept-settings")
    journal, summary = (begun / JOURNAL).read_bytes(), (begun / SUMMARY).read_bytes()
    ended = prism("resume", "begun", *options)
    told = (
        'prism: begun: cannot continue: feed.algorithm is "hot", was "interest" when the run began.'
        " Put it back, or branch off with `prism fork`.\n"
    )
    assert (ended.code, ended.err) == (2, told)
    assert ((begun / JOURNAL).read_bytes(), (begun / SUMMARY).read_bytes()) == (journal, summary)


def test_a_setting_that_cannot_change_the_past_must_be_accepted(begun: Path, prism: Prism, tmp_path: Path) -> None:
    options = ("resume", "begun", "-q", "--ticks", "72", "--set", "run.checkpoint_every_ticks=3")
    refused = prism(*options)
    told = (
        "prism: begun: cannot continue: run.checkpoint_every_ticks is 3, was null when the run began."
        " Put it back, or continue anyway with --accept-settings.\n"
    )
    assert (refused.code, refused.err) == (2, told)
    assert prism(*options, "--accept-settings").code == 0
    assert same(begun, tmp_path / "whole")


def test_a_changed_input_file_changes_nothing_and_a_damaged_kept_one_is_named(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "ties.txt").write_text("1 2\n2 3\n3 1\n")
    options = ("--set", "population.graph.path=ties.txt", "-q", "--out", "o")
    assert prism("run", "small.yaml", *options).code == 0
    (tmp_path / "ties.txt").write_text("1 2\n2 3\n3 1\n1 3\n")
    assert prism("resume", "o", "--ticks", "80").code == 0
    (kept,) = (tmp_path / "o" / "inputs").glob("*/ties.txt")
    kept.chmod(0o644)
    kept.write_text("1 2\n2 3\n3 1\n1 3\n")
    ended = prism("resume", "o", "--ticks", "90")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: {kept.relative_to(tmp_path / 'o')}: is not what the run has kept: ")


def test_a_run_stopped_at_its_spend_cap_goes_on_with_a_higher_one(begun: Path, prism: Prism, tmp_path: Path) -> None:
    cap = ("--set", "oracle.max_calls=10", "--set", "oracle.when_spent=stop")
    many = ("--set", "population.ambiguity=0.4")
    stopped = prism("run", "small.yaml", *cap, *many, "--out", "capped")
    assert stopped.code == 4
    command = "prism resume capped --accept-settings --set oracle.max_calls=..."
    assert f"prism: stopped; continue with: {command}" in stopped.err
    higher = prism("resume", "capped", "-q", "--accept-settings", "--set", "oracle.max_calls=20")
    assert higher.code == 4
    assert json.loads((tmp_path / "capped" / SUMMARY).read_text())["oracle_calls"] == 20
    assert prism("resume", "capped", "-q", "--accept-settings", "--set", "oracle.max_calls=100000").code == 0
    summary = json.loads((tmp_path / "capped" / SUMMARY).read_text())
    assert (summary["status"], summary["fallbacks_by_reason"], summary["ticks"]) == ("done", {}, 72)
    assert summary["oracle_calls"] > 20
    assert prism("run", "small.yaml", *many, "-q").out == f"{summary['digest']}\n"  # no choice is lost at the cap


@pytest.mark.parametrize("damage", ["removed", "flipped"])
def test_rows_that_are_missing_are_written_anew(damage: str, begun: Path, prism: Prism, tmp_path: Path) -> None:
    rounds = begun / "rounds.csv"
    if damage == "removed":
        rounds.unlink()
    else:
        content = bytearray(rounds.read_bytes())
        content[content.index(b"\n") + 1] ^= 1
        rounds.write_bytes(content)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert ended.err == (
        "prism: rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again\n"
    )
    assert rounds.read_bytes() == (tmp_path / "whole" / "rounds.csv").read_bytes()
    assert same(begun, tmp_path / "whole")
