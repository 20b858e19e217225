"""`prism verify`: whether a run's files are what was written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.answer_log import ANSWERS
from actors.journal import JOURNAL
from actors.run_directory import CONFIG, MANIFEST, SUMMARY
from actors.series import ROUNDS
from tests.command import Prism

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Here a fork may read files: nothing else is under way that it could hold up."""


@pytest.fixture
def run(prism: Prism, tmp_path: Path) -> Path:
    """A run with two checkpoints, in `run`."""
    options = ("--set", "run.checkpoint_every_ticks=24", "--set", "run.tick_s=0.001")
    assert prism("run", "small.yaml", "-q", *options, "--out", "run").code == 0
    return tmp_path / "run"


def lines(out: str) -> dict[str, str]:
    """`{file: what is said of it}`."""
    return dict(line.removeprefix("run/").split(": ", 1) for line in out.splitlines())


def flip(path: Path, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 4
    path.write_bytes(data)


def test_whole_files_are_ok_and_stay_as_they_are(run: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (0, "")
    told = lines(ended.out)
    assert re.fullmatch(r"ok: 72 ticks of 60 agents, [0-9,]+ bytes, digest [0-9a-f]{32}", told[JOURNAL])
    assert told[ANSWERS] == "ok: 0 answers"
    assert told["checkpoint-000000000072.bin"] == "ok: after 72 ticks"
    assert told[ROUNDS] == "ok: rounds 1 to 3"
    assert told[CONFIG] == "ok: the settings of the journal's header"
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_flipped_bit_is_named_by_byte_and_tick(run: Path, prism: Prism) -> None:
    flip(run / JOURNAL, 30_000)
    ended = prism("verify", "run")
    assert ended.code == 1
    told = re.fullmatch(
        r"BAD: damaged at byte (\d+), in tick \d+: a frame's CRC32 does not match its content; "
        r"([0-9,]+) bytes cannot be used",
        lines(ended.out)[JOURNAL],
    )
    assert told is not None
    assert int(told[1]) <= 30_000
    assert int(told[1]) + int(told[2].replace(",", "")) == (run / JOURNAL).stat().st_size
    assert lines(ended.out)["checkpoint-000000000072.bin"].startswith("BAD: follows byte ")


def test_a_torn_end_is_damage(run: Path, prism: Prism) -> None:
    data = (run / JOURNAL).read_bytes()
    (run / JOURNAL).write_bytes(data[:-10])
    ended = prism("verify", "run")
    assert ended.code == 1
    assert "in tick 71: ends " in lines(ended.out)[JOURNAL]


def test_ticks_that_are_gone_show_against_the_summary(run: Path, prism: Prism) -> None:
    """A journal cut between two frames is whole in itself."""
    shorter = prism("run", "small.yaml", "-q", "--ticks", "71", "--set", "run.checkpoint_every_ticks=24", "--out", "s")
    assert shorter.code == 0
    (run / JOURNAL).write_bytes((run.parent / "s" / JOURNAL).read_bytes())
    ended = prism("verify", "run")
    assert ended.code == 1
    assert re.fullmatch(r"BAD: gives digest [0-9a-f]{32}, the journal [0-9a-f]{32}", lines(ended.out)[SUMMARY])


def test_a_checkpoint_that_is_not_what_was_written_is_named(run: Path, prism: Prism) -> None:
    flip(run / "checkpoint-000000000072.bin", 900)
    ended = prism("verify", "run")
    assert ended.code == 1
    assert lines(ended.out)["checkpoint-000000000072.bin"].startswith("BAD: damaged at byte ")
    assert lines(ended.out)[JOURNAL].startswith("ok: ")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (JOURNAL, b"", "BAD: "),
        (JOURNAL, None, "BAD: there is none"),
        (ANSWERS, b"", "BAD: does not begin with b'PRISMA"),
        (ANSWERS, None, "BAD: is missing"),
        (ANSWERS, b"PRISMA\r\n\x09\x00", "BAD: damaged at byte 8, after 0 answers: ends 2 bytes into a frame's head"),
        (SUMMARY, b'{"digest":', "BAD: cannot be read"),
        (CONFIG, b"simulation: {rounds: many}", "BAD: expected int 1 to 1000000000, got 'many'"),
        (CONFIG, None, "BAD: cannot be read: "),
    ],
)
def test_each_file_that_is_empty_missing_or_cut_is_named(
    name: str, content: bytes | None, told: str, run: Path, prism: Prism
) -> None:
    (run / name).unlink() if content is None else (run / name).write_bytes(content)
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (1, "")
    assert lines(ended.out)[name].startswith(told), ended.out


