"""`prism verify`: whether a run's files are what was written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.actors.cli.verify.files import flip, lines
from tests.actors.cli.verify.kinds import (
    crashed_while_extended,
    economic,
    extended,
    forced,
    forked,
    forked_without_rows,
    killed,
    prepared,
    stopped,
    with_inputs,
)
from tests.command import Prism


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
