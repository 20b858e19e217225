"""The few kinds of panel in the dashboards: each has a unit, a description and a readable legend.

Where several runs are chosen, numbers and lines have the run's name in the legend. The parts of two wholes cannot be
stacked on one panel: such a panel is repeated, one for each run, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import msgspec
from grafana_foundation_sdk.builders import common, heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphGradientMode,
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.grafana.palette import GOOD, PLAIN, Named
from deploy.grafana.queries import Query
from prism.palette import VERMILION

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
NOTHING = "no data"
OF_RUN = ": $run"
"""The end of the title of a panel that is repeated for each run."""
RUN_NAME = "{{run_id}}"

Panel = timeseries.Panel | stat.Panel | heatmap.Panel | statetimeline.Panel
_Any = TypeVar("_Any", timeseries.Panel, stat.Panel, heatmap.Panel, statetimeline.Panel)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The look of a panel, where it differs from that of its kind.

    Args:
        width: columns of the grid, which has 24; None for the width of its kind.
        table: whether the legend is a table with the latest and the largest value of each series.
        logarithmic: whether the axis is: for a limit that is far above the usual values.
        decimals: digits after the point; None for as many as fit.
        nothing: the text where there is no value.
    """

    width: int | None = None
    table: bool = False
    logarithmic: bool = False
    decimals: int | None = None
    nothing: str = NOTHING


USUAL = Look()


def lines(title: str, description: str, unit: str, *queries: Query, look: Look = USUAL) -> Panel:
    """Return a panel of numbers over time, with a line for each series of each run."""
    panel = _series(unit, table=look.table).span(look.width or 12)
    if look.logarithmic:
        panel = panel.scale_distribution(common.ScaleDistributionConfig().type(ScaleDistribution.LOG).log(10))
    for query in queries:
        if query.is_limit:
            panel = panel.override_by_regexp(f"/{query.legend}$/", _dashed())
    return _dressed(panel, title, description, [_of_its_run(query) for query in queries]).no_value(look.nothing)


def stacked(title: str, description: str, unit: str, query: Query, colors: Mapping[str, str] | None = None) -> Panel:
    """Return a panel of the parts of a whole over time, repeated for each run.

    Args:
        colors: `{series: colour}`.
    """
    panel = _series(unit, table=True).fill_opacity(75).line_width(0)
    panel = panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).min(0)
    for name, color in (colors or {}).items():
        panel = panel.override_by_name(name, [_fixed(color)])
    return _dressed(_repeated(panel), title + OF_RUN, description, (query,))


def number(
    title: str,
    description: str,
    unit: str,
    *queries: Query,
    limits: Sequence[tuple[float, str]] = (),
    look: Look = USUAL,
) -> Panel:
    """Return a panel with the latest known value in large digits.

    Args:
        limits: `(the first value with this colour, the colour)`, ascending; below them it is as it should be.
    """
    panel = _value(unit, look).thresholds(_thresholds(limits, GOOD if limits else PLAIN))
    if not unit.startswith("dateTime"):
        panel = panel.graph_mode(BigValueGraphMode.AREA)
    return _dressed(panel, title, description, [_of_its_run(query) for query in queries]).no_value(look.nothing)


def state(title: str, description: str, query: Query, names: Mapping[int, Named], look: Look = USUAL) -> Panel:
    """Return a panel with the name of a state. It is the present one: an ended run must not look active.

    Args:
        names: `{value: its name and colour}`.
    """
    panel = _value("none", look).thresholds(_thresholds((), PLAIN)).mappings([_mapping(names)])
    return _dressed(panel, title, description, (_of_its_run(query),), "instant").no_value(look.nothing)


def states(title: str, description: str, query: Query, names: Mapping[int, Named], width: int = 12) -> Panel:
    """Return a panel of something that is in one of a few named states, over time, with a row for each run."""
    panel = statetimeline.Panel().unit("none").mappings([_mapping(names)]).thresholds(_thresholds((), PLAIN))
    panel = panel.show_value(VisibilityMode.AUTO).row_height(0.6).height(8 if width == 12 else 5).span(width)
    panel = panel.legend(_legend(table=False))
    return _dressed(panel, title, description, (_of_its_run(query),))


def buckets(title: str, description: str, unit: str, expr: str) -> Panel:
    """Return a panel of a histogram's counts in its buckets, over time, repeated for each run."""
    panel = heatmap.Panel().height(9).calculate(False).unit("short")
    panel = panel.color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
    panel = panel.y_axis(heatmap.YAxisConfig().unit(unit)).cell_gap(1).show_legend().show_y_histogram()
    panel = panel.filter_values(heatmap.FilterValueRange().le(1e-9))
    query = Query(expr, "{{le}}")
    return _dressed(_repeated(panel), title + OF_RUN, description, (query,), "heatmap")


def _of_its_run(query: Query) -> Query:
    return query._replace(legend=f"{RUN_NAME} {query.legend}".rstrip())


def _repeated(panel: _Any) -> _Any:
    return panel.span(24).repeat("run").repeat_direction("h").max_per_row(2)


def _series(unit: str, *, table: bool) -> timeseries.Panel:
    panel = timeseries.Panel().unit(unit).height(8).line_width(2).fill_opacity(0).show_points(VisibilityMode.NEVER)
    panel = panel.gradient_mode(GraphGradientMode.NONE).legend(_legend(table=table))
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING).hide_zeros(True)
    return panel.tooltip(tooltip)


def _value(unit: str, look: Look) -> stat.Panel:
    panel = stat.Panel().unit(unit).height(4).span(look.width or 4).color_mode(BigValueColorMode.VALUE)
    panel = panel.graph_mode(BigValueGraphMode.NONE).reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return panel if look.decimals is None else panel.decimals(look.decimals)


def _dressed(
    panel: _Any,
    title: str,
    description: str,
    queries: Sequence[Query],
    asked: Literal["range", "instant", "heatmap"] = "range",
) -> _Any:
    panel = panel.title(title).description(description).datasource(SOURCE).no_value(NOTHING)
    form = PromQueryFormat.HEATMAP if asked == "heatmap" else PromQueryFormat.TIME_SERIES
    for letter, query in zip("ABCDEFGH", queries, strict=False):
        target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend).ref_id(letter)
        target = target.datasource(SOURCE).format(form)
        panel = panel.with_target(target.instant() if asked == "instant" else target.range())
    return panel


def _legend(*, table: bool) -> common.VizLegendOptions:
    legend = common.VizLegendOptions().show_legend(True)
    if table:
        placed = legend.display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.RIGHT)
        return placed.calcs(["lastNotNull", "max"]).sort_by("Last *").sort_desc(True)
    return legend.display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)


def _fixed(color: str) -> DynamicConfigValue:
    return DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": color})


def _dashed() -> list[DynamicConfigValue]:
    dashes = {"fill": "dash", "dash": [10, 10]}
    return [_fixed(VERMILION), DynamicConfigValue(id_val="custom.lineStyle", value=dashes)]


def _thresholds(limits: Sequence[tuple[float, str]], below: str) -> ThresholdsConfig:
    steps = [Threshold(value=None, color=below), *(Threshold(value=value, color=color) for value, color in limits)]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _mapping(names: Mapping[int, Named]) -> ValueMap:
    results = {str(value): ValueMappingResult(text=each.text, color=each.color) for value, each in names.items()}
    return ValueMap(options=results)
