"""The script that writes the dashboards.

python -m deploy.grafana.build
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.grafana.boards import BOARDS

DASHBOARDS = Path(__file__).parent / "dashboards"


def render(board: Mapping[str, Any]) -> str:
    """Return a dashboard as the JSON that Grafana reads."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    for board in BOARDS:
        (DASHBOARDS / f"{board['uid']}.json").write_text(render(board), encoding="utf-8")


if __name__ == "__main__":
    main()
