"""Charts as objects: what is drawn is in them, a user changes them, and they become SVG, PDF and PNG."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from actors import read_result
from actors.plots import (
    Panel,
    Row,
    cascade_depths,
    cascade_sizes,
    cascades,
    course,
    curves,
    over_rounds,
    over_time,
    render,
    rows,
)
from actors.plots.render import as_files, plain
from actors.plots.rows import ROWS_MAX
from prism.palette import LIGHT
from tests.catalogue import catalogue
from tests.hostile_texts import TEXTS

X = [1.0, 2.0, 3.0, 4.0]


def rows_of(chart: Any) -> list[dict[str, Any]]:
    return [row for text in chart.to_dict()["datasets"].values() for row in json.loads(text)]


def texts_of(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)<", svg)


def test_a_chart_of_a_run_is_changed_in_a_line_and_saved(small_run: Path, tmp_path: Path) -> None:
    result = read_result(small_run)
    chart = cascade_sizes({"mine": result.table("posts")})
    sizes = cascades(result.table("posts")).size.tolist()
    lines = [row for row in rows_of(chart) if row["kind"] == "line"]
    assert [row["x"] for row in lines] == sorted({*map(float, sizes)})
    assert sum(sizes) == len(result.table("posts"))
    chart.properties(width=600, title="My sizes").save(tmp_path / "sizes.pdf")
    assert (tmp_path / "sizes.pdf").read_bytes().startswith(b"%PDF")
    by_round = over_rounds({"mine": result.rounds, "again": result.table("rounds")}, ["posts", "likes"])
    assert {"mine", "again", "posts", "likes"} <= {*texts_of(render(by_round))}


def test_an_svg_is_text_without_script_in_the_colours_of_the_page() -> None:
    panels = {name: Panel({"a": course(X, [X]), "b": course(X, [X, X[::-1]])}) for name in ("likes", "posts")}
    chart = over_time(panels, "Both", "What it shows.", x="round", marks=[(2.0, LIGHT["text"])])
    svg = render(chart)
    assert svg == render(chart)
    assert {"likes", "posts", "round", "a", "b"} <= {*texts_of(svg)}
    assert "Both" in render(chart, has_title=True)
    assert "Both" not in svg
    assert {*re.findall(r"var\(--(\w+)\)", svg)} <= LIGHT.keys()
    assert not any(color in svg for color in LIGHT.values())
    assert "script" not in svg
    assert "var(" not in plain(svg)
    assert chart.description == "What it shows."
    files = as_files(svg)
    assert [files[ending][:4] for ending in ("pdf", "png")] == [b"%PDF", b"\x89PNG"]
    assert "var(" not in files["svg"].decode()


def test_of_many_rows_the_first_are_drawn_and_the_caption_says_so() -> None:
    chart = rows([Row(f"row {place}", float(place)) for place in range(100)], "posts", "Many", "Caption.")
    assert chart.description == f"Caption. The first {ROWS_MAX} of 100 are drawn."
    assert {row["words"] for row in rows_of(chart) if "words" in row} == {f"row {place}" for place in range(ROWS_MAX)}


def test_a_curve_falls_from_all_values_to_the_largest() -> None:
    chart = cascade_depths({"a": [1, 1, 2, 5], "b": [3]})
    lines = [(row["series"], row["x"], row["y"]) for row in rows_of(chart) if row["kind"] == "line"]
    assert lines == [("a", 1, 100), ("a", 2, 50), ("a", 5, 25), ("b", 3, 100)]


def test_counts_have_whole_numbers_at_their_axes_and_shares_at_most_all() -> None:
    few = over_time({name: Panel({"a": course([1, 2], [[0, 1]])}) for name in ("likes", "posts")}, "", "", x="round")
    for chart in (cascade_depths({"a": [1, 1, 2]}), cascade_sizes({"a": [1, 1, 1]}), few):
        numbers = [float(text) for text in texts_of(render(chart)) if re.fullmatch(r"[\d.]+", text)]
        assert numbers
        assert all(number.is_integer() and number <= 100 for number in numbers)


def test_the_axis_of_less_than_a_round_has_numbers() -> None:
    panels = {name: Panel({"a": course([0.25, 0.5, 0.75], [[10, 11, 12]])}) for name in ("likes", "posts")}
    assert {"0.4", "0.6"} <= {*texts_of(render(over_time(panels, "", "", x="round")))}


@catalogue(
    "chart",
    [
        lambda: curves({"a": course([1.0], [[1.0]])}, "", "", x="x", y="y", log="xy"),
        lambda: over_time({"a": Panel({"a": course([1.0], [[0.0]])})}, "", "", x="round"),
        lambda: rows([], "posts", "", ""),
        lambda: rows([Row("a", float("nan"), float("inf"), 1.0)], "posts", "", ""),
        lambda: curves({"a": course(X, [[1.0, 2.0, float("nan"), 3.0]])}, "", "", x="x", y="y"),
    ],
)
def test_little_data_makes_a_chart(chart: Any) -> None:
    assert render(chart()).startswith("<svg")


@pytest.mark.slow
def test_texts_stay_texts() -> None:
    texts = [*TEXTS.values()]
    panels = {text: Panel({text: course(X, [X]), "b": course(X, [X])}) for text in texts}
    told = " ".join(texts)
    svg = render(over_time(panels, told, told, x=told), has_title=True)
    assert "<script" not in svg
    assert "<img" not in svg
