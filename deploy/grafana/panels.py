"""The few kinds of panel in the dashboards: each has a unit, a description and a readable legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from grafana_foundation_sdk.builders import common, heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphGradientMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.grafana.queries import Query

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
NOTHING = "no data"

Panel = timeseries.Panel | stat.Panel | heatmap.Panel | statetimeline.Panel
_Any = TypeVar("_Any", timeseries.Panel, stat.Panel, heatmap.Panel, statetimeline.Panel)


def lines(title: str, description: str, unit: str, *queries: Query, width: int = 12, table: bool = False) -> Panel:
    """Return a panel of numbers over time. With a table, the legend shows the latest and the largest of each."""
    return _series(title, description, unit, queries, table=table).span(width)


def stacked(title: str, description: str, unit: str, *queries: Query, width: int = 12) -> Panel:
    """Return a panel of the parts of a whole over time."""
    panel = _series(title, description, unit, queries, table=True).fill_opacity(60).line_width(0)
    return panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).min(0).span(width)


def number(
    title: str,
    description: str,
    unit: str,
    query: Query,
    *,
    names: Mapping[int, tuple[str, str]] | None = None,
    limits: Sequence[tuple[float, str]] = (),
) -> Panel:
    """Return a panel with the latest value in large digits.

    Args:
        names: `{value: (its name, its colour)}`.
        limits: `(the first value with this colour, the colour)`, ascending; blue below.
    """
    panel = stat.Panel().unit(unit).height(4).span(4).color_mode(BigValueColorMode.VALUE)
    panel = panel.graph_mode(BigValueGraphMode.NONE if names else BigValueGraphMode.AREA)
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"])).thresholds(_thresholds(limits))
    if names:
        panel = panel.mappings([_mapping(names)])
    # A number may be the latest one known. A state must be the present one: an ended run must not look active.
    return _dressed(panel, title, description, (query,), now=bool(names))


def states(title: str, description: str, query: Query, names: Mapping[int, tuple[str, str]], width: int = 12) -> Panel:
    """Return a panel of something that is in one of a few named states, over time."""
    panel = statetimeline.Panel().unit("none").mappings([_mapping(names)]).thresholds(_thresholds(())).span(width)
    panel = panel.show_value(VisibilityMode.AUTO).row_height(0.6).height(8)
    panel = panel.legend(_legend(table=False))
    return _dressed(panel, title, description, (query,))


def buckets(title: str, description: str, unit: str, expr: str, width: int = 24) -> Panel:
    """Return a panel of a histogram's counts in its buckets, over time."""
    panel = heatmap.Panel().span(width).height(9).calculate(False).unit("short")
    panel = panel.color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
    panel = panel.y_axis(heatmap.YAxisConfig().unit(unit)).cell_gap(1).show_legend().show_y_histogram()
    panel = panel.filter_values(heatmap.FilterValueRange().le(1e-9))
    return _dressed(panel, title, description, (Query(expr, "{{le}}"),), PromQueryFormat.HEATMAP)


def _series(title: str, description: str, unit: str, queries: Sequence[Query], *, table: bool) -> timeseries.Panel:
    panel = timeseries.Panel().unit(unit).height(8).line_width(1).fill_opacity(8).show_points(VisibilityMode.NEVER)
    panel = panel.gradient_mode(GraphGradientMode.NONE).legend(_legend(table=table))
    panel = panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    return _dressed(panel, title, description, queries)


def _dressed(
    panel: _Any,
    title: str,
    description: str,
    queries: Sequence[Query],
    form: PromQueryFormat = PromQueryFormat.TIME_SERIES,
    *,
    now: bool = False,
) -> _Any:
    panel = panel.title(title).description(description).datasource(SOURCE).no_value(NOTHING)
    for letter, query in zip("ABCDEFGH", queries, strict=False):
        target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend).ref_id(letter)
        target = target.datasource(SOURCE).format(form)
        panel = panel.with_target(target.instant() if now else target.range())
    return panel


def _legend(*, table: bool) -> common.VizLegendOptions:
    legend = common.VizLegendOptions().show_legend(True)
    if table:
        placed = legend.display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.RIGHT)
        return placed.calcs(["lastNotNull", "max"]).sort_by("Last *").sort_desc(True)
    return legend.display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)


def _thresholds(limits: Sequence[tuple[float, str]]) -> ThresholdsConfig:
    steps = [Threshold(value=None, color="blue"), *(Threshold(value=value, color=color) for value, color in limits)]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _mapping(names: Mapping[int, tuple[str, str]]) -> ValueMap:
    results = {str(value): ValueMappingResult(text=text, color=color) for value, (text, color) in names.items()}
    return ValueMap(options=results)
