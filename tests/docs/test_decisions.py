"""The tests that decisions name as their evidence exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.catalogue import catalogue
from tests.paths import ROOT

PAGES = sorted((ROOT / "docs" / "decisions").glob("*.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@catalogue("page", PAGES)
def test_every_test_that_a_decision_names_is_there(page: Path) -> None:
    for file, name in NAMED.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / file).is_file(), f"{page.name}: there is no {file}"
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), (
            f"{page.name}: {file} has no {name}"
        )


def test_every_difference_from_the_specification_has_a_test() -> None:
    (page,) = [page for page in PAGES if page.stem.startswith("007-")]
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [line for line in rows if not line.startswith("| the specification |")]
    assert len(rows) > 30
    assert [row for row in rows if not NAMED.search(row.rsplit(" | ", 1)[-1])] == []


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [page.stem[:3] for page in PAGES]
    assert len(numbers) == len(set(numbers))
