"""The real command line in this process, on a wide terminal."""

import pytest

from tests.command import Prism


@pytest.fixture
def prism(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> Prism:
    """Return a function that runs any command in an empty directory."""
    monkeypatch.setenv("COLUMNS", "200")
    return prism
