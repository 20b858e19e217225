"""Verification of a run: its files, its seals, and whether they fit each other and the input. It runs no tick.

`actors.runs.recompute` compares the files that only a replay can check.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.core.files import sha256_of
from actors.factory.input_files import kept_inputs, kept_sha256
from actors.factory.own_code import sources_below, sources_sha256
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL
from actors.record.findings import Finding, Verification, verify_files
from actors.record.lock import LOCK
from actors.record.manifest import (
    CONFIG,
    MANIFEST,
    SUMMARY,
    Manifest,
    broken_seals,
    is_as_written,
    read_manifest,
    read_summary,
)
from actors.record.rounds import ROUNDS
from actors.record.run import read_resolved
from actors.runs.compatibility import unaccepted
from actors.runs.directory import TAPE, RunDirectory
from prism.errors import ConfigError
from prism.wording import counted


def verify_run(directory: RunDirectory) -> Verification:
    """Check every file of a run, and its input files, and change none.

    Raises:
        RunDirectoryError: it is no run's directory.
    """
    summary, manifest, problem = read_summary(directory.path), None, ""
    try:
        manifest = read_manifest(directory.path)
    except RunDirectoryError as error:
        if not (directory.path / JOURNAL).exists():
            raise
        problem = str(error).removeprefix(f"{directory.path / MANIFEST}: ")
        if not (directory.path / MANIFEST).exists():
            problem = "is missing"
    expected, ticks = str(summary.get("digest")) if summary else None, summary.get("ticks")
    forks = None if manifest is None else tuple(fork.tick for fork in manifest.forks)
    checked = verify_files(RealDisk(directory.path), expected, ticks if isinstance(ticks, int) else None, forks)
    findings = list(checked.findings)
    if manifest is None:
        findings.append(Finding(MANIFEST, False, problem))
        unchecked = [*(directory.path / name for name in (CONFIG, ROUNDS, TAPE)), *directory.logs()]
        detail = f"cannot be checked without {MANIFEST}"
        findings += [Finding(path.name, True, detail, is_checked=False) for path in unchecked if path.exists()]
    else:
        findings += _configuration(directory, manifest, checked)
        header = checked.header
        if header is not None and (manifest.seed, manifest.inputs) != (header.seed, header.inputs):
            detail = "names another seed or other input files than the journal's header"
            findings.append(Finding(MANIFEST, False, detail))
        elif not is_as_written(directory.path):
            detail = "is not what the run has written: its seal is that of another content"
            findings.append(Finding(MANIFEST, False, detail))
        elif header is not None:
            findings.append(Finding(MANIFEST, True, "seed and input files of the journal's header"))
    if not summary and (directory.path / SUMMARY).exists():
        findings.append(Finding(SUMMARY, False, "cannot be read"))
    if manifest is not None:
        findings = [*_sealed(directory, manifest, findings), *_inputs(directory, manifest)]
    return checked._replace(findings=findings)


def _sealed(directory: RunDirectory, manifest: Manifest, findings: list[Finding]) -> Iterator[Finding]:
    """Check the seals: yield the findings; a broken seal replaces a good finding, and further files get their own."""
    broken = broken_seals(directory.path, manifest)
    for finding in findings:
        problem = broken.pop(finding.file, "") if finding.is_good else ""
        yield Finding(finding.file, False, problem) if problem else finding
    found = {finding.file for finding in findings}
    for name in sorted({*broken, *manifest.sealed} - found):
        yield Finding(name, name not in broken, broken.get(name, "as it was written"))
    if (directory.path / TAPE).exists() and TAPE not in manifest.sealed:
        yield Finding(TAPE, True, "has no hash before the run has ended", is_checked=False)
    for log in directory.logs():
        detail = "a log is no result, and no two are equal" if log.is_file() else "is no regular file"
        yield Finding(log.name, log.is_file(), detail, is_checked=False)
    if (lock := directory.path / LOCK).exists() and not lock.is_file():
        yield Finding(LOCK, False, "is no regular file")


def _configuration(directory: RunDirectory, manifest: Manifest, checked: Verification) -> Iterator[Finding]:
    """Check that the settings are those of the journal's header, or were changed with --accept-settings."""
    for fork in manifest.forks:
        try:
            read_resolved(directory.path / fork.config)
        except ConfigError as error:
            yield _unreadable(fork.config, error)
    try:
        config = read_resolved(directory.path / CONFIG)
    except ConfigError as error:
        yield _unreadable(CONFIG, error)
        return
    if checked.header is None:
        return
    if config.simulation.length < checked.ticks:
        detail = f"ends the run after {config.simulation.length:,} ticks, and the journal has {checked.ticks:,}"
        yield Finding(CONFIG, False, detail)
        return
    if changes := [change for _, change in unaccepted(checked.header, manifest, config)]:
        yield Finding(CONFIG, False, "; ".join(changes))
        return
    forced = f", except {', '.join(manifest.accepted)}, changed with --accept-settings" if manifest.accepted else ""
    yield Finding(CONFIG, True, f"the settings of the journal's header{forced}")


def _unreadable(file: str, error: ConfigError) -> Finding:
    line = "" if error.line is None else f"line {error.line}: "
    key = "" if error.key is None else f"{error.key}: "
    return Finding(file, False, f"{line}{key}{error.problem}")


def _inputs(directory: RunDirectory, manifest: Manifest) -> Iterator[Finding]:
    """Check that the run has the inputs that its configurations name, as they were when it began."""
    names = dict.fromkeys(manifest.inputs)
    for file in manifest.configs:
        with suppress(ConfigError):  # another finding says that it cannot be read
            names |= dict.fromkeys(kept_inputs(read_resolved(directory.path / file)))
    for name in names:
        place = directory.path / name
        try:
            found = sources_sha256(sources_below(place, place)) if place.is_dir() else sha256_of(place)
        except FileNotFoundError:
            yield Finding(name, False, "is missing")
        except OSError as error:
            yield Finding(name, False, f"cannot be read: {error.strerror}")
        else:
            is_right = found == kept_sha256(name)
            told = f"{_size(place)}, as when the run began"
            yield Finding(name, is_right, told if is_right else f"is not what the run has kept (sha256 {found[:12]})")


def _size(place: Path) -> str:
    """Return the size of a kept input in words, and how many other runs have the same file on the disk."""
    files = [path for path in place.rglob("*") if path.is_file()] if place.is_dir() else [place]
    others = max((path.stat().st_nlink - 1 for path in files), default=0)
    shared = f", one file with {counted(others, 'other')}" if others else ""
    return f"{sum(path.stat().st_size for path in files):,} bytes{shared}"
