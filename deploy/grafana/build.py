"""The script that writes the dashboards.

python -m deploy.grafana.build
"""

from __future__ import annotations

import json
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from deploy.grafana.cost import COST_DASHBOARD
from deploy.grafana.economy import ECONOMY
from deploy.grafana.layout import Layout
from deploy.grafana.oracle import ORACLE
from deploy.grafana.overview import OVERVIEW
from deploy.grafana.runtime import RUNTIME

LAYOUTS: tuple[Layout, ...] = (OVERVIEW, ORACLE, COST_DASHBOARD, RUNTIME, ECONOMY)
DASHBOARDS = Path(__file__).parent / "dashboards"


def render(layout: Layout) -> str:
    """Return a dashboard as the JSON that Grafana reads."""
    return json.dumps(layout.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    for layout in LAYOUTS:
        (DASHBOARDS / f"{layout.uid}.json").write_text(render(layout), encoding="utf-8")


if __name__ == "__main__":
    main()
