"""The examples of docs/interventions.md: the configurations load and run, the commands pass, and the Python runs."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from prism.config import load_config
from prism.config.interventions import CHANGEABLE, KINDS
from prism.config.load import load_interventions
from prism.errors import ConfigError
from tests.command import run_prism
from tests.docs.pages import blocks
from tests.paths import ROOT

PAGE = ROOT / "docs" / "interventions.md"
YAML, PYTHON, TEXT = (
    [block.text for block in blocks(PAGE) if block.info == kind] for kind in ("yaml", "python", "text")
)
STUDY, ECONOMY, NEWS = YAML


@pytest.mark.parametrize("text", [STUDY, ECONOMY])
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


def test_the_mistake_is_refused_as_the_page_shows() -> None:
    wrong = "simulation: {seed: 3}\ninterventions:\n- {tick: 3, set: {population.size: 3}}\n"
    with pytest.raises(ConfigError) as caught:
        load_config(wrong, "study.yaml")
    assert [f"{caught.value}\n"] == TEXT


def test_every_kind_and_every_setting_that_may_change_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert all(f"`{kind}`" in text for kind in KINDS)
    assert all(f"`{path}`" in text for path in CHANGEABLE["social"])
    assert all(f"`{path.removeprefix('economy.macro.')}`" in text for path in CHANGEABLE["economy"])


@pytest.mark.parametrize("code", PYTHON)
def test_the_python_runs(code: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    assert printed.getvalue() == '24 publish by 17: "Breaking: the bridge is closed." 8\n'
