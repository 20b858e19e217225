"""docs/language-models.md says what the code does."""

from __future__ import annotations

import re

from prism.llm import OUTCOMES, REASONS
from tests.docs.pages import section
from tests.paths import ROOT

SECTION = section(ROOT / "docs" / "language-models.md", "What can go wrong with a call")


def test_every_reason_and_every_outcome_that_is_no_answer_is_documented() -> None:
    assert set(REASONS) == set(re.findall(r"^\| `(\w+)` \|", SECTION, re.MULTILINE)) <= set(OUTCOMES)
    assert [outcome for outcome in OUTCOMES[1:] if f"`{outcome}`" not in SECTION] == []
