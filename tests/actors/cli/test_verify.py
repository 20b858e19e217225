"""`prism verify`: whether files, rows, settings and inputs of a run are what was written."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.core.errors import DivergedError
from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.actors.cli.conftest import Made
from tests.command import Prism
from tests.durability.crashed import undo_seals
from tests.paths import ROOT


@pytest.fixture(scope="session")
def with_checkpoints(made: Made) -> Path:
    """Return a run with two checkpoints, made once."""
    return made("--set", "run.checkpoint_every_ticks=24", "--set", "run.tick_s=0.001")


@pytest.fixture
def run(with_checkpoints: Path, tmp_path: Path) -> Path:
    """Return a copy of the run, in `run`."""
    return shutil.copytree(with_checkpoints, tmp_path / "run")


def lines(out: str) -> dict[str, str]:
    """Return `{file: the report on it}`."""
    return dict(line.removeprefix("run/").split(": ", 1) for line in out.splitlines())


def flip(path: Path, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 4
    path.write_bytes(data)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def stopped(prism: Prism) -> None:
    cap = ("--set", "oracle.max_calls=10", "--set", "oracle.when_spent=stop")
    assert prism("run", "small.yaml", "-q", *cap, "--out", "made").code == 4


def extended(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "60", "--out", "made").code == 0
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0


def crashed_while_extended(prism: Prism) -> None:
    """Make a run whose summary is of the shorter run, and whose rows after the checkpoint are missing."""
    assert prism("run", "small.yaml", "-q", "--ticks", "48", "--out", "made").code == 0
    summary, checkpoint = Path("made", SUMMARY).read_bytes(), Path("made/checkpoint-000000000048.bin").read_bytes()
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0
    for path in Path("made").glob("checkpoint-*.bin"):
        path.unlink()
    Path("made", SUMMARY).write_bytes(summary)
    Path("made/checkpoint-000000000048.bin").write_bytes(checkpoint)
    rows = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(rows[:3]))
    undo_seals(Path("made"))


def forced(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "60", "--out", "made").code == 0
    assert prism("resume", "made", "-q", "--ticks", "72", "--set", "llm.model=other", "--accept-settings").code == 0


def forked(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    assert prism("fork", "one", "--at", "24", "--set", "feed.algorithm=hot", "-q", "--out", "two").code == 0
    assert prism("fork", "two", "--at", "50", "--set", "feed.size=3", "-q", "--out", "made").code == 0


def prepared(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    assert prism("fork", "one", "--at", "50", "--set", "feed.size=3", "--prepare", "--out", "made").code == 0


def killed(prism: Prism) -> None:
    """Make a run in a process that is ended by SIGKILL."""
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
    middle = (run / JOURNAL).stat().st_size // 2
    flip(run / JOURNAL, middle)
    ended = prism("verify", "run")
    assert ended.code == 1
    told = re.fullmatch(
        r"BAD: damaged at byte (\d+), in tick \d+: a frame's CRC32 does not match its content; "
        r"([0-9,]+) bytes cannot be used",
        lines(ended.out)[JOURNAL],
    )
    assert told is not None
    assert int(told[1]) <= middle
    assert int(told[1]) + int(told[2].replace(",", "")) == (run / JOURNAL).stat().st_size
    assert lines(ended.out)["checkpoint-000000000072.bin"].startswith(
        "ok: after 72 ticks; its place in the journal lies behind the damage"
    )


def test_a_torn_end_is_damage(run: Path, prism: Prism) -> None:
    data = (run / JOURNAL).read_bytes()
    (run / JOURNAL).write_bytes(data[:-10])
    ended = prism("verify", "run")
    assert ended.code == 1
    assert "in tick 71: ends " in lines(ended.out)[JOURNAL]


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
        (ANSWERS, b"", "BAD: damaged at byte 0: it does not begin with b'PRISMA"),
        (ANSWERS, None, "BAD: is missing"),
        (ANSWERS, b"PRISMA\r\n\x09\x00", "BAD: damaged at byte 8, after 0 answers: ends 2 bytes into a frame's head"),
        (SUMMARY, b'{"digest":', "BAD: cannot be read"),
        (
            CONFIG,
            b"simulation: {rounds: many}",
            "BAD: line 1: simulation.rounds: expected int",
        ),
        (CONFIG, None, "BAD: cannot be read: No such file or directory"),
        (MANIFEST, b"x", "BAD: is not what PRISM writes: "),
        (MANIFEST, None, "BAD: is missing"),
    ],
)
def test_each_file_that_is_empty_missing_or_cut_is_named(
    name: str, content: bytes | None, told: str, run: Path, prism: Prism
) -> None:
    (run / name).unlink() if content is None else (run / name).write_bytes(content)
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (1, "")
    assert lines(ended.out)[name].startswith(told), ended.out


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    "make",
    [
        stopped,
        extended,
        crashed_while_extended,
        forced,
        forked,
        prepared,
        killed,
        economic,
        with_inputs,
    ],
)
def test_every_kind_of_run_is_good(make: Callable[[Prism], None], prism: Prism) -> None:
    make(prism)
    ended = prism("verify", "made")
    assert (ended.code, "BAD" in ended.out) == (0, False), ended.out


Rows = list[str]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda rows: rows[:3], "has no row of round 3"),
        (lambda _: [], "has no row of round 1"),
        (lambda rows: [rows[0], *rows[2:]], "what follows its header is not the row of the next round"),
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
        (
            lambda rows: [rows[0].replace("round", "Round"), *rows[1:]],
            "it does not begin with the names of its columns",
        ),
        (lambda rows: [row.replace("\n", "\r\n") for row in rows], "it does not begin with the names of its col"),
        (lambda rows: [*rows[:3], rows[3].replace("\n", "\r\n")], "what follows round 2 is not the row of the next"),
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


@pytest.mark.slow
def test_of_a_crashed_run_rows_up_to_its_checkpoint_must_be_there_and_no_more(prism: Prism) -> None:
    crashed_while_extended(prism)
    told = f"made/{ROUNDS}: ok: rounds 1 to 2 of 4; `prism resume` writes the others again\n"
    assert told in prism("verify", "made").out
    rows = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(rows[:2]))
    assert f"made/{ROUNDS}: BAD: has no row of round 2\n" in prism("verify", "made").out


@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_a_digit_of_a_row_is_found_and_mended_by_a_resume(options: tuple[str, ...], run: Path, prism: Prism) -> None:
    good = (run / ROUNDS).read_bytes()
    rows = (run / ROUNDS).read_text().splitlines(keepends=True)
    cells = rows[2].split(",")
    cells[3] = str(int(cells[3]) + 1)
    (run / ROUNDS).write_text("".join([*rows[:2], ",".join(cells), *rows[3:]]))
    ended = prism("verify", "run", *options)
    name = rows[0].split(",")[3]
    told = f"round 2: {name} is {cells[3]}, and a replay gives {int(cells[3]) - 1}"
    assert (ended.code, ended.out.count("BAD")) == (1, 1)
    assert lines(ended.out)[ROUNDS] == "BAD: " + ("is not what the run has written" if options else told)
    resumed = prism("resume", "run", "-q")
    assert resumed.code == 0
    assert "rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again" in resumed.err
    assert (run / ROUNDS).read_bytes() == good
    assert prism("verify", "run").code == 0


@pytest.mark.slow
def test_rows_before_a_fork_are_compared_with_the_replay_of_its_past(prism: Prism) -> None:
    forked(prism)
    whole = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join([whole[0], whole[1].replace("1,24,", "1,24,9", 1), *whole[2:]]))
    assert f"made/{ROUNDS}: BAD: round 1: activations is 9" in prism("verify", "made").out


def test_what_another_code_gives_is_no_damage(run: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.runs.verify.changed_code", lambda *_: ["PRISM's code has changed"])

    async def diverged(*_: object) -> None:
        raise DivergedError(3, "agent 1 answers otherwise")

    monkeypatch.setattr("actors.runs.verify.replay", diverged)
    ended = prism("verify", "run")
    assert (ended.code, "BAD" in ended.out) == (0, False)
    assert lines(ended.out)[ROUNDS].startswith(
        "not checked: rounds 1 to 3; not worked out again, because the code has "
    )


def test_an_accepted_setting_is_named_and_no_damage(prism: Prism) -> None:
    forced(prism)
    told = "ok: the settings of the journal's header, except llm.model, changed with --accept-settings"
    assert f"made/{CONFIG}: {told}\n" in prism("verify", "made").out


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


def test_a_manifest_that_says_something_else_is_told(run: Path, prism: Prism) -> None:
    edit(run / MANIFEST, '"oracle": "embedded', '"oracle": "imbedded')
    told = lines(prism("verify", "run").out)
    assert told[MANIFEST] == "BAD: is not what the run has written: its seal is that of another content"
    resumed = prism("resume", "run", "-q")
    assert resumed.code == 0
    assert resumed.err.startswith(f"prism: {MANIFEST}: is not what the run has written; what it says of the run's past")
    assert prism("verify", "run").code == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"1 2\n2 3\n3 1\n1 3\n", "is not what the run has kept (sha256 "),
        (None, "is missing"),
    ],
)
def test_an_input_file_that_is_another_is_named(content: bytes | None, told: str, prism: Prism) -> None:
    with_inputs(prism)
    (kept,) = Path("made", "inputs").glob("*/ties.txt")
    kept.unlink()
    if content is not None:
        kept.write_bytes(content)
    ended = prism("verify", "made")
    assert ended.code == 1
    assert f"\n{kept}: BAD: {told}" in ended.out
    assert ended.out.count("BAD") == 1


@pytest.mark.slow
def test_a_configuration_of_the_past_that_cannot_be_read_is_named(prism: Prism) -> None:
    forked(prism)
    Path("made/config-until-24.yaml").unlink()
    assert "made/config-until-24.yaml: BAD: cannot be read: " in prism("verify", "made").out
