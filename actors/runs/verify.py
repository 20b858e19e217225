"""Verification of a run: its files, its seals, and whether they fit each other and the input.

`verify_run` runs no tick. `recompute` does the ticks again, and compares the files that only a replay can check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from anyio import to_thread

from actors.core.errors import JournalError, RunDirectoryError
from actors.core.files import sha256_of
from actors.core.frames import ORIGIN, Damage, digest_of
from actors.core.state import RoundsTable
from actors.factory.domains import code_of
from actors.factory.input_files import kept_inputs, kept_sha256
from actors.factory.own_code import sources_below, sources_sha256
from actors.runs.compatibility import changed_code, manifest_of, unaccepted
from actors.runs.directory import TAPE, RunDirectory
from actors.runs.replay import replay
from actors.runs.summary import summarise
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Head, checkpoint_names, read_head
from actors.store.disk import Disk, RealDisk
from actors.store.journal import JOURNAL, Header, JournalScan, journal_size, read_tail, scan_journal
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
from actors.store.oracle_log import ANSWERS, AnswersScan, scan_answers
from actors.store.rounds import ROUNDS, Rows, content_of, read_content, rows_in, rows_of
from actors.store.run import Recorded, read_resolved
from actors.store.segments import segment_names
from prism.errors import ConfigError, PrismError


class Finding(NamedTuple):
    """The result of checking one file."""

    file: str
    is_good: bool
    detail: str  # the file's content or its fault, in words
    is_checked: bool = True  # False if it cannot be checked

    @property
    def word(self) -> str:
        return ("ok" if self.is_checked else "not checked") if self.is_good else "BAD"


class Verification(NamedTuple):
    """The result of checking a run's files."""

    findings: list[Finding]
    ticks: int  # whole ticks in the journal
    digest: str  # the digest after them
    header: Header | None = None  # the journal's header; None if it cannot be read

    @property
    def is_good(self) -> bool:
        return all(finding.is_good for finding in self.findings)

    @property
    def bad(self) -> set[str]:
        return {finding.file for finding in self.findings if not finding.is_good}


