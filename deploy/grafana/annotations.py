"""The annotations of the dashboards: what has happened to a run, at its time, on every panel.

Prometheus alone has the phases with their times, and the number of events. What an event says is in `log.jsonl`,
which a log store such as Loki can show; `docs/operations.md` says how.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from grafana_foundation_sdk.models.dashboard import AnnotationQuery, DataSourceRef

from deploy.grafana.queries import of_run, rate, total
from prism.palette import BLUE, GREY, VERMILION


class Annotation(NamedTuple):
    """A query whose points are marked on the panels.

    Args:
        title: the title of a mark, with labels in double braces.
        has_time: whether the value is the time of the mark in milliseconds; otherwise each value above 0 is marked.
        is_shown: whether it is on when the dashboard is opened.
    """

    name: str
    expr: str
    title: str
    color: str
    has_time: bool
    is_shown: bool = True


PHASE_BEGAN = (
    "1000 * prism_run_phase_since_timestamp_seconds * on (job, instance) group_right () (prism_run_phase == 1)"
)
TROUBLE = "breaker_opened|spend_warning"

ANNOTATIONS = (
    Annotation("Phases", total(of_run(PHASE_BEGAN), "phase"), "{{run_id}}: {{phase}}", BLUE, has_time=True),
    Annotation(
        "Trouble",
        f"{total(rate(f'prism_events_total{{event=~{TROUBLE!r}}}'), 'event')} > 0",
        "{{run_id}}: {{event}}",
        VERMILION,
        has_time=False,
    ),
    Annotation(
        "Checkpoints",
        total(of_run("1000 * (prism_checkpoint_timestamp_seconds > 0)")),
        "{{run_id}}: checkpoint",
        GREY,
        has_time=True,
        is_shown=False,
    ),
)


class MarkedQuery(AnnotationQuery):
    """An annotation as the Prometheus data source reads it: that takes more fields than the general schema names."""

    def __init__(self, annotation: Annotation, source: DataSourceRef) -> None:
        super().__init__(
            name=annotation.name, datasource=source, enable=annotation.is_shown, icon_color=annotation.color
        )
        self._annotation = annotation

    def to_json(self) -> dict[str, object]:
        """Return the fields of an annotation, and those of the data source."""
        query: dict[str, Any] = {"expr": self._annotation.expr, "refId": "A", "range": True, "instant": False}
        return {
            **super().to_json(),
            "expr": self._annotation.expr,
            "target": query,
            "titleFormat": self._annotation.title,
            "textFormat": "",
            "tagKeys": "run_id",
            "useValueForTime": self._annotation.has_time,
        }
