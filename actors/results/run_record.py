"""The record of a run for a report: its files, read once, whether it has ended, is going on, or was killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from actors.core.errors import RunDirectoryError, UntrustedCodeError
from actors.factory.domains import chart_of
from actors.persistence.disk import RealDisk
from actors.persistence.oracle_log import LoggedAnswer
from actors.record.answers import logged_in
from actors.record.course import Course, point_ticks, read_course
from actors.record.listing import ListedRun, RunStatus, list_run
from actors.record.manifest import CONFIG, Manifest, read_manifest, read_summary
from actors.record.run import read_resolved
from actors.results.audience import Audience, audience_of
from actors.results.distributions import AttributeCourse, read_distributions
from actors.results.observed import feed_of
from actors.runs.directory import RunDirectory
from actors.runs.rounds_csv import RoundsTable, read_rows, rounds_of
from actors.runs.shadow import ShadowSummary, read_shadow
from actors.runs.summary import Summary
from prism.config import Config
from prism.drawing import Outline, outline
from prism.errors import PrismError
from prism.llm.spending import Ledger, Spent
from prism.scorecard import Feed
from prism.sharing.records import Judged
from prism.social.people.population import ignore_step
from prism.statechart import Behaviour


class OracleTrace(msgspec.Struct, frozen=True, kw_only=True):
    """The traces that calls to a model have left in the oracle's log.

    Args:
        latencies_s: from a question's arrival to its answer, of the answers that a model gave.
        spent: calls by outcome.
    """

    latencies_s: list[float]
    spent: list[Spent]


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run, as its files tell it.

    Args:
        label: a short name that no other run of the report has.
        listed: its status, with the ticks and the digest.
        config: its settings; `manifest`: its versions and inputs.
        summary: the numbers of its end; None if it has not ended, or ended in another way.
        rounds: the columns of `rounds.csv`, up to the last whole round.
        course: what its journal says.
        oracle: what the oracle's log says; None without calls to a model.
        chart: the chart with what the run did on it; None if it cannot be read, for the reason in `chart_problem`.
        shadow: what `prism shadow` has found; None if nobody has asked.
        audience: the people of a social run; the reason, if they cannot be read again; None if nobody has asked.
        attributes: those that people change, over the rounds, if somebody has asked for the people.
    """

    label: str
    listed: ListedRun
    config: Config
    manifest: Manifest
    summary: Summary | None
    rounds: RoundsTable
    course: Course
    oracle: OracleTrace | None
    chart: Outline | None
    chart_problem: str
    shadow: ShadowSummary | None = None
    audience: Audience | str | None = None
    attributes: tuple[AttributeCourse, ...] = ()

    @property
    def path(self) -> Path:
        """The directory of the run."""
        return self.listed.path

    @property
    def states(self) -> list[str]:
        """The states in the order of the chart, and those that the journal has besides."""
        names = [] if self.chart is None else [p[-1].name for p in self.chart.definition.walk() if not p[-1].states]
        seen = dict.fromkeys(state for point in self.course.people for state in point)
        return list(dict.fromkeys([*names, *seen, *self.course.inside]))


def read_run(path: Path, label: str, on_tick: Callable[[int, int], None] = lambda _, __: None) -> RunRecord:
    """Return the record of the run in a directory. It reads the whole journal, and changes nothing.

    Args:
        label: the name in the report.
        on_tick: called with the ticks that have been read, and the ticks that there are.

    Raises:
        RunDirectoryError: it is no run's directory, or its journal or configuration cannot be read.
        JournalError: the journal cannot be read.
    """
    manifest = read_manifest(path)
    config = read_resolved(path / CONFIG)
    listed = list_run(path)
    if listed.status is RunStatus.DAMAGED:
        raise RunDirectoryError(f"{path}: is damaged, so there is nothing to report; `prism verify {path}` says where")
    chart, problem = _chart(config)
    initial = None if chart is None else entered(chart)
    each = point_ticks(listed.ticks, config.simulation.ticks_per_round)
    course = read_course(path, initial=initial, each_ticks=each, on_tick=lambda ticks: on_tick(ticks, listed.ticks))
    summary = read_summary(path) or {}
    return RunRecord(
        label=label,
        listed=listed,
        config=config,
        manifest=manifest,
        summary=_summary(summary) if summary.get("ticks") == listed.ticks == course.ticks else None,
        rounds=rounds_of(read_rows(RealDisk(path), config.simulation.ticks_per_round, until=course.ticks)),
        course=course,
        oracle=_oracle(path),
        chart=None if chart is None else outline(chart, course.activity),
        chart_problem=problem,
        shadow=read_shadow(RunDirectory(path), listed.digest),
    )


def with_people(run: RunRecord, on_step: Callable[[str], None] = ignore_step) -> RunRecord:
    """Return the record of a social run with its people, and with the attributes that they change.

    If they change any, it reads the journal again.

    Args:
        on_step: called with the next step, in words.

    Raises:
        JournalError: the journal cannot be read.
    """
    changed = run.course.attributes_changed
    audience = audience_of(run.config, changed, on_step)
    attributes: tuple[AttributeCourse, ...] = ()
    if changed and isinstance(audience, Audience):
        on_step("attributes over the rounds")
        attributes = read_distributions(run.path, run.config, audience.attributes, run.course.ticks)
    return msgspec.structs.replace(run, audience=audience, attributes=attributes)


def feed_of_run(run: RunRecord) -> Feed:
    """Return what a scorecard needs of a social run, also of one that has not ended."""
    world = {} if run.summary is None else run.summary.world
    ratio = world.get("behaviour", {}).get("engagement_per_post_seen") if world.get("posts_seen") else None
    return feed_of(run.course, ratio, run.config)


def entered(chart: Any) -> str:
    """Return the state in which every agent of a chart starts."""
    flat = chart.chart if isinstance(chart, Behaviour) else chart
    name: str = flat.initial.value
    return name


def _chart(config: Config) -> tuple[Any, str]:
    """Return the chart of a run, or the reason why it cannot be read: its file, or its code, may be gone."""
    try:
        return chart_of(config), ""
    except UntrustedCodeError as error:
        return None, error.reason
    except PrismError as error:
        return None, str(error)


def _summary(fields: dict[str, Any]) -> Summary | None:
    try:
        return Summary.from_fields(fields)
    except msgspec.ValidationError:
        return None


def _oracle(path: Path) -> OracleTrace | None:
    """Return what the oracle's log says, up to any damage; None if no model was asked."""
    latencies, ledger = list[float](), Ledger()
    for record in logged_in(path):
        if isinstance(record, Judged):
            continue
        ledger.add(record.spent)
        if isinstance(record, LoggedAnswer) and not record.reason and record.spent:
            latencies.append(record.latency_s)
    spent = sorted(ledger, key=lambda each: each.outcome)
    return OracleTrace(latencies_s=latencies, spent=spent) if spent else None
