"""What the tests of deploy/ share: where it is, which tools there are, and waiting for other processes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import pytest
import yaml

from tests.paths import ROOT
from tests.patience import HANG_S

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "rules"
BIN = Path(sys.executable).parent
"""Where the tools are that were installed with the tests."""
POLL_S = 0.1

_Found = TypeVar("_Found")


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skips where one of these programs is not installed."""
    missing = [tool for tool in tools if shutil.which(tool, path=f"{BIN}:{os.environ['PATH']}") is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: not installed")


def read_yaml(path: Path) -> Any:
    """The only document of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def alerts() -> list[dict[str, Any]]:
    """The shipped alerting rules."""
    (group,) = read_yaml(RULES / "alerts.yml")["groups"]
    return list(group["rules"])


def recordings() -> list[dict[str, Any]]:
    """The shipped recording rules."""
    (group,) = read_yaml(RULES / "recording.yml")["groups"]
    return list(group["rules"])


def eventually(look: Callable[[], _Found], what: str, deadline_s: float = HANG_S) -> _Found:
    """What another process comes to show, which no virtual time can hasten. Fails if it is not there in time."""
    until, pause = time.monotonic() + deadline_s, Event()
    while not (found := look()):
        if time.monotonic() > until:
            pytest.fail(f"{what}: not within {deadline_s:g} s")
        pause.wait(POLL_S)
    return found
