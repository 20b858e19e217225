"""The Python of docs/expressions.md, and of a section of docs/charts.md, runs as it stands and prints what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism.expressions.fields import WORDS
from prism.statechart import FindingKind
from tests.docs.pages import read, section
from tests.docs.test_python import examples, printed
from tests.paths import ROOT

PAGE, CHARTS, FAULTS = ROOT / "docs" / "expressions.md", ROOT / "docs" / "charts.md", "Faults of a chart"


@pytest.mark.parametrize(
    ("page", "heading", "count"), [(PAGE, None, 2), (CHARTS, FAULTS, 1)], ids=["expressions", "faults"]
)
def test_the_blocks_of_a_page_print_what_it_says(page: Path, heading: str | None, count: int, tmp_path: Path) -> None:
    given = examples(page, heading)
    assert len(given) == count
    assert printed([example.code for example in given], tmp_path) == [example.output for example in given]


def test_the_table_has_every_word_of_the_language() -> None:
    language = read(PAGE).split("## The language")[1].split("## Fields")[0]
    assert [word for word in WORDS if f"`{word}" not in language and f" {word} " not in language] == []


def test_the_table_of_faults_has_every_kind_of_finding() -> None:
    rows = [line.split("`")[1] for line in section(CHARTS, FAULTS).splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(FindingKind)
