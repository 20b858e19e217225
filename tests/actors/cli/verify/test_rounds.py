"""`prism verify`: whether the rows of `rounds.csv` are those of the journal's rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actors.core.errors import DivergedError
from actors.store.rounds import ROUNDS
from tests.actors.cli.verify.files import lines
from tests.actors.cli.verify.kinds import crashed_while_extended, forked
from tests.command import Prism

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
    assert "rounds.csv: rows up to the latest checkpoint are missing or damaged; begun again at tick " in resumed.err
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
