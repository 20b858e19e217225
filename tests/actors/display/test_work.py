"""What is shown while a run starts, before there is progress."""

from __future__ import annotations

import time

import pytest

from actors.display import work
from actors.display.work import step_shown
from tests.patience import HANG_S


def test_a_step_that_takes_long_is_a_line_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(work, "LINE_EVERY_S", 0.01)
    seen, give_up = "", time.monotonic() + HANG_S
    with step_shown("greeting the oracle"):
        while seen.count("\n") < 2:
            assert time.monotonic() < give_up, seen
            seen += capfd.readouterr().err
    assert set(seen.splitlines()) == {"prism: greeting the oracle, 0 s"}


def test_a_step_that_ends_at_once_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with step_shown("greeting the oracle"):
        pass
    assert capfd.readouterr().err == ""
