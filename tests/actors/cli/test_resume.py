"""`prism resume`: going on with a run, and when it refuses to."""

import json
import shutil
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from actors.store.rounds import ROUNDS
from tests.actors.cli.conftest import Made
from tests.command import Prism

CLOCK = ("wall_s", "latency_s_p50", "latency_s_p95", "wall_activations", "resumes", "ticks_replayed", "shards")


@pytest.fixture
def begun(made: Made, small_run: Path, tmp_path: Path) -> Path:
    """A run of 60 ticks, and one of all 72 to compare with: `begun` and `whole`."""
    shutil.copytree(small_run, tmp_path / "whole")
    return shutil.copytree(made("--ticks", "60"), tmp_path / "begun")


def are_same(run: Path, other: str = "whole") -> bool:
    """Whether the journals, the series and, the clock aside, the summaries are equal."""
    one, two = (json.loads(Path(path, SUMMARY).read_text()) for path in (run, other))
    for key in CLOCK:
        one.pop(key), two.pop(key)
    return one == two and all((run / name).read_bytes() == Path(other, name).read_bytes() for name in (JOURNAL, ROUNDS))


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_more_ticks_make_a_run_the_same_as_a_longer_one_and_one_that_is_done_is_left_as_it_is(
    begun: Path, prism: Prism
) -> None:
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.err, are_same(begun)) == (0, "", True)
    assert json.loads((begun / MANIFEST).read_text())["resumed"] == [60]
    assert prism("resume", "whole", "-q").out == ended.out
    assert prism("resume", "whole").out == "whole: has all its 72 ticks; --ticks N makes it longer\n"
    assert are_same(begun)


@pytest.mark.parametrize("spoil", ["no_rows", "a_row_less", "another_header", "another_digest", "no_summary"])
@pytest.mark.usefixtures("begun")
def test_what_a_run_that_is_done_lacks_is_written_again(spoil: str, prism: Prism, tmp_path: Path) -> None:
    run = Path(shutil.copytree("whole", tmp_path / "spoilt"))
    rounds, summary = run / ROUNDS, run / SUMMARY
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
    for path in run.glob("checkpoint-*") if spoil in {"another_header", "no_summary"} else ():
        path.unlink()
    ended = prism("resume", "spoilt", "-q")
    assert (ended.code, ended.out, are_same(run)) == (0, f"{digest}\n", True)
    assert prism("verify", "spoilt", "--quick").code == 0


@pytest.mark.parametrize("how", ["--set", "edit"])
def test_a_setting_that_made_the_past_cannot_be_another(how: str, begun: Path, prism: Prism) -> None:
    options: tuple[str, ...] = ("--accept-settings",)
    if how == "edit":
        edit(begun / CONFIG, "algorithm: interest", "algorithm: hot")
    else:
        options = ("--set", "feed.algorithm=hot", "--accept-settings")
    before = [(begun / name).read_bytes() for name in (JOURNAL, SUMMARY)]
    ended = prism("resume", "begun", *options)
    told = (
        'prism: begun: cannot continue: feed.algorithm is "hot", was "interest" when the run began.'
        " Put it back, or branch off with `prism fork`.\n"
    )
    assert (ended.code, ended.err) == (2, told)
    assert [(begun / name).read_bytes() for name in (JOURNAL, SUMMARY)] == before


def test_a_setting_that_cannot_change_the_past_must_be_accepted(begun: Path, prism: Prism) -> None:
    options = ("resume", "begun", "-q", "--ticks", "72", "--set", "run.checkpoint_every_ticks=3")
    refused = prism(*options)
    told = (
        "prism: begun: cannot continue: run.checkpoint_every_ticks is 3, was null when the run began."
        " Put it back, or continue anyway with --accept-settings.\n"
    )
    assert (refused.code, refused.err) == (2, told)
    assert (prism(*options, "--accept-settings").code, are_same(begun)) == (0, True)


def test_a_changed_input_file_changes_nothing_and_a_damaged_kept_one_is_named(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n")
    options = ("--set", "population.graph.path=ties.txt", "-q", "--out", "o", "--ticks", "9")
    assert prism("run", "small.yaml", *options).code == 0
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n1 3\n")
    assert prism("resume", "o", "--ticks", "10").code == 0
    (kept,) = Path("o/inputs").glob("*/ties.txt")
    kept.chmod(0o644)
    kept.write_text("1 2\n2 3\n3 1\n1 3\n")
    ended = prism("resume", "o", "--ticks", "11")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: {kept.relative_to('o')}: is not what the run has kept: ")


def test_a_run_stopped_at_its_spend_cap_goes_on_with_a_higher_one(prism: Prism) -> None:
    def more(cap: int) -> int:
        return prism("resume", "o", "-q", "--accept-settings", "--set", f"oracle.max_calls={cap}").code

    capped = ("--set", "oracle.max_calls=10", "--set", "oracle.when_spent=stop")
    stopped = prism("run", "small.yaml", *capped, "--out", "o")
    assert stopped.code == 4
    assert "prism: stopped; continue with: prism resume o --accept-settings --set oracle.max_calls=..." in stopped.err
    assert more(20) == 4
    summary = json.loads(Path("o", SUMMARY).read_text())
    assert (summary["status"], summary["stopped_by"], summary["oracle_calls"]) == ("stopped", "spend_cap", 20)
    assert prism("verify", "o", "--quick").code == 0
    assert more(100_000) == 0
    summary = json.loads(Path("o", SUMMARY).read_text())
    assert (summary["status"], summary["fallbacks_by_reason"], summary["ticks"]) == ("done", {}, 72)
    assert prism("run", "small.yaml", "-q").out == f"{summary['digest']}\n"  # no choice is lost at the cap


@pytest.mark.parametrize("damage", ["removed", "flipped"])
def test_rows_that_are_missing_are_written_anew(damage: str, begun: Path, prism: Prism) -> None:
    rounds = begun / ROUNDS
    content = bytearray(rounds.read_bytes())
    content[content.index(b"\n") + 1] ^= 1
    rounds.unlink() if damage == "removed" else rounds.write_bytes(content)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert ended.err == (
        "prism: rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again\n"
    )
    assert are_same(begun)
