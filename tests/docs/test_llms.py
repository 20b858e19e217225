"""The page for coding agents: its examples run, and it names every command and exit code."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from actors import run
from actors.cli.app import SECTIONS, cli
from actors.cli.command import EXIT_CODES
from actors.factory.config_file import read_config
from actors.factory.domains import chart_of
from actors.studies.experiments.plan import make_plan
from prism.statechart import Behaviour, lint
from tests.command import prism_alone, without_settings
from tests.docs.pages import blocks, read
from tests.paths import ROOT

PAGE = ROOT / "docs" / "llms.txt"
COMMANDS = [line for block in blocks(PAGE) if block.info == "sh" for line in block.text.splitlines()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files of the page."""
    for block in blocks(PAGE):
        if " " in block.info:
            (tmp_path / block.info.split()[1]).write_text(block.text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_names_every_command_and_exit_code() -> None:
    text = read(PAGE)
    named = set(re.findall(r"`([a-z-]+)", text.split("\n## 8. Commands\n")[1].split("\n## ")[0]))
    assert named >= {name for commands in SECTIONS.values() for name in commands}
    assert set(re.findall(r"\b\d+\b", text.split("Exit codes:")[1].split("An error")[0])) >= EXIT_CODES.keys()
    for line in COMMANDS:
        cli.make_context("prism", shlex.split(line)[1:]).close()


@pytest.mark.usefixtures("place")
def test_the_files_of_the_page_are_understood_and_its_domain_runs() -> None:
    config = read_config(Path("study.yaml"), ["statechart.file=chart.yaml"])
    behaviour = chart_of(config)
    assert isinstance(behaviour, Behaviour)
    assert lint(behaviour.chart, assume=behaviour.assumed) == []
    assert len(make_plan(Path("matters.yaml")).cells) == 12
    result = run("commute.yaml")
    assert 0 < result.summary.world["cars"] < 60
    assert result.summary.oracle_questions > 0


@pytest.mark.slow
def test_every_command_and_script_of_the_page_runs_in_its_order(place: Path) -> None:
    environment = {**without_settings(), "PYTHONPATH": str(ROOT)}
    for block in blocks(PAGE):
        for line in block.text.splitlines() if block.info == "sh" else ():
            ended = prism_alone(*shlex.split(line)[1:])
            assert ended.code == 0, (line, ended.err)
            if line.endswith("--json"):
                assert json.loads(ended.out)
        if block.info.startswith("python "):
            subprocess.run([sys.executable, block.info.split()[1]], cwd=place, env=environment, check=True)
    (answer,) = json.loads(Path("experiments/matters/outcome.json").read_text())["answers"]
    assert answer["text"].startswith(("Yes", "No", "Undecided"))
