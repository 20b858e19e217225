"""The renderer: one record as JSON, as a view of its own, as one line, or as tables that follow from its fields."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from actors.cli.render import show
from actors.logs.output import output


class Cell(msgspec.Struct):
    name: str
    wall_s: float
    fallback_share: float | None


class Found(msgspec.Struct):
    file: Path
    is_good: bool
    size_bytes: int
    cells: list[Cell]
    size: dict[str, float]
    likes_by_party: dict[str, int]
    stays: dict[str, dict[str, float]]


FOUND = Found(
    Path("a\x1b"),
    True,
    3 * 2**20,
    [Cell("x", 62.0, 0.25), Cell("y", 1.0, None)],
    {"mean": 1.5, "most": 4.0},
    {"left": 1234, "right": 411},
    {"idle": {"ticks": 2.0, "sd": 0.5}, "away": {"ticks": 3.0, "sd": 1.0}},
)


def test_a_record_without_a_view_is_shown_by_its_fields_and_their_units(capsys: pytest.CaptureFixture[str]) -> None:
    show(FOUND)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["file", r"a\x1b"],
        ["is", "good", "yes"],
        ["size", "3", "MiB"],
        ["size", "mean", "1.5,", "most", "4"],
        ["cells"],
        ["fallback"],
        ["name", "wall", "share"],
        ["x", "1", "min", "02", "s", "25.0%"],
        ["y", "1.000", "s", "-"],
        ["likes", "by", "party"],
        ["left", "1,234", "75.0%", "█" * 18],
        ["right", "411", "25.0%", "█" * 6],
        ["stays"],
        ["ticks", "sd"],
        ["idle", "2", "0.5"],
        ["away", "3", "1"],
    ]


def test_a_record_is_json_or_one_line_where_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def view() -> list[str]:
        raise AssertionError("nobody sees the view")

    monkeypatch.setattr(output, "is_quiet", True)
    show(FOUND, view)
    assert capsys.readouterr().out == ""
    show(FOUND, view, brief="digest")
    assert capsys.readouterr().out == "digest\n"
    monkeypatch.setattr(output, "as_json", True)
    show(FOUND, view, brief="digest")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert json.loads(printed) == {
        "file": "a\x1b",
        "is_good": True,
        "size_bytes": 3 * 2**20,
        "cells": [
            {"name": "x", "wall_s": 62.0, "fallback_share": 0.25},
            {"name": "y", "wall_s": 1.0, "fallback_share": None},
        ],
        "size": {"mean": 1.5, "most": 4.0},
        "likes_by_party": {"left": 1234, "right": 411},
        "stays": {"idle": {"ticks": 2.0, "sd": 0.5}, "away": {"ticks": 3.0, "sd": 1.0}},
    }
