"""What a run says it was made of, against its journal: settings, manifest, input files, summary."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.factory.input_files import locate_input
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, Header
from actors.runs.compatibility import unaccepted
from actors.runs.directory import CONFIG, MANIFEST, SUMMARY, RunDirectory
from actors.runs.manifest import Manifest
from actors.runs.resume import read_resolved
from actors.runs.verify_files import Finding, Verified, verify
from prism.errors import ConfigError


def verify_run(directory: RunDirectory) -> Verified:
    """Read every file of a run, and the files that it was made of, and change none.

    Raises:
        RunDirectoryError: it is no run's directory.
    """
    summary, manifest, problem = directory.summary(), None, ""
    try:
        manifest = directory.manifest()
    except RunDirectoryError as error:
        if not (directory.path / JOURNAL).exists():
            raise
        problem = str(error).removeprefix(f"{directory.path / MANIFEST}: ")
        if not (directory.path / MANIFEST).exists():
            problem = "is missing"
    expected = None if summary is None else str(summary.get("digest"))
    ticks = None if summary is None else summary.get("ticks")
    forks = None if manifest is None else tuple(fork.tick for fork in manifest.forks)
    found = verify(RealDisk(directory.path), expected, ticks if isinstance(ticks, int) else None, forks)
    findings = list(found.findings)
    if manifest is None:
        findings.append(Finding(MANIFEST, False, problem))
    else:
        findings += [*_configuration(directory, manifest, found), *_manifest(manifest, found.header)]
    if summary is None and (directory.path / SUMMARY).exists():
        findings.append(Finding(SUMMARY, False, "cannot be read"))
    findings += _inputs(found.header)
    return found._replace(findings=findings)


def _configuration(directory: RunDirectory, manifest: Manifest, found: Verified) -> Iterator[Finding]:
    """Whether the settings are those of the journal's header, but for what was changed with --force."""
    for fork in manifest.forks:
        try:
            read_resolved(directory.path / fork.config)
        except ConfigError as error:
            yield _unusable(fork.config, error)
    try:
        config = read_resolved(directory.path / CONFIG)
    except ConfigError as error:
        yield _unusable(CONFIG, error)
        return
    if found.header is None:
        return
    if config.simulation.length < found.ticks:
        what = f"ends the run after {config.simulation.length:,} ticks, and the journal has {found.ticks:,}"
        yield Finding(CONFIG, False, what)
        return
    if changes := [told for _, told in unaccepted(found.header, manifest, config)]:
        yield Finding(CONFIG, False, "; ".join(changes))
        return
    forced = f", but for {', '.join(manifest.accepted)}, changed with --force" if manifest.accepted else ""
    yield Finding(CONFIG, True, f"the settings of the journal's header{forced}")


def _unusable(file: str, error: ConfigError) -> Finding:
    line = "" if error.line is None else f"line {error.line}: "
    key = "" if error.key is None else f"{error.key}: "
    return Finding(file, False, f"{line}{key}{error.problem}")


def _manifest(manifest: Manifest, header: Header | None) -> Iterator[Finding]:
    if header is None:
        return
    if (manifest.seed, manifest.inputs) == (header.seed, header.inputs):
        yield Finding(MANIFEST, True, "seed and input files of the journal's header")
    else:
        yield Finding(MANIFEST, False, "names another seed or other input files than the journal's header")


def _inputs(header: Header | None) -> Iterator[Finding]:
    """Whether the input files are those that the run was made of."""
    for name, was in (header.inputs if header is not None else {}).items():
        try:
            with locate_input(name).open("rb") as file:
                sha256 = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            what = f"cannot be read: {error.strerror}; looked up from {Path.cwd()}"
            yield Finding(name, False, what, is_input=True)
            continue
        if sha256 != was:
            what = f"has changed since the run began (sha256 {sha256[:12]}, was {was[:12]})"
            yield Finding(name, False, what, is_input=True)
        else:
            yield Finding(name, True, f"sha256 {sha256[:12]}, as when the run began", is_input=True)
