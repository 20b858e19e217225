"""The report of an experiment: the answer in words, whole and partial, with hostile texts as texts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from actors.experiments.record import read_experiment_record
from actors.pages.experiment_charts import MINUS, contrast_words
from actors.pages.experiment_report import experiment_report
from tests.actors.experiments.written import CONDITIONS, SEEDS, write_end, write_experiment_directory
from tests.actors.pages.test_report import parsed
from tests.command import prism_alone
from tests.hostile_texts import HARM, TEXTS

SHORT, LONG = CONDITIONS


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_experiment_directory(tmp_path_factory.mktemp("report") / "e")


@pytest.fixture(scope="module")
def html(experiment: Path) -> str:
    return experiment_report(read_experiment_record(experiment))


def test_the_answer_comes_first_in_words_with_size_and_interval(html: str) -> None:
    text = re.sub(r"<[^>]+>", " ", html[html.index('id="answer"') : html.index('id="comparisons"')])
    assert f"H1. likes: {SHORT} is less than {LONG}. Difference {MINUS}10.0, p = 0.004, 8 pairs, test wilcoxon." in text
    assert "Supported" in text
    assert "Not supported" not in text


def test_its_numbers_are_those_of_the_cells(html: str) -> None:
    rows = parsed(html).rows
    assert rows[SHORT][0] == "4.50"  # seeds 1 to 8
    assert rows[LONG][0] == "14.5"
    assert rows["feed.size"][:2] == ["2", "4.50"]


def test_it_loads_nothing_and_its_ids_are_different(html: str) -> None:
    tables = parsed(html)
    assert "script" not in tables.elements
    assert [address for address in tables.addresses if not address.startswith("#")] == []
    assert re.findall(r"url\((?!#)", html) == []
    assert sorted(tables.ids) == sorted(set(tables.ids))
    assert {address.removeprefix("#") for address in tables.addresses} <= set(tables.ids)


def test_the_same_files_give_the_same_bytes(experiment: Path, html: str) -> None:
    assert experiment_report(read_experiment_record(experiment)) == html


def test_an_experiment_that_is_going_on_says_so_at_the_top(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 2)
    html = experiment_report(read_experiment_record(path))
    assert "6 of its 16 cells are missing" in html[: html.index("<nav")]
    assert parsed(html).rows[LONG][0] == "11.5"  # of its first two seeds


def test_one_without_any_cell_has_a_page(tmp_path: Path) -> None:
    html = experiment_report(read_experiment_record(write_experiment_directory(tmp_path / "e", done=0)))
    assert "nothing can be compared" in html
    assert "No cell has a value yet." in html


def test_a_plan_that_came_late_makes_its_hypotheses_exploratory(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", cells_done=4)
    html = experiment_report(read_experiment_record(path))
    assert "after 4 results" in html
    assert html.index("<h3>Exploratory</h3>") > html.index('id="answer"')
    assert "<h3>Supported</h3>" not in html


def test_indices_shares_notes_and_the_end_of_sequential_seeds_are_shown(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e")
    index = {"measure": "likes", "factor": "feed.size", "value": 0.75, "low": 0.5, "high": 0.875}
    write_end(
        path,
        effects=[{**index, "kind": "total"}, {**index, "kind": "first_order", "value": 0.25}],
        variance=[{"measure": "likes", "seeds": 8, "shares": [{"source": "seeds", "share": 0.625}]}],
        notes=["likes: take more seeds"],
        stopped={"reason": "most", "seeds": 8, "looks": 2, "widest": "x", "half_width": 3.0, "wanted": 2.0},
    )
    html = experiment_report(read_experiment_record(path))
    rows = parsed(html).rows
    assert rows["likes"][:2] == ["between seeds, alike in all conditions", "62.5%"]
    assert "What likes depends on" in html
    assert "Likes: take more seeds." in html
    assert "stopped at 8 seeds after 2 looks" in html[: html.index("<nav")]


def test_hostile_names_are_texts(tmp_path: Path) -> None:
    names = [TEXTS["script"], TEXTS["end_of_svg_text"], TEXTS["right_to_left_override"], TEXTS["formula"]]
    path = write_experiment_directory(
        tmp_path / "e",
        conditions={name: {"feed.topic": name} for name in names},
        hypotheses=[{"measure": TEXTS["end_of_attribute"], "contrast": names[:2]}],
        measures={TEXTS["end_of_attribute"]: "likes"},
        question=TEXTS["end_of_script"] + TEXTS["title"],
    )
    html = experiment_report(read_experiment_record(path))
    tables = parsed(html)
    assert not {"script", "img", "iframe"} & set(tables.elements)
    assert f"<script>{HARM}" not in html
    assert "\u202e" not in html


def test_a_contrast_names_the_levels_that_differ_first() -> None:
    assert contrast_words("hot", "random") == f"hot {MINUS} random"
    assert contrast_words("size=2 algorithm=hot", "size=8 algorithm=hot") == f"size=2 {MINUS} size=8, algorithm=hot"


def test_the_command_takes_an_experiment_and_nothing_beside_it(experiment: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(experiment, tmp_path / "e")
    out = tmp_path / "report.html"
    assert prism_alone("report", str(copy), "--out", str(out)).code == 0
    assert "Do short feeds make fewer likes?" in out.read_text(encoding="utf-8")
    beside = prism_alone("report", str(copy), str(copy / "cells"), "--out", str(out), "--force")
    assert (beside.code, "is an experiment; make its report alone" in beside.err) == (2, True)
