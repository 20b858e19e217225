"""Every query of every dashboard."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from deploy.grafana.boards import BOARDS


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


def every_expression() -> Iterator[Expression]:
    """Yield every query of every panel, in the order of the dashboards, and then those of the annotations."""
    for board in BOARDS:
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield Expression(board["uid"], panel["title"], target["expr"])
    for mark in BOARDS[0]["annotations"]["list"]:
        yield Expression("annotations", mark["name"], mark["expr"])
