"""The ledger is the page of the lines that are kept, and these are of the files as they are now."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.studies.replications.ledger import Entry, page_of
from actors.studies.replications.replication_plan import load_replication, make_replication_plan
from prism.experiment import read_replication
from tests.docs.pages import blocks, read
from tests.docs.refresh_ledger import PAGE, kept
from tests.paths import ROOT

ENTRIES = kept()


def test_the_page_is_up_to_date() -> None:
    assert read(PAGE) == page_of(ENTRIES), "run python -m tests.docs.refresh_ledger"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda each: each.name)
def test_a_line_is_of_the_replication_as_its_file_has_it(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    replication = load_replication(entry.path)
    assert entry.line is not None, "run it, and keep its line with python -m tests.docs.refresh_ledger"
    assert [each.figure for each in entry.line.figures] == [*replication.figures]
    if replication.data is not None and not Path(replication.data).exists():
        pytest.skip(f"needs {replication.data}, which is not part of PRISM")
    assert entry.line.asked == make_replication_plan(entry.path).hash


def test_the_replication_of_the_page_can_be_read() -> None:
    (block,) = [each for each in blocks(ROOT / "docs" / "replications.md") if each.info == "yaml my-study.yaml"]
    assert len(read_replication(block.text, "my-study.yaml").figures) == 3
