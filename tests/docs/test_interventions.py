"""The examples of interventions in docs/behaviour.md load and run, and the commands pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism.config import load_config
from prism.config.interventions import CHANGEABLE, KINDS
from prism.config.load import load_interventions
from tests.catalogue import catalogue
from tests.command import run_prism
from tests.docs.pages import blocks
from tests.paths import ROOT

PAGE = ROOT / "docs" / "behaviour.md"
STUDY, ECONOMY, NEWS = (block.text for block in blocks(PAGE, "Interventions") if block.info == "yaml")


@catalogue("text", [STUDY, ECONOMY])
def test_an_example_of_a_configuration_is_one_that_can_be_run(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(text)
    assert load_config(text).interventions
    ended = run_prism(monkeypatch, capsys, "validate", "study.yaml", "--build")
    assert ended.code == 0, ended.err


def test_the_interventions_of_the_fork_fit_the_study() -> None:
    more = load_interventions(load_config(STUDY), NEWS, "news.yaml", 72).interventions
    assert len(more) == len(load_config(STUDY).interventions) + 1
    assert "--at 72 --intervene news.yaml" in PAGE.read_text()


def test_every_kind_and_every_setting_that_may_change_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert all(f"`{kind}`" in text for kind in KINDS)
    assert all(f"`{path}`" in text for path in CHANGEABLE["social"])
    assert all(f"`{path.removeprefix('economy.macro.')}`" in text for path in CHANGEABLE["economy"])
