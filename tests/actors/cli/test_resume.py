"""`prism resume`: going on with a run, and when it refuses to."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from actors.store.rounds import ROUNDS
from tests.actors.cli.conftest import Made
from tests.catalogue import catalogue
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


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"\n") + 1] ^= 1
    path.write_bytes(content)


ROWS_AGAIN = "prism: rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again\n"
SPOILT: list[tuple[str, str, Callable[[Path], object], bool]] = [
    ("begun", ROUNDS, Path.unlink, True),
    ("begun", ROUNDS, flip, True),
    ("whole", ROUNDS, Path.unlink, True),
    ("whole", ROUNDS, lambda path: path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1])), True),
    ("whole", ROUNDS, lambda path: edit(path, "round,tick", "Round,tick"), False),
    ("whole", SUMMARY, lambda path: edit(path, json.loads(path.read_text())["digest"], "z" * 32), True),
    ("whole", SUMMARY, Path.unlink, False),
]


@catalogue(("of", "name", "spoil", "has_checkpoints"), SPOILT)
@pytest.mark.usefixtures("begun")
def test_what_a_run_lacks_is_written_again(
    of: str, name: str, spoil: Callable[[Path], object], has_checkpoints: bool, prism: Prism, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(of, tmp_path / "spoilt"))
    spoil(run / name)
    for path in () if has_checkpoints else run.glob("checkpoint-*"):
        path.unlink()
    ended = prism("resume", str(run), "-q", *(("--ticks", "72") if of == "begun" else ()))
    digest = json.loads(Path("whole", SUMMARY).read_text())["digest"]
    assert (ended.code, ended.out, are_same(run)) == (0, f"{digest}\n", True)
    assert of == "whole" or ended.err == ROWS_AGAIN
    assert prism("verify", str(run), "--quick").code == 0


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
