"""Recomputation of the files beside a run's journal: a replay computes them again, and they are compared.

The rows of `rounds.csv` and the counts in `summary.json` are caches of the journal. Damage that changes one number into
another number can only be found in this way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from anyio import to_thread

from actors.factory.domains import code_of
from actors.persistence.journal import JOURNAL
from actors.persistence.oracle_log import ANSWERS
from actors.record.findings import Verification
from actors.record.manifest import CONFIG, MANIFEST, NOT_AS_WRITTEN, SUMMARY, read_manifest, read_summary
from actors.record.rounds import ROUNDS, Rows
from actors.record.run import Recorded, read_resolved
from actors.runs.compatibility import changed_code
from actors.runs.directory import RunDirectory
from actors.runs.manifest import manifest_of
from actors.runs.replay import replay
from actors.runs.rounds_csv import header_line, row_line
from actors.runs.summary import summarise
from actors.runtime.simulation import Simulation
from prism.errors import ConfigError, PrismError

NOT_COMPARED = frozenset(
    {
        # these depend on a clock
        "wall_s",
        "wall_activations",
        "latency_s_p50",
        "latency_s_p95",
        # these count calls and crashes, which a replay does not have
        "llm",
        "oracle_calls",
        "oracle_coalesced",
        "oracle_calls_per_1000_activations",
        "oracle_retries",
        "retries_by_reason",
        "decisions_by_method",
        "fallbacks_by_reason",
        "crashes",
        # these are about the processes of the run and its end
        "resumes",
        "ticks_replayed",
        "status",
        "stopped_by",
    }
)
"""The fields of a summary that a replay cannot give. The seal of the file covers them."""


class RowsComparison:
    """The rows of a run, compared with those of a replay while it runs."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._header = rows.header.decode("ascii", errors="replace").rstrip("\n")
        self.problem = ""
        """The first difference, in words; empty if there is none."""

    def after_round(self, simulation: Simulation) -> None:
        """Compare the row of the round that has just ended, if a round has ended and the file has its row."""
        row, rows = row_line(simulation, self._header), self._rows
        number = int(row.split(",", 1)[0])
        if self.problem or not rows.first <= number <= rows.last:
            return  # missing rows are found without a replay
        if not {*header_line(simulation).split(",")} <= {*self._header.split(",")}:
            self.problem = "does not have the columns of the run"
        elif rows.rows[number - rows.first] != f"{row}\n".encode():
            written = rows.rows[number - rows.first].decode(errors="replace").rstrip("\n")
            cells = zip(self._header.split(","), written.split(","), row.split(","), strict=True)
            name, is_, should = next(each for each in cells if each[1] != each[2])
            self.problem = f"round {number}: {name} is {is_}, and a replay gives {should}"


async def recompute(
    directory: RunDirectory, checked: Verification, on_begin: Callable[[Simulation], None] = lambda _: None
) -> Verification:
    """Return a verification with the findings of a replay in it. It takes as long as the run without its model.

    Args:
        checked: the findings without a replay. If what a replay needs is damaged, it is not begun.
    """
    needed = {JOURNAL, ANSWERS, CONFIG, MANIFEST, *(checked.header.inputs if checked.header is not None else ())}
    needed |= {name for name in checked.bad if name.startswith("config-until-")}
    if missing := sorted(needed & checked.bad):
        return without_replay(checked, f"not worked out again, because of {missing[0]}")
    if not checked.ticks:
        return checked

    def read_rows() -> Rows:
        with suppress(OSError):  # the file was found to be damaged
            return Recorded(directory.path).rows
        return Rows()

    rows = RowsComparison(await to_thread.run_sync(read_rows))
    try:
        simulation = await replay(directory, checked.ticks, on_begin, rows.after_round)
    except PrismError as error:
        return await to_thread.run_sync(_failed, directory, checked, error)
    problems = {ROUNDS: rows.problem}
    written = await to_thread.run_sync(read_summary, directory.path)
    if written.get("ticks") == simulation.engine.tick:  # else the summary is from an earlier end of the run
        replayed: dict[str, Any] = msgspec.json.decode(summarise(simulation, 0.0).to_json())
        for name, value in replayed.items():
            if name not in NOT_COMPARED and SUMMARY not in problems and written.get(name) != value:
                is_, should = (msgspec.json.encode(each).decode()[:200] for each in (written.get(name), value))
                problems[SUMMARY] = f"{name} is {is_}, and a replay gives {should}"
    return checked._replace(
        findings=[
            finding._replace(is_good=False, detail=problem)
            if (problem := problems.get(finding.file)) and (finding.is_good or finding.detail == NOT_AS_WRITTEN)
            else finding
            for finding in checked.findings
        ]
    )


def _failed(directory: RunDirectory, checked: Verification, error: PrismError) -> Verification:
    """Return the findings after a replay that did not reach its end."""
    if isinstance(error, ConfigError):  # a missing own domain is no evidence about the files
        return without_replay(checked, f"not worked out again: {error}")
    manifest, config = read_manifest(directory.path), read_resolved(directory.path / CONFIG)
    if changed_code(manifest, manifest_of(config, {}, code_of(config))):
        return without_replay(checked, f"not worked out again, because the code has changed: {error}")
    file = ANSWERS if str(error).startswith(ANSWERS) else JOURNAL
    detail = str(error).removeprefix(f"{file}: ")
    findings = [
        finding._replace(is_good=False, detail=detail) if finding.file == file else finding
        for finding in checked.findings
    ]
    return without_replay(checked._replace(findings=findings), f"not worked out again, because of {file}")


def without_replay(checked: Verification, reason: str) -> Verification:
    """Return the findings with a note at the files that only a replay could check."""
    return checked._replace(
        findings=[
            finding._replace(detail=f"{finding.detail}; {reason}", is_checked=False)
            if finding.file in {ROUNDS, SUMMARY} and finding.is_good
            else finding
            for finding in checked.findings
        ]
    )
