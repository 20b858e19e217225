"""`prism verify`: whether the rows of `rounds.csv` are those of the journal's rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actors.runs.rounds_csv import ROUNDS
from tests.actors.cli.verify.files import lines
from tests.actors.cli.verify.kinds import crashed_while_extended
from tests.command import Prism

pytestmark = pytest.mark.long

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
