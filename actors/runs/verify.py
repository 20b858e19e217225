"""Verification of a run: its files, its seals, and whether they fit each other and the input.

`verify_run` runs no tick. `recompute` does the ticks again, and compares the files that only a replay can check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from anyio import to_thread

from actors.core.files import sha256_of
from actors.core.state import RoundsTable
from actors.factory.domains import code_of
from actors.factory.input_files import kept_inputs, kept_sha256
from actors.factory.own_code import sources_below, sources_sha256
from actors.runs.code import manifest_of
from actors.runs.compatibility import changed_code, unaccepted
from actors.runs.directory import TAPE, RunDirectory
from actors.runs.replay import replay
from actors.runs.summary import summarise
from actors.runtime.simulation import Simulation
from actors.store.disk import RealDisk
from actors.store.findings import Finding, Verification, verify_files
from actors.store.journal import JOURNAL
from actors.store.lock import LOCK
from actors.store.manifest import (
    CONFIG,
    MANIFEST,
    NOT_AS_WRITTEN,
    SUMMARY,
    Manifest,
    broken_seals,
    is_as_written,
    read_manifest,
    read_summary,
)
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS, Rows, rows_of
from actors.store.run import Recorded, read_resolved
from prism.errors import ConfigError, PrismError


def verify_run(directory: RunDirectory) -> Verification:
    """Check every file of a run, and its input files, and change none.

    Raises:
        RunDirectoryError: it is no run's directory, or its manifest cannot be read.
    """
    path, manifest, summary = directory.path, read_manifest(directory.path), read_summary(directory.path)
    expected, ticks = str(summary.get("digest")) if summary else None, summary.get("ticks")
    checked = verify_files(RealDisk(path), expected, ticks if isinstance(ticks, int) else None)
    findings = [*checked.findings, *_settings(path, manifest, checked)]
    header = checked.header
    if header is not None and (manifest.seed, manifest.inputs) != (header.seed, header.inputs):
        detail = "names another seed or other input files than the journal's header"
        findings.append(Finding(MANIFEST, False, detail))
    elif not is_as_written(path):
        findings.append(Finding(MANIFEST, False, f"{NOT_AS_WRITTEN}: its seal is that of another content"))
    elif header is not None:
        findings.append(Finding(MANIFEST, True, "seed and input files of the journal's header"))
    if not summary and (path / SUMMARY).exists():
        findings.append(Finding(SUMMARY, False, "cannot be read"))
    # A broken seal replaces a good finding, and further files get their own.
    broken = broken_seals(path, manifest)
    for place, finding in enumerate(findings):
        if finding.is_good and (problem := broken.pop(finding.file, "")):
            findings[place] = Finding(finding.file, False, problem)
    found = {finding.file for finding in findings}
    others = sorted({*broken, *manifest.sealed} - found)
    findings += [Finding(name, name not in broken, broken.get(name, "as it was written")) for name in others]
    if (path / TAPE).exists() and TAPE not in manifest.sealed:
        findings.append(Finding(TAPE, True, "has no hash before the run has ended", is_checked=False))
    for each in directory.logs():
        detail = "a log is no result, and no two are equal" if each.is_file() else "is no regular file"
        findings.append(Finding(each.name, each.is_file(), detail, is_checked=False))
    if (path / LOCK).exists() and not (path / LOCK).is_file():
        findings.append(Finding(LOCK, False, "is no regular file"))
    return checked._replace(findings=[*findings, *_inputs(path, manifest)])


def _settings(path: Path, manifest: Manifest, checked: Verification) -> Iterator[Finding]:
    """Check that the settings are those of the journal's header, or were changed with --accept-settings."""
    config = None
    for name in reversed(manifest.configs):
        try:
            config = read_resolved(path / name)
        except ConfigError as error:
            line = "" if error.line is None else f"line {error.line}: "
            key = "" if error.key is None else f"{error.key}: "
            yield Finding(name, False, f"{line}{key}{error.problem}")
            config = None
    if config is None or checked.header is None:
        return
    problem = "; ".join(change for _, change in unaccepted(checked.header, manifest, config))
    if config.simulation.length < checked.ticks:
        problem = f"ends the run after {config.simulation.length:,} ticks, and the journal has {checked.ticks:,}"
    forced = f", except {', '.join(manifest.accepted)}, changed with --accept-settings" if manifest.accepted else ""
    yield Finding(CONFIG, not problem, problem or f"the settings of the journal's header{forced}")


def _inputs(path: Path, manifest: Manifest) -> Iterator[Finding]:
    """Check that the run has the inputs that its configurations name, as they were when it began."""
    names = dict.fromkeys(manifest.inputs)
    for file in manifest.configs:
        with suppress(ConfigError):  # another finding says that it cannot be read
            names |= dict.fromkeys(kept_inputs(read_resolved(path / file)))
    for name in names:
        place = path / name
        try:
            found = sources_sha256(sources_below(place, place)) if place.is_dir() else sha256_of(place)
        except FileNotFoundError:
            yield Finding(name, False, "is missing")
        except OSError as error:
            yield Finding(name, False, f"cannot be read: {error.strerror}")
        else:
            is_right = found == kept_sha256(name)
            told = "as when the run began" if is_right else f"is not what the run has kept (sha256 {found[:12]})"
            yield Finding(name, is_right, told)


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


def rows_problem(rows: Rows, rounds: RoundsTable) -> str:
    """Return the first difference between the rows of a run and those of its replay, in words; empty without one."""
    header = rows.header.decode("ascii", errors="replace").rstrip("\n")
    if rows.rows and header != ",".join(rounds):
        return "does not have the columns of the run"
    for number, (line, row) in enumerate(zip(rows.rows, islice(rows_of(rounds), 1, None), strict=False), 1):
        if line != f"{row}\n".encode():
            written = line.decode(errors="replace").rstrip("\n")
            cells = zip(rounds, written.split(","), row.split(","), strict=True)
            name, is_, should = next(each for each in cells if each[1] != each[2])
            return f"round {number}: {name} is {is_}, and a replay gives {should}"
    return ""


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

    rows = await to_thread.run_sync(read_rows)
    try:
        simulation = await replay(directory, checked.ticks, on_begin)
    except PrismError as error:
        return await to_thread.run_sync(_failed, directory, checked, error)
    problems = {ROUNDS: rows_problem(rows, simulation.rounds)}
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
