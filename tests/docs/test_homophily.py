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
    config, shown = (block.text for block in blocks(PAGE, "Homophily") if block.info in ("yaml", "text"))
    Path("study.yaml").write_text(config)
    ended = run_prism(monkeypatch, capsys, "validate", "study.yaml", "--build")
    assert ended.code == 0
    assert shown in ended.out
