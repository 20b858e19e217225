"""The dashboard *Experiment*: cells done and to do, and what was lost."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.palette import BAD, WARNING
from deploy.grafana.panels import Look, buckets, lines, number, stacked
from deploy.grafana.queries import Query, now, quantiles, rate, share, total, trend

CELLS, SECONDS = "prism_experiment_cells", "prism_experiment_cell_seconds"
DONE = f'{CELLS}{{state="done"}}'
LEFT = f'{CELLS}{{state=~"running|waiting"}}'
LEFT_S = share(now(LEFT), trend(DONE))
LOSSES = "prism_experiment_losses_total"

EXPERIMENT = Layout(
    uid="prism-experiment",
    title="PRISM / Experiment",
    description="An experiment under way: cells done and to do, and what was lost. Its name among the runs is that of "
    "its directory.",
    rows={
        "In one look": (
            number("Done", "Cells that are done, also those of before.", "short", Query(now(DONE))),
            number("To do", "Cells that are running or waiting.", "short", Query(now(LEFT))),
            number(
                "Failed",
                "Cells without a result. The command names them at its end.",
                "short",
                Query(now(f'{CELLS}{{state="failed"}}')),
                limits=((1, BAD),),
            ),
            number(
                "Lost",
                "Processes and nodes that were lost; their cells are begun again.",
                "short",
                Query(now(LOSSES)),
                limits=((1, WARNING),),
            ),
            number("Running", "Cells that are running now.", "short", Query(now(f'{CELLS}{{state="running"}}'))),
            number(
                "Time left",
                "To the last cell, at the rate of the last 15 minutes.",
                "s",
                Query(LEFT_S),
                look=Look(nothing="no cell done"),
            ),
        ),
        "Cells": (
            stacked("Cells by state", "All cells of the plan.", "short", Query(now(CELLS, "state"), "{{state}}")),
            lines(
                "Cells an hour",
                "Cells that have ended well, as a rate.",
                "short",
                Query(f"3600 * {total(rate(f'{SECONDS}_count'))}", "done"),
            ),
            lines("Time of a cell", "Where it was run, without the way of its files.", "s", *quantiles(SECONDS)),
            buckets("Times of cells", "Cells by the time that they took.", "s", total(rate(f"{SECONDS}_bucket"), "le")),
        ),
        "Losses": (
            lines(
                "Cells at once",
                "Cells that are running.",
                "short",
                Query(now(f'{CELLS}{{state="running"}}'), "running"),
            ),
            lines(
                "Losses",
                "What was lost, by reason.",
                "short",
                Query(now("prism_experiment_losses_total", "reason"), "{{reason}}"),
            ),
        ),
    },
)
