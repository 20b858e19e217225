"""The dashboards held against Grafana's published schema: the types of its npm package, of the version that we start.

`grafana_schema/schema.ts` says how JSON follows from these types, and the TypeScript compiler compares.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.grafana.build import DASHBOARDS
from tests.deploy.tools import DEPLOY, needs, read_yaml

SCHEMA = Path(__file__).parent / "grafana_schema"
BROKEN = (
    ('"displayMode": "list"', '"displayMode": "lst"'),
    ('"lineWidth": 2', '"lineWeight": 2'),
    ('"type": "stat"', '"type": "singlestat"'),
    ('"multi": true', '"multi": "yes"'),
)
"""Mistakes in a dashboard that must be found: a wrong value, name, kind and type."""


def typed(dashboard: str) -> str:
    """Return a module that compiles if the dashboard is as the schema says."""
    return f'import type {{ Checked }} from "./schema.js";\nexport const board: Checked = {dashboard};\n'


def run(directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_the_schema_is_that_of_the_grafana_that_we_start() -> None:
    image = read_yaml(DEPLOY / "compose.yaml")["services"]["grafana"]["image"]
    package = json.loads((SCHEMA / "package.json").read_text(encoding="utf-8"))
    version = package["dependencies"]["@grafana/schema"]
    assert re.search(rf"grafana/grafana:{re.escape(version)}\b", image)


@needs("npm", "node")
@pytest.mark.slow
def test_the_dashboards_are_as_the_published_schema_says(tmp_path: Path) -> None:
    project = shutil.copytree(SCHEMA, tmp_path / "schema")
    installed = run(project, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    assert "EINTEGRITY" not in installed.stderr
    if installed.returncode:
        pytest.skip(f"the packages cannot be had: {installed.stderr[-200:]}")
    boards = {path.stem: path.read_text(encoding="utf-8") for path in DASHBOARDS.iterdir()}
    for name, board in boards.items():
        (project / f"{name}.ts").write_text(typed(board), encoding="utf-8")
    for number, (right, wrong) in enumerate(BROKEN):
        assert right in boards["prism-overview"]
        (project / f"broken-{number}.ts").write_text(typed(boards["prism-overview"].replace(right, wrong, 1)))
    compiled = run(project, "node", str(Path("node_modules", "typescript", "bin", "tsc")), "--project", ".")
    errors = [line for line in compiled.stdout.splitlines() if ": error TS" in line]
    assert {line.partition("(")[0] for line in errors} == {f"broken-{number}.ts" for number in range(len(BROKEN))}, (
        compiled.stdout + compiled.stderr
    )
