"""A wide terminal, so that no line of a command is folded."""

import pytest


@pytest.fixture(autouse=True)
def _is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
