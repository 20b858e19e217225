"""Paths, tools and waiting for other processes, for the tests of deploy/."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "rules"
ALERTING = ("alerts.yml", "kubernetes.yml")
BIN = Path(sys.executable).parent
"""The directory of the tools that were installed with the tests."""


def needs(*tools: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if one of these programs is not installed."""
    missing = [tool for tool in tools if shutil.which(tool, path=f"{BIN}:{os.environ['PATH']}") is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: not installed")


def read_yaml(path: Path) -> Any:
    """Return the only document of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def final_codes() -> set[int]:
    """Return the exit codes of a run that another start would only repeat: those of the table in docs/runs.md."""
    table = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8").split("## Exit codes")[1]
    return {int(code) for code in re.findall(r"^\| (\d+) \|.*\| no \|$", table, flags=re.MULTILINE) if code != "0"}


def alerts(*files: str) -> list[dict[str, Any]]:
    """Return the shipped alerting rules of these files; without any, of all."""
    groups = [group for name in files or ALERTING for group in read_yaml(RULES / name)["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def recordings() -> list[dict[str, Any]]:
    """Return the shipped recording rules."""
    (group,) = read_yaml(RULES / "recording.yml")["groups"]
    return list(group["rules"])
