"""The Python of docs/expressions.md and docs/chart-faults.md runs as it stands and prints what the pages say."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism.expressions.fields import WORDS
from prism.statechart import FindingKind
from tests.docs.pages import read
from tests.docs.test_python import examples, printed
from tests.paths import ROOT

PAGE, FAULTS = ROOT / "docs" / "expressions.md", ROOT / "docs" / "chart-faults.md"


@pytest.mark.process
@pytest.mark.parametrize(("page", "count"), [(PAGE, 3), (FAULTS, 1)], ids=["expressions", "faults"])
def test_the_blocks_of_a_page_print_what_it_says(page: Path, count: int, tmp_path: Path) -> None:
    given = examples(page)
    assert len(given) == count
    assert printed([example.code for example in given], tmp_path) == [example.output for example in given]


def test_the_table_has_every_word_of_the_language() -> None:
    language = read(PAGE).split("## The language")[1].split("## Fields")[0]
    assert [word for word in WORDS if f"`{word}" not in language and f" {word} " not in language] == []


def test_the_table_of_faults_has_every_kind_of_finding() -> None:
    rows = [line.split("`")[1] for line in read(FAULTS).splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(FindingKind)
