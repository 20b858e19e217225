"""The script that writes the dashboards, and the list of their queries.

python -m deploy.grafana.build
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from deploy.grafana.annotations import ANNOTATIONS
from deploy.grafana.cost import COST_DASHBOARD
from deploy.grafana.economy import ECONOMY
from deploy.grafana.experiment import EXPERIMENT
from deploy.grafana.layout import Layout
from deploy.grafana.oracle import ORACLE
from deploy.grafana.overview import OVERVIEW
from deploy.grafana.runtime import RUNTIME

LAYOUTS: tuple[Layout, ...] = (OVERVIEW, ORACLE, COST_DASHBOARD, RUNTIME, ECONOMY, EXPERIMENT)
DASHBOARDS = Path(__file__).parent / "dashboards"


class Expression(NamedTuple):
    """The expression of one query of a panel or an annotation, with Grafana's variables still in it."""

    dashboard: str
    panel: str
    expr: str

    def filled(self, variables: Mapping[str, str]) -> str:
        """Return the expression as Grafana would send it, with values for the variables such as `$run`."""
        expr = self.expr
        for name, value in variables.items():
            expr = expr.replace(f"${name}", value)
        return expr


def render(layout: Layout) -> str:
    """Return a dashboard as the JSON that Grafana reads."""
    return json.dumps(layout.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def every_expression() -> Iterator[Expression]:
    """Yield every query of every panel, in the order of the dashboards, and then those of the annotations."""
    for layout in LAYOUTS:
        for panel in json.loads(render(layout))["panels"]:
            for target in panel.get("targets", ()):
                yield Expression(layout.uid, panel["title"], target["expr"])
    for annotation in ANNOTATIONS:
        yield Expression("annotations", annotation.name, annotation.expr)


def main() -> None:
    """Write a file for each dashboard."""
    for layout in LAYOUTS:
        (DASHBOARDS / f"{layout.uid}.json").write_text(render(layout), encoding="utf-8")


if __name__ == "__main__":
    main()
