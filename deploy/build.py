"""The script that writes what is built: Grafana's dashboards, and the rules of Prometheus for its Kubernetes operator.

python -m deploy.build
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from deploy.grafana.boards import BOARDS

HERE = Path(__file__).parent
DASHBOARDS = HERE / "grafana" / "dashboards"
RULE_FILES = tuple(HERE / "prometheus" / "rules" / f"{name}.yml" for name in ("recording", "alerts", "kubernetes"))
RULE = HERE / "kubernetes" / "prometheusrule.yaml"
HEAD = """\
# Written by `make dashboards` from deploy/prometheus/rules: change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: prism
spec:
  groups:
"""


def render(board: Mapping[str, Any]) -> str:
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def prometheus_rule() -> str:
    """Return the text of the PrometheusRule: the groups of the files as they stand, with their comments."""
    texts = [path.read_text(encoding="utf-8") for path in RULE_FILES]
    return HEAD + "".join(indent(text.split("\ngroups:\n")[1], "  ") for text in texts)


def main() -> None:
    for board in BOARDS:
        (DASHBOARDS / f"{board['uid']}.json").write_text(render(board), encoding="utf-8")
    RULE.write_text(prometheus_rule(), encoding="utf-8")


if __name__ == "__main__":
    main()