def verify_files(disk: Disk, expected: str | None = None, expected_ticks: int | None = None) -> Verification:
    """Check the files that a run writes tick by tick, and change none.

    `expected`, `expected_ticks`: the digest and the ticks in the summary, if there is one. If the journal has more
    ticks, the summary is from an earlier end of the run.
    """
    findings: list[Finding] = []
    # Another process may be running it. The file written last is read first, so that everything it depends on is there.
    names, rounds, has_rounds = checkpoint_names(disk), b"", ROUNDS in disk.names()
    whole: tuple[Header | None, JournalScan] = None, JournalScan(0, 0, ORIGIN, {}, Damage(0, "unread"))
    with _reported(ROUNDS, findings) as rounds_read:
        rounds = read_content(disk)
    with _reported(JOURNAL, findings):
        whole = _journal(disk, findings)
    header, journal = whole
    digest = digest_of(journal.link)
    if expected is not None and expected_ticks is not None and expected_ticks < journal.ticks:
        findings.append(Finding(SUMMARY, True, f"of the first {expected_ticks:,} ticks"))
    elif expected is not None:
        is_same = expected == digest
        differs = f"gives digest {expected}, the journal {digest}"
        findings.append(Finding(SUMMARY, is_same, "gives the journal's digest" if is_same else differs))
    with _reported(ANSWERS, findings):
        count, _, damage, _ = scan_answers(disk) if ANSWERS in disk.names() else AnswersScan(0, 0, None)
        told = f"{count:,} answers" if ANSWERS in disk.names() else "is missing"
        if damage is not None:
            told = f"damaged at byte {damage.offset}, after {told}: {damage.problem}"
        findings.append(Finding(ANSWERS, damage is None and told != "is missing", told))
    # The checkpoints; the latest that can be used says up to which round there must be rows.
    latest: Head | None = None
    for name in names:
        with _reported(name, findings):
            checkpoint = read_head(disk, name)
            at, tick = checkpoint.position, f"after {checkpoint.position.tick:,} ticks"
            if journal.links.get(at.journal_bytes) == at.link:
                findings.append(Finding(name, True, tick))
                latest = checkpoint if latest is None or at.tick > latest.position.tick else latest
            elif journal.damage is not None and at.journal_bytes > max(journal.links, default=0):
                detail = f"{tick}; its place in the journal lies behind the damage, and cannot be checked"
                findings.append(Finding(name, True, detail))
            else:
                detail = f"follows byte {at.journal_bytes} of a journal that is not this one"
                findings.append(Finding(name, False, detail))
    simulation = None if header is None else header.config.get("simulation")
    per_round = simulation.get("ticks_per_round") if isinstance(simulation, dict) else None
    if rounds_read and isinstance(per_round, int) and per_round > 0:
        synced = journal.ticks if expected_ticks == journal.ticks else 0 if latest is None else latest.position.tick
        findings += _rounds(rounds if has_rounds else None, journal, per_round, synced // per_round, latest)
    return Verification(findings, journal.ticks, digest, header)


@contextmanager
def _reported(file: str, findings: list[Finding]) -> Iterator[list[str]]:
    """Turn an error of the block into a finding, so that other files are still checked; yield [file] once read."""
    read: list[str] = []
    try:
        yield read
        read.append(file)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and file.startswith("checkpoint-"):
            return  # a process that runs it has just replaced the checkpoint
        findings.append(Finding(file, False, f"cannot be read: {error.strerror}"))
    except JournalError as error:
        findings.append(Finding(file, False, str(error).removeprefix(f"{file}: ")))


def _journal(disk: Disk, findings: list[Finding]) -> tuple[Header | None, JournalScan]:
    header, scan = read_tail(disk).header, scan_journal(disk)
    if (damage := scan.damage) is not None:
        lost = f"{journal_size(disk) - damage.offset:,} bytes cannot be used"
        detail = f"damaged at byte {damage.offset}, in tick {scan.ticks}: {damage.problem}; {lost}"
    else:
        sealed = segment_names(disk, read_tail(disk).sealed.start)
        size = f"{scan.end:,} bytes{f' ({len(sealed):,} segments)' if sealed else ''}"
        detail = f"{scan.ticks:,} ticks of {header.agents:,} agents, {size}, digest {digest_of(scan.link)}"
    findings.append(Finding(JOURNAL, damage is None, detail))
    return header, scan


def _rounds(
    content: bytes | None, journal: JournalScan, ticks_per_round: int, synced: int, latest: Head | None
) -> Iterator[Finding]:
    """Check that there is a row for each round, and no other.

    `synced`: the round up to which there must be rows, as a resume writes later ones again; `latest`: the head of the
    latest checkpoint, which has the rows up to it.
    """
    rows, rounds = rows_in(content or b"", ticks_per_round), journal.ticks // ticks_per_round
    last, problem = len(rows.rows), ""
    if rows.has_more:
        problem = "it does not begin with the names of its columns"
        if rows.header:
            place = f"round {last}" if last else "its header"
            problem = f"what follows {place} is not the row of the next round"
    elif journal.damage is None and last > rounds:
        problem = f"has a row of round {last}, and the journal {rounds} whole rounds"
    elif last < synced:
        problem = f"has no row of round {last + 1}"
    elif latest is not None and not (content or b"").startswith(content_of(latest.state.rounds)):
        problem = NOT_AS_WRITTEN
    if problem:
        yield Finding(ROUNDS, False, "is missing" if content is None else problem)
    elif last:
        rest = f" of {rounds:,}; `prism resume` writes the others again" if last < rounds else ""
        yield Finding(ROUNDS, True, f"rounds 1 to {last:,}{rest}")


def verify_run(directory: RunDirectory) -> Verification:
    """Check every file of a run, and its input files, and change none. No run's directory is a RunDirectoryError."""
    path, summary = directory.path, read_summary(directory.path)
    expected, ticks = str(summary.get("digest")) if summary else None, summary.get("ticks")
    problem = ""
    try:
        manifest = read_manifest(path)
    except RunDirectoryError as error:
        if not (path / JOURNAL).is_file() or not (path / MANIFEST).exists():
            raise
        problem = str(error).removeprefix(f"{path / MANIFEST}: ")
    checked = verify_files(RealDisk(path), expected, ticks if isinstance(ticks, int) else None)
    if problem:
        return checked._replace(findings=[*checked.findings, Finding(MANIFEST, False, problem)])
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


NOT_COMPARED = {
    *("wall_s", "wall_activations", "latency_s_p50", "latency_s_p95"),  # they depend on a clock
    *("llm", "oracle_calls", "oracle_calls_per_1000_activations", "oracle_retries", "retries_by_reason"),
    *("decisions_by_method", "fallbacks_by_reason", "crashes"),  # these and those above count calls and crashes
    *("resumes", "ticks_replayed", "status", "stopped_by"),  # of the processes of the run, and its end
}
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

    `checked`: the findings without a replay. If what a replay needs is damaged, it is not begun.
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
    is_new = {each.file for each in checked.findings if each.is_good or each.detail == NOT_AS_WRITTEN}
    return _with(checked, {file: problem for file, problem in problems.items() if problem and file in is_new})


def _failed(directory: RunDirectory, checked: Verification, error: PrismError) -> Verification:
    if isinstance(error, ConfigError):  # a missing own domain is no evidence about the files
        return without_replay(checked, f"not worked out again: {error}")
    manifest, config = read_manifest(directory.path), read_resolved(directory.path / CONFIG)
    if changed_code(manifest, manifest_of(config, {}, code_of(config))):
        return without_replay(checked, f"not worked out again, because the code has changed: {error}")
    file = ANSWERS if str(error).startswith(ANSWERS) else JOURNAL
    checked = _with(checked, {file: str(error).removeprefix(f"{file}: ")})
    return without_replay(checked, f"not worked out again, because of {file}")


def without_replay(checked: Verification, reason: str) -> Verification:
    """Return the findings with a note at the files that only a replay could check."""
    unchecked = {each.file: each.detail for each in checked.findings if each.file in {ROUNDS, SUMMARY} and each.is_good}
    return _with(checked, {file: f"{detail}; {reason}" for file, detail in unchecked.items()}, is_good=True)


def _with(checked: Verification, details: Mapping[str, str], *, is_good: bool = False) -> Verification:
    """Return the findings with other details of some files, which are bad, or else good but not checked."""
    return checked._replace(
        findings=[
            Finding(each.file, is_good, details[each.file], not is_good) if each.file in details else each
            for each in checked.findings
        ]
    )
