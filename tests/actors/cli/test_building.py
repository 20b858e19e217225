"""Progress while a large population is built."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from actors.cli import building
from actors.cli.building import build_with_progress
from actors.display import work
from actors.logs.output import output
from prism.config import Config, PopulationConfig

SMALL = Config(population=PopulationConfig(size=20))


def test_a_small_population_is_built_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert build_with_progress(SMALL).domain.size == 20
    assert capsys.readouterr().err == ""


def test_a_large_one_is_announced_and_a_quiet_one_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "SHOWN_FROM", 20)
    build_with_progress(SMALL)
    assert capsys.readouterr().err.startswith("prism: drawing who of 20 people follows whom\n")
    monkeypatch.setattr(output, "is_quiet", True)
    build_with_progress(SMALL)
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_the_step_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(work, "SafeConsole", lambda **_: Console(file=screen, force_terminal=True, width=80))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(building, "SHOWN_FROM", 20)
    build_with_progress(SMALL)
    assert "prism: preparing the world, 0 s" in screen.getvalue()
