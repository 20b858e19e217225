"""The Python of docs/expressions.md runs as it stands and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism.expressions.fields import WORDS
from tests.docs.pages import read
from tests.docs.test_python import examples, printed
from tests.paths import ROOT

PAGE = ROOT / "docs" / "expressions.md"


@pytest.mark.process
def test_the_blocks_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    given = examples(PAGE)
    assert len(given) == 4
    assert printed([example.code for example in given], tmp_path) == [example.output for example in given]


def test_the_table_has_every_word_of_the_language() -> None:
    language = read(PAGE).split("## The language")[1].split("## Fields")[0]
    assert [word for word in WORDS if f"`{word}" not in language and f" {word} " not in language] == []
