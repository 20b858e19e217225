"""The report of an experiment: the answer in words, whole and partial, with hostile texts as texts."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from actors.factory.shipped import replications
from actors.pages.experiment_report import effect_charts, experiment_sections, header
from actors.pages.page import rendered, tag
from actors.pages.words import MINUS
from actors.studies.experiments.record import ExperimentRecord, read_experiment_record
from tests.actors.pages.test_html import Page
from tests.actors.studies.experiments.files import (
    CONDITIONS,
    SEEDS,
    write_end,
    write_experiment_directory,
)
from tests.command import prism_alone

SHORT, LONG = CONDITIONS


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_experiment_directory(tmp_path_factory.mktemp("report") / "e")


def page_of(record: ExperimentRecord) -> str:
    """Return the report without its pictures, which take long to draw."""
    sections = [each.drawn for each in experiment_sections(record) if each is not None]
    nodes = (header(record, "Report"), tag("nav"), *sections)
    return "".join(rendered(each, lambda picture: rendered(tag("i", picture.title))) for each in nodes)


@pytest.fixture(scope="module")
def html(experiment: Path) -> str:
    return page_of(read_experiment_record(experiment))


def test_the_page_begins_with_an_answer_that_a_newspaper_could_print(html: str) -> None:
    text = re.sub(r"<[^>]+>", " ", html[html.index("<h1>") : html.index("<nav")])
    answer = "Yes. Over 8 matched seeds people gave on average 4.5 likes under size=2 algorithm=hot and 14.5 under "
    assert f"{answer}size=8 algorithm=hot, 69% fewer (p = 0.0039; 8 seeds are few)." in text
    assert text.index(answer) < text.index("cells done")
    assert "PRISM of an unknown version; no input files." in text, "these cells have no manifest"


def test_answers_and_fallbacks_are_on_the_page(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e")
    for cell in (path / "cells").iterdir():
        summary = json.loads((cell / "summary.json").read_text())
        (cell / "summary.json").write_text(json.dumps({**summary, "fallback_share": 0.25}))
    record = read_experiment_record(path)
    html = page_of(record)
    assert record.outcome.answers[0].text in html
    assert f"by a fallback: 25% under {SHORT}, 25% under {LONG}." in html


def test_the_statistics_stand_below_in_words(html: str) -> None:
    text = re.sub(r"<[^>]+>", " ", html[html.index('id="statistics"') : html.index('id="comparisons"')])
    counted = "8 pairs, test wilcoxon."
    size = f"difference {MINUS}10.0, p = 0.004, {counted}"
    assert f"H1. likes: {SHORT} is less than {LONG}: {size}" in text
    assert "Supported" in text
    assert "Not supported" not in text


def test_its_numbers_are_those_of_the_cells(html: str) -> None:
    rows = Page(html).rows
    assert rows[SHORT][0] == "4.50"  # seeds 1 to 8
    assert rows[LONG][0] == "14.5"
    assert rows["feed.size"][:2] == ["2", "4.50"]


@pytest.mark.slow
def test_an_experiment_that_is_going_on_and_a_plan_that_came_late_say_so(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 2, cells_done=4)
    html = page_of(read_experiment_record(path))
    assert "6 of its 16 cells are missing" in html[: html.index("<nav")]
    assert Page(html).rows[LONG][0] == "11.5"  # of its first two seeds
    assert "after 4 results" in html
    assert html.index("<h3>Exploratory</h3>") > html.index('id="statistics"')
    assert "<h3>Supported</h3>" not in html


def test_one_without_any_cell_has_a_page(tmp_path: Path) -> None:
    html = page_of(read_experiment_record(write_experiment_directory(tmp_path / "e", done=0)))
    assert "nothing can be compared" in html
    assert "No cell has a value yet." in html


@pytest.mark.slow
def test_indices_and_notes_are_shown(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e")
    index = {"measure": "likes", "factor": "feed.size", "value": 0.75, "low": 0.5, "high": 0.875}
    write_end(
        path,
        effects=[{**index, "kind": "total"}, {**index, "kind": "first_order", "value": 0.25}],
        notes=["likes: take more seeds"],
    )
    html = page_of(read_experiment_record(path))
    assert "What likes depends on" in html
    assert "Likes: take more seeds." in html


FOUR: Mapping[str, Mapping[str, Any]] = {
    f"size={size} algorithm={algorithm}": {"feed.size": size, "feed.algorithm": algorithm}
    for size in (2, 8)
    for algorithm in ("hot", "random")
}


def test_before_the_end_levels_are_means_over_the_seeds_that_all_conditions_have(tmp_path: Path) -> None:
    record = read_experiment_record(
        write_experiment_directory(tmp_path / "e", conditions=FOUR, hypotheses=[], done=3 * SEEDS + 3)
    )
    [chart] = effect_charts(record)  # likes are 10 times the place of the condition, plus the seed: of 1 to 3, 2
    assert [row[:3] for row in chart.table.rows] == [
        ("feed.size", "2", 7.0),
        ("feed.size", "8", 27.0),
        ("feed.algorithm", "hot", 12.0),
        ("feed.algorithm", "random", 22.0),
    ]
    assert "Only the 3 of 8 seeds with a result in every condition count" in chart.reading


def test_a_level_of_one_factor_at_a_time_has_the_others_at_their_first_levels(tmp_path: Path) -> None:
    conditions = dict(list(FOUR.items())[:3])  # both are at their first levels; the algorithm varies; the size does
    path = write_experiment_directory(tmp_path / "e", conditions=conditions, hypotheses=[])
    [file] = (path / "plans").iterdir()
    plan = json.loads(file.read_text())
    plan["experiment"]["design"] = {"kind": "one_at_a_time", "factors": {"feed.size": [2, 8]}}
    file.write_text(json.dumps(plan))
    [chart] = effect_charts(read_experiment_record(path))
    assert [row[2] for row in chart.table.rows] == [4.5, 24.5, 4.5, 14.5]


@pytest.mark.slow
def test_the_command_takes_an_experiment_and_nothing_beside_it(experiment: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(experiment, tmp_path / "e")
    out = tmp_path / "report.html"
    assert prism_alone("report", str(copy), "--out", str(out)).code == 0
    assert "Do short feeds make fewer likes?" in out.read_text(encoding="utf-8")
    beside = prism_alone("report", str(copy), str(copy / "cells"), "--out", str(out), "--force")
    assert (beside.code, "is an experiment; make its report alone" in beside.err) == (2, True)


def test_a_replication_shows_its_published_figures_and_how_to_replicate_again(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e")
    (path / "replication.json").write_bytes(replications()["taylor-rule"].with_suffix(".json").read_bytes())
    sections = {each.name: each for each in experiment_sections(read_experiment_record(path)) if each is not None}
    text = re.sub(r"<[^>]+>", " ", "".join(map(rendered, sections["published"].parts)))
    assert "Hits: 12 of 16 predicted figures." in text
    assert " 1.533 " in text
    assert "miss: too low" in text
    again = "".join(map(rendered, sections["again"].parts))
    assert "prism replicate taylor-rule --out e\n" in again
    assert "prism experiment" not in again
