"""`prism verify`: whether files, rows, settings and inputs of a run are what was written."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.core.errors import DivergedError
from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.actors.cli.conftest import Made
from tests.catalogue import catalogue
from tests.command import Ended, Prism
from tests.durability.process_runs import undo_seals
from tests.recorded import Recorded

LATEST = "checkpoint-000000000036.bin"
Change = Callable[[bytes], bytes | None]
"""What is made of a file's content; None removes it."""


@pytest.fixture
def run(few_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a run of 36 ticks, in `run`."""
    return shutil.copytree(few_run, tmp_path / "run")


def lines(ended: Ended) -> dict[str, str]:
    """Return `{file: the report on it}`."""
    return dict(line.partition("/")[2].split(": ", 1) for line in ended.out.splitlines())


def becomes(content: bytes | None) -> Change:
    return lambda _: content


def flipped(byte: int) -> Change:
    return lambda data: data[:byte] + bytes([data[byte] ^ 4]) + data[byte + 1 :]


def edited(before: str, after: str) -> Change:
    def edit(data: bytes) -> bytes:
        assert before.encode() in data
        return data.replace(before.encode(), after.encode(), 1)

    return edit


def rows(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda data: "".join(change(data.decode().splitlines(keepends=True))).encode()


def test_whole_files_are_ok_and_stay_as_they_are(run: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (0, "")
    told = lines(ended)
    assert re.fullmatch(r"ok: 36 ticks of 24 agents, [0-9,]+ bytes, digest [0-9a-f]{32}", told[JOURNAL])
    assert (told[ANSWERS], told[LATEST], told[ROUNDS]) == ("ok: 0 answers", "ok: after 36 ticks", "ok: rounds 1 to 3")
    assert told[CONFIG] == "ok: the settings of the journal's header"
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_flipped_bit_is_named_by_byte_and_tick(run: Path, prism: Prism) -> None:
    journal = run / JOURNAL
    middle = journal.stat().st_size // 2
    journal.write_bytes(flipped(middle)(journal.read_bytes()) or b"")
    ended = prism("verify", "run")
    told = re.fullmatch(
        r"BAD: damaged at byte (\d+), in tick \d+: a frame's CRC32 does not match its content; "
        r"([0-9,]+) bytes cannot be used",
        lines(ended)[JOURNAL],
    )
    assert (ended.code, told is None) == (1, False)
    assert told is not None
    assert int(told[1]) <= middle
    assert int(told[1]) + int(told[2].replace(",", "")) == journal.stat().st_size
    assert lines(ended)[LATEST].startswith("ok: after 36 ticks; its place in the journal lies behind the damage")


@catalogue(
    ("name", "change", "told"),
    [
        (JOURNAL, lambda data: data[:-10], "damaged at byte "),
        (JOURNAL, becomes(None), "there is none"),
        (LATEST, flipped(900), "damaged at byte "),
        (ANSWERS, becomes(b""), "damaged at byte 0: it does not begin with b'PRISMA"),
        (ANSWERS, becomes(None), "is missing"),
        (
            ANSWERS,
            becomes(b"PRISMA\r\n\x09\x00"),
            "damaged at byte 8, after 0 answers: ends 2 bytes into a frame's head",
        ),
        (SUMMARY, becomes(b'{"digest":'), "cannot be read"),
        (MANIFEST, becomes(b"{"), "is not what PRISM writes: "),
        (CONFIG, becomes(b"simulation: {rounds: many}"), "line 1: simulation.rounds: expected int"),
        (CONFIG, becomes(None), "cannot be read: No such file or directory"),
        (
            CONFIG,
            edited("algorithm: interest", "algorithm: hot"),
            'feed.algorithm is "hot", was "interest" when the run began',
        ),
        (CONFIG, edited("seed: 5", "seed: 6"), "simulation.seed is 6, was 5 when the run began"),
        (CONFIG, edited("  ticks: null", "  ticks: 35"), "ends the run after 35 ticks, and the journal has 36"),
        (ROUNDS, becomes(b""), "has no row of round 1"),
        (ROUNDS, rows(lambda all_: all_[:3]), "has no row of round 3"),
        (ROUNDS, rows(lambda all_: [all_[0], *all_[2:]]), "what follows its header is not the row of the next round"),
        (ROUNDS, rows(lambda all_: [*all_[:2], all_[3]]), "what follows round 1 is not the row of the next round"),
        (ROUNDS, rows(lambda all_: [*all_, all_[3]]), "what follows round 3 is not the row of the next round"),
        (ROUNDS, rows(lambda all_: [*all_[:3], all_[3][:-3]]), "what follows round 2 is not the row of the next round"),
        (
            ROUNDS,
            rows(lambda all_: [*all_, all_[3].replace("3,36,", "4,48,")]),
            "has a row of round 4, and the journal 3 whole rounds",
        ),
        (ROUNDS, edited("round", "Round"), "it does not begin with the names of its columns"),
        (ROUNDS, lambda data: data.removesuffix(b"\n") + b"\r\n", "what follows round 2 is not the row of the next"),
    ],
)
def test_what_was_changed_of_a_file_is_told(name: str, change: Change, told: str, few_run: Path, prism: Prism) -> None:
    shutil.rmtree("run", ignore_errors=True)
    path = Path(shutil.copytree(few_run, "run")) / name
    content = change(path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (1, "")
    assert lines(ended)[name].startswith(f"BAD: {told}"), ended.out
    assert ended.out.count("BAD") == 1 or name not in {ROUNDS, CONFIG, LATEST, MANIFEST}, ended.out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["live", "changes", "economy"])
def test_every_kind_of_run_is_good(kind: str, recorded: Recorded, prism: Prism) -> None:
    ended = prism("verify", str(recorded(kind)))
    assert (ended.code, "BAD" in ended.out) == (0, False), ended.out


@pytest.mark.slow
def test_of_a_run_that_crashed_while_it_was_made_longer_rows_up_to_its_checkpoint_must_be_there(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "48", "--out", "made").code == 0
    kept = {name: Path("made", name).read_bytes() for name in (SUMMARY, "checkpoint-000000000048.bin")}
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0
    for path in Path("made").glob("checkpoint-*.bin"):
        path.unlink()
    for name, content in kept.items():
        Path("made", name).write_bytes(content)
    whole = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(whole[:3]))
    undo_seals(Path("made"))
    ended = prism("verify", "made")
    told = "ok: rounds 1 to 2 of 4; `prism resume` writes the others again"
    assert (ended.code, "BAD" in ended.out, lines(ended)[ROUNDS]) == (0, False, told)
    Path("made", ROUNDS).write_text("".join(whole[:2]))
    assert lines(prism("verify", "made"))[ROUNDS] == "BAD: has no row of round 2"


@catalogue("options", [(), ("--quick",)])
def test_a_digit_of_a_row_is_found_and_mended_by_a_resume(
    options: tuple[str, ...], few_run: Path, prism: Prism
) -> None:
    shutil.rmtree("run", ignore_errors=True)
    path = Path(shutil.copytree(few_run, "run")) / ROUNDS
    good = path.read_bytes()
    all_ = path.read_text().splitlines(keepends=True)
    cells = all_[2].split(",")
    cells[3] = str(int(cells[3]) + 1)
    path.write_text("".join([*all_[:2], ",".join(cells), *all_[3:]]))
    ended = prism("verify", "run", *options)
    told = f"round 2: {all_[0].split(',')[3]} is {cells[3]}, and a replay gives {int(cells[3]) - 1}"
    assert (ended.code, ended.out.count("BAD")) == (1, 1)
    assert lines(ended)[ROUNDS] == "BAD: " + ("is not what the run has written" if options else told)
    resumed = prism("resume", "run", "-q")
    assert "rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again" in resumed.err
    assert (resumed.code, path.read_bytes()) == (0, good)


def test_what_another_code_gives_is_no_damage(run: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.runs.verify.changed_code", lambda *_: ["PRISM's code has changed"])

    async def diverged(*_: object) -> None:
        raise DivergedError(3, "agent 1 answers otherwise")

    monkeypatch.setattr("actors.runs.verify.replay", diverged)
    ended = prism("verify", str(run))
    assert (ended.code, "BAD" in ended.out) == (0, False)
    told = "not checked: rounds 1 to 3; not worked out again, because the code has "
    assert f"{ROUNDS}: {told}" in ended.out


def test_an_accepted_setting_is_named_and_no_damage(made: Made, prism: Prism) -> None:
    shutil.copytree(made("--ticks", "60"), "made")
    assert prism("resume", "made", "-q", "--ticks", "61", "--set", "llm.model=other", "--accept-settings").code == 0
    ended = prism("verify", "made")
    told = "ok: the settings of the journal's header, except llm.model, changed with --accept-settings"
    assert (ended.code, lines(ended)[CONFIG]) == (0, told)


def test_a_manifest_that_says_something_else_is_told_and_mended(run: Path, prism: Prism) -> None:
    path = run / MANIFEST
    path.write_bytes(edited('"oracle": "embedded', '"oracle": "imbedded')(path.read_bytes()) or b"")
    told = lines(prism("verify", "run"))
    assert told[MANIFEST] == "BAD: is not what the run has written: its seal is that of another content"
    resumed = prism("resume", "run", "-q")
    assert resumed.code == 0
    assert resumed.err.startswith(f"prism: {MANIFEST}: is not what the run has written; what it says of the run's past")
    assert prism("verify", "run", "--quick").code == 0


def test_an_input_file_that_is_another_is_named(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n")
    graph = ("--set", "population.graph.path=ties.txt")
    assert prism("run", "small.yaml", "-q", *graph, "--ticks", "9", "--out", "made").code == 0
    (kept,) = Path("made", "inputs").glob("*/ties.txt")
    for content, told in ((b"1 2\n2 3\n3 1\n1 3\n", "is not what the run has kept (sha256 "), (None, "is missing")):
        kept.unlink()
        if content is not None:
            kept.write_bytes(content)
        ended = prism("verify", "made")
        assert (ended.code, ended.out.count("BAD")) == (1, 1)
        assert f"\n{kept}: BAD: {told}" in ended.out
