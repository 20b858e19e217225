"""Charts of runs and experiments: one function a chart, from columns to an Altair object."""

from actors.plots import home  # noqa: F401  # before the others, which import altair
from actors.plots.cascades import cascade, cascade_depths, cascade_sizes, cascade_virality, cascades, tails
from actors.plots.lines import Course, Panel, course, curves, over_rounds, over_time
from actors.plots.render import render
from actors.plots.rows import Row, rows
from actors.plots.statechart import statechart

__all__ = [
    "Course",
    "Panel",
    "Row",
    "cascade",
    "cascade_depths",
    "cascade_sizes",
    "cascade_virality",
    "cascades",
    "course",
    "curves",
    "over_rounds",
    "over_time",
    "render",
    "rows",
    "statechart",
    "tails",
]
