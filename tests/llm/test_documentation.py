"""docs/llm-clients.md says what the code does."""

from __future__ import annotations

import re

from prism.checked import field_types
from prism.config.section import is_section
from prism.llm import OUTCOMES, REASONS, LLMConfig
from tests.catalogue import catalogue
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "llm-clients.md").read_text(encoding="utf-8")
DOCUMENTED = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", PAGE, re.MULTILINE))


@catalogue("field", [name for name, kind in field_types(LLMConfig).items() if not is_section(kind)])
def test_every_setting_is_documented_with_its_default(field: str) -> None:
    default = getattr(LLMConfig(), field)
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    assert DOCUMENTED[field] == (shown.lower() if isinstance(default, bool) else shown)


@catalogue("reason", REASONS)
def test_every_reason_is_documented(reason: str) -> None:
    assert re.search(rf"^\| `{reason}` \|", PAGE, re.MULTILINE)
    assert reason in OUTCOMES


@catalogue("outcome", OUTCOMES[1:])
def test_every_outcome_that_is_no_answer_is_documented(outcome: str) -> None:
    assert f"`{outcome}`" in PAGE