def test_a_directory_that_is_no_run_is_one_line(prism: Prism, tmp_path: Path) -> None:
    ended = prism("verify", ".")
    assert (ended.code, ended.err) == (2, "prism: .: is no run's directory: it has no manifest.json\n")


def stopped(prism: Prism) -> None:
    cap = ("--set", "oracle.max_calls=10", "--set", "oracle.when_spent=stop")
    assert prism("run", "small.yaml", "-q", *cap, "--out", "made").code == 4


def extended(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "60", "--out", "made").code == 0
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0


def crashed_while_extended(prism: Prism) -> None:
    """Its summary tells of the run before, and the rows behind its checkpoint are still to come."""
    assert prism("run", "small.yaml", "-q", "--ticks", "48", "--out", "made").code == 0
    summary, checkpoint = Path("made", SUMMARY).read_bytes(), Path("made/checkpoint-000000000048.bin").read_bytes()
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0
    for path in Path("made").glob("checkpoint-*.bin"):
        path.unlink()
    Path("made", SUMMARY).write_bytes(summary)
    Path("made/checkpoint-000000000048.bin").write_bytes(checkpoint)
    rows = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(rows[:3]))


def forced(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "60", "--out", "made").code == 0
    assert prism("resume", "made", "-q", "--ticks", "72", "--set", "llm.model=other", "--force").code == 0


