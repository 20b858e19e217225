"""The examples of docs/people.md: the configurations load, the commands print what the page shows, the Python runs."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from prism.config import load_config
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import AgentState, build_oracle_prompt
from tests.catalogue import catalogue
from tests.command import run_prism
from tests.docs.pages import blocks
from tests.paths import ROOT

LABEL = "ideology (-1 is left, 1 is right)"
PAGE = ROOT / "docs" / "people.md"
YAML, PYTHON = (
    [block.text for block in blocks(PAGE, "Attributes") if block.info == kind] for kind in ("yaml", "python")
)


@catalogue("text", YAML)
def test_an_example_of_a_configuration_loads(text: str) -> None:
    assert load_config(text, "study.yaml").population.attributes


def test_the_overrides_of_the_page_change_one_attribute() -> None:
    for override in ("population.attributes.age={type: int, min: 18, max: 30}", "population.attributes.age.max=60"):
        assert any(override in block.text for block in blocks(PAGE, "Attributes"))
        assert (
            load_config(YAML[0], overrides=[override]).population.attributes["age"]
            != (load_config(YAML[0]).population.attributes["age"])
        )


@catalogue(
    ("heading", "files", "given", "options"),
    [
        ("Attributes", ("people.csv",), ("csv",), ()),
        ("Shares from published tables", ("age.csv", "region_leaning.csv", "study.yaml"), ("csv", "yaml"), ()),
        ("Homophily", ("study.yaml",), ("yaml",), ("--build",)),
    ],
)
def test_validate_prints_what_the_page_shows(
    heading: str,
    files: Sequence[str],
    given: Sequence[str],
    options: Sequence[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if heading == "Attributes":
        Path("study.yaml").write_text(f"simulation: {{seed: 5}}\n{YAML[1]}")
    page = blocks(PAGE, heading)
    for name, block in zip(files, (each for each in page if each.info in given), strict=False):
        Path(name).write_text(block.text)
    ended = run_prism(monkeypatch, capsys, "validate", "study.yaml", *options)
    assert ended.code == 0
    assert next(block.text for block in page if block.info == "text") in ended.out


def test_a_model_is_told_what_the_page_shows() -> None:
    config = load_config(YAML[-1], overrides=["population.size=12"])
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
    told = domain.agent(0).facts
    prompt = build_oracle_prompt(
        "", [], "", AgentState.IDLE, "decides", [], None, {**told, LABEL: 0.31, "region": "north"}
    )
    shown = [block.text for block in blocks(PAGE, "Attributes") if block.info == "text"][1]
    assert list(told) == [LABEL, "region"]
    assert shown in prompt


@catalogue("code", PYTHON)
def test_an_example_in_python_prints_true(code: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})
    assert set(out.getvalue().split()) == {"True"}
