"""The script that writes the PrometheusRule of the kustomization: the rules of Prometheus, for its operator.

python -m deploy.prometheus_rule
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

HERE = Path(__file__).parent
RULE_FILES = tuple(HERE / "prometheus" / "rules" / f"{name}.yml" for name in ("recording", "alerts", "kubernetes"))
RULE = HERE / "kubernetes" / "prometheusrule.yaml"
HEAD = """\
# Written by `make rules` from deploy/prometheus/rules: change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: prism
spec:
  groups:
"""


def prometheus_rule() -> str:
    """Return the text of the PrometheusRule: the groups of the files as they stand, with their comments."""
    texts = [path.read_text(encoding="utf-8") for path in RULE_FILES]
    return HEAD + "".join(indent(text.split("\ngroups:\n")[1], "  ") for text in texts)


def main() -> None:
    RULE.write_text(prometheus_rule(), encoding="utf-8")


if __name__ == "__main__":
    main()
