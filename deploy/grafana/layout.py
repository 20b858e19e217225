"""The layout of a dashboard: rows of panels, and the variables above them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import (
    AnnotationContainer,
    Dashboard,
    DashboardCursorSync,
    DashboardLinkType,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from deploy.grafana.annotations import ANNOTATIONS, MarkedQuery
from deploy.grafana.panels import SOURCE, Panel

TAG = "prism"


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a dashboard.

    Args:
        uid: part of its address in Grafana, and the name of its file.
        rows: `{title: panels from left to right}`; a line of the grid takes 24 columns.
    """

    uid: str
    title: str
    description: str
    rows: Mapping[str, tuple[Panel, ...]]

    def build(self) -> Dashboard:
        board = dashboard.Dashboard(self.title).uid(self.uid).description(self.description).tags([TAG])
        board = board.timezone("browser").time("now-1h", "now").refresh("10s").readonly()
        link = dashboard.DashboardLink("PRISM").type(DashboardLinkType.DASHBOARDS).tags([TAG]).icon("external link")
        link = link.as_dropdown(True).include_vars(True).keep_time(True)
        board = board.tooltip(DashboardCursorSync.CROSSHAIR).link(link)
        source = dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
        runs = dashboard.QueryVariable("run").label("Runs")
        runs = runs.description("Directories of runs, by name. Several stand beside each other.")
        runs = runs.query("label_values(prism_run_info, run_id)").datasource(SOURCE).multi(True)
        runs = runs.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_DESC)
        target = dashboard.QueryVariable("instance").label("Target").description("Where the run is scraped, host:port.")
        target = target.query('label_values(prism_run_info{run_id=~"$run"}, instance)').datasource(SOURCE)
        target = target.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)
        every = VariableOption(text="All", value="$__all", selected=True)
        target = target.include_all(True).all_value(".*").current(every)
        board = board.with_variable(source).with_variable(runs).with_variable(target)
        number = 0
        for title, panels in self.rows.items():
            number += 1
            board = board.with_row(dashboard.Row(title).id(number))
            for panel in panels:
                number += 1
                board = board.with_panel(panel.id(number))
        built = board.build()
        built.annotations = AnnotationContainer(list_val=[MarkedQuery(each, SOURCE) for each in ANNOTATIONS])
        for each in built.templating.list_val or ():
            # The SDK gives every variable the defaults of an interval, which Grafana's schema has for none.
            each.auto = each.auto_min = each.auto_count = None
        return built