def forked(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    assert prism("fork", "one", "--at", "24", "--set", "feed.algorithm=hot", "-q", "--out", "two").code == 0
    assert prism("fork", "two", "--at", "50", "--set", "feed.size=3", "-q", "--out", "made").code == 0


def prepared(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    assert prism("fork", "one", "--at", "50", "--set", "feed.size=3", "--prepare", "--out", "made").code == 0


def forked_without_rows(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    Path("one", ROUNDS).unlink()
    assert prism("fork", "one", "--at", "50", "-q", "--out", "two").code == 0
    assert prism("fork", "two", "--at", "72", "--prepare", "--out", "made").code == 0


def killed(prism: Prism) -> None:
    """A process of its own, ended by SIGKILL."""
    options = ("--set", "run.tick_s=0.01", "--set", "run.checkpoint_every_ticks=24", "--out", "made")
    command = [sys.executable, "-m", "actors.cli", "run", str(Path("small.yaml").resolve()), "-q", *options]
    process = subprocess.Popen(command, env={"PYTHONPATH": str(ROOT)})
    while process.poll() is None and len(list(Path("made").glob("checkpoint-*.bin"))) < 2:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -9


def economic(prism: Prism) -> None:
    shutil.copytree(ROOT / "configs", "configs")
    assert prism("run", "configs/economy.yaml", "-q", "--ticks", "5", "--out", "made").code == 0


def with_inputs(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n")
    assert prism("run", "small.yaml", "-q", "--set", "population.graph.path=ties.txt", "--out", "made").code == 0


@pytest.mark.parametrize(
    "make",
    [
        stopped,
        extended,
        crashed_while_extended,
        forced,
        forked,
        prepared,
        forked_without_rows,
        killed,
        economic,
        with_inputs,
    ],
)
def test_every_kind_of_run_is_good(make: Callable[[Prism], None], prism: Prism) -> None:
    make(prism)
    ended = prism("verify", "made")
    assert (ended.code, "BAD" in ended.out) == (0, False), ended.out


def test_what_force_has_changed_is_named_and_no_damage(prism: Prism) -> None:
    forced(prism)
    told = "ok: the settings of the journal's header, but for llm.model, changed with --force"
    assert f"made/{CONFIG}: {told}\n" in prism("verify", "made").out


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("algorithm: interest", "algorithm: hot", 'feed.algorithm is "hot", was "interest" when the run began'),
        ("  model: ", "  model: x", 'llm.model is "xllama3.2", was "llama3.2" when the run began'),
        ("seed: 5", "seed: 6", "simulation.seed is 6, was 5 when the run began"),
        ("  ticks: null", "  ticks: 71", "ends the run after 71 ticks, and the journal has 72"),
    ],
)
def test_a_setting_that_is_not_the_headers_is_named(
    before: str, after: str, told: str, run: Path, prism: Prism
) -> None:
    edit(run / CONFIG, before, after)
    ended = prism("verify", "run")
    assert ended.code == 1
    assert lines(ended.out)[CONFIG] == f"BAD: {told}"
    assert ended.out.count("BAD") == 1


def test_a_setting_that_only_watches_may_be_another(run: Path, prism: Prism) -> None:
    edit(run / CONFIG, "metrics:\n  enabled: false", "metrics:\n  enabled: true")
    assert prism("verify", "run").code == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"1 2\n2 3\n3 1\n1 3\n", "has changed since the run began (sha256 "),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_an_input_file_that_is_another_is_named(content: bytes | None, told: str, prism: Prism) -> None:
    with_inputs(prism)
    Path("ties.txt").unlink() if content is None else Path("ties.txt").write_bytes(content)
    ended = prism("verify", "made")
    assert ended.code == 1
    assert f"\nties.txt: BAD: {told}" in ended.out
    assert ended.out.count("BAD") == 1


@pytest.mark.parametrize(("before", "after"), [('"seed": 5', '"seed": 6'), ('"ties.txt"', '"tied.txt"')])
def test_a_manifest_of_another_run_is_named(before: str, after: str, prism: Prism) -> None:
    with_inputs(prism)
    edit(Path("made", MANIFEST), before, after)
    ended = prism("verify", "made")
    assert ended.code == 1
    assert f"{MANIFEST}: BAD: names another seed or other input files than the journal's header" in ended.out


def test_a_configuration_of_the_past_that_cannot_be_read_is_named(prism: Prism) -> None:
    forked(prism)
    Path("made/config-until-24.yaml").unlink()
    assert "made/config-until-24.yaml: BAD: cannot be read: " in prism("verify", "made").out


Rows = list[str]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda rows: rows[:3], "has no row of round 3"),
        (lambda rows: rows[:1], "has no row"),
        (lambda _: [], "has no row"),
        (lambda rows: [rows[0], *rows[2:]], "begins with round 2"),
        (lambda rows: [*rows[:2], rows[3]], "what follows round 1 is not the row of the next round"),
        (lambda rows: [*rows, rows[3]], "what follows round 3 is not the row of the next round"),
        (lambda rows: [*rows[:3], rows[3][:-3]], "what follows round 2 is not the row of the next round"),
        (
            lambda rows: [*rows[:3], rows[3].replace("3,72,", "3,73,")],
            "what follows round 2 is not the row of the next",
        ),
        (
            lambda rows: [*rows, rows[3].replace("3,72,", "4,96,")],
            "has a row of round 4, and the journal 3 whole rounds",
        ),
        (lambda rows: [rows[0], "no row\n"], "what follows its header is not the row of the next round"),
    ],
)
def test_rows_that_are_not_those_of_the_journals_rounds_are_told(
    damage: Callable[[Rows], Rows], told: str, run: Path, prism: Prism
) -> None:
    rows = (run / ROUNDS).read_text().splitlines(keepends=True)
    (run / ROUNDS).write_text("".join(damage(rows)))
    ended = prism("verify", "run")
    assert ended.code == 1
    assert lines(ended.out)[ROUNDS].startswith(f"BAD: {told}")
    assert ended.out.count("BAD") == 1


def test_a_series_that_is_gone_is_missing(run: Path, prism: Prism) -> None:
    (run / ROUNDS).unlink()
    assert lines(prism("verify", "run").out)[ROUNDS] == "BAD: is missing"


def test_of_a_crashed_run_rows_up_to_its_checkpoint_must_be_there_and_no_more(prism: Prism) -> None:
    crashed_while_extended(prism)
    told = f"made/{ROUNDS}: ok: rounds 1 to 2 of 4; `prism resume` writes the others again\n"
    assert told in prism("verify", "made").out
    rows = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(rows[:2]))
    assert f"made/{ROUNDS}: BAD: has no row of round 2\n" in prism("verify", "made").out


def test_a_summary_that_holds_something_else_is_told(run: Path, prism: Prism) -> None:
    (run / SUMMARY).write_text(json.dumps({"digest": 3, "ticks": "many"}))
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (1, "")
    assert lines(ended.out)[SUMMARY].startswith("BAD: gives digest 3, the journal ")
