"""The example of docs/people.md: validate prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import run_prism
from tests.docs.pages import blocks
from tests.paths import ROOT

PAGE = ROOT / "docs" / "people.md"


def test_validate_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [
        block.text for block in blocks(PAGE, "Shares from published tables") if block.info in ("csv", "yaml", "text")
    ]
    for name, text in zip(("age.csv", "region_leaning.csv", "study.yaml"), texts, strict=False):
        Path(name).write_text(text)
    ended = run_prism(monkeypatch, capsys, "validate", "study.yaml")
    assert ended.code == 0
    assert texts[3] in ended.out
