"""Whether the files of a run are what was written: CRCs, the chain of hashes, and what one file says of another."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

import msgspec

from actors.answer_log import ANSWERS, read_answers
from actors.answer_log import MAGIC as ANSWERS_MAGIC
from actors.checkpoint import checkpoints, read_checkpoint
from actors.digest import digest_of
from actors.disk import Disk, RealDisk
from actors.errors import JournalError, ResumeRefusedError
from actors.frames import ORIGIN, Damage
from actors.journal import JOURNAL, Header, read_header, read_ticks
from actors.manifest import Manifest, manifest_of
from actors.reopening import read_resolved
from actors.run_directory import CONFIG, MANIFEST, SUMMARY, RunDirectory
from actors.sameness import refuse_unless_same
from actors.series import ROUNDS, rows_in, starts_of
from prism.errors import ConfigError


class Finding(NamedTuple):
    """What was found about one file.

    Args:
        file: its name in the run's directory; of an input file, its path.
    """

    file: str
    is_good: bool
    what: str
    is_input: bool = False


class Verified(NamedTuple):
    """A run's files.

    Args:
        ticks: whole ticks in the journal, and `digest` theirs.
        header: the journal's; None if it cannot be read.
    """

    findings: list[Finding]
    ticks: int
    digest: str
    header: Header | None = None

    @property
    def is_good(self) -> bool:
        """Whether everything is what was written."""
        return all(finding.is_good for finding in self.findings)


class _Journal(NamedTuple):
    """What the journal holds: its links by offset, and whether all of it is whole."""

    header: Header | None
    ticks: int
    digest: str
    links: dict[int, bytes]
    is_whole: bool


def verify_run(directory: RunDirectory) -> Verified:
    """Read every file of a run, and the files that it was made of, and change none.

    Raises:
        RunDirectoryError: it is no run's directory.
    """
    manifest, summary = directory.manifest(), directory.summary()
    expected = None if summary is None else str(summary.get("digest"))
    ticks = None if summary is None else summary.get("ticks")
    forks = tuple(fork.tick for fork in manifest.forks)
    found = verify(RealDisk(directory.path), expected, ticks if isinstance(ticks, int) else None, forks)
    more = [*_configuration(directory, manifest, found), *_manifest(manifest, found.header), *_inputs(found.header)]
    if summary is None and (directory.path / SUMMARY).exists():
        more.append(Finding(SUMMARY, False, "cannot be read"))
    return found._replace(findings=[*found.findings, *more])


def verify(
    disk: Disk, expected: str | None = None, expected_ticks: int | None = None, forks: tuple[int, ...] | None = None
) -> Verified:
    """Read the files that a run has written tick by tick, and change none.

    Args:
        expected: the digest that the summary gives, where there is one.
        expected_ticks: its ticks; a summary of fewer than the journal has tells of the run before it went on.
        forks: the ticks after which it branched off others; None leaves out the series of its rounds.
    """
    findings: list[Finding] = []
    # What a run at work writes last is read first, so that all it relies on is there.
    names = checkpoints(disk)
    rounds = disk.read(ROUNDS, 0, disk.size(ROUNDS)) if forks is not None and ROUNDS in disk.names() else None
    journal = _journal(disk, findings)
    is_old = expected_ticks is not None and expected_ticks < journal.ticks
    if expected is not None and expected != journal.digest and not is_old:
        findings.append(Finding(SUMMARY, False, f"gives digest {expected}, the journal {journal.digest}"))
    findings.extend(_answers(disk))
    latest = _checkpoints(disk, names, journal.links, findings)
    if forks is not None and (per_round := _ticks_per_round(journal.header)) is not None:
        settled = journal.ticks if expected_ticks == journal.ticks else latest
        findings.extend(_rounds(rounds, journal, per_round, settled // per_round, starts_of(forks, per_round)))
    return Verified(findings, journal.ticks, journal.digest, journal.header)


def _journal(disk: Disk, findings: list[Finding]) -> _Journal:
    try:
        header, end = read_header(disk)
    except JournalError as error:
        findings.append(Finding(JOURNAL, False, str(error).removeprefix(f"{JOURNAL}: ")))
        return _Journal(None, 0, digest_of(ORIGIN), {}, is_whole=False)
    link, ticks, is_whole = ORIGIN, 0, True
    links = {end: link}
    for frame in read_ticks(disk, end):
        if isinstance(frame, Damage):
            lost = disk.size(JOURNAL) - frame.offset
            what = f"damaged at byte {frame.offset}, in tick {ticks}: {frame.problem}; {lost:,} bytes cannot be used"
            findings.append(Finding(JOURNAL, False, what))
            is_whole = False
            break
        link, end, ticks = frame.link, frame.end, ticks + 1
        links[end] = link
    else:
        what = f"{ticks:,} ticks of {header.agents:,} agents, {end:,} bytes, digest {digest_of(link)}"
        findings.append(Finding(JOURNAL, True, what))
    return _Journal(header, ticks, digest_of(link), links, is_whole)


def _answers(disk: Disk) -> Iterator[Finding]:
    if ANSWERS not in disk.names():
        yield Finding(ANSWERS, False, "is missing")
        return
    if disk.read(ANSWERS, 0, len(ANSWERS_MAGIC)) != ANSWERS_MAGIC:
        yield Finding(ANSWERS, False, f"does not begin with {ANSWERS_MAGIC!r}")
        return
    count = 0
    for record in read_answers(disk, len(ANSWERS_MAGIC)):
        if isinstance(record, Damage):
            yield Finding(ANSWERS, False, f"damaged at byte {record.offset}, after {count:,} answers: {record.problem}")
            return
        count += 1
    yield Finding(ANSWERS, True, f"{count:,} answers")


def _checkpoints(disk: Disk, names: list[str], links: dict[int, bytes], findings: list[Finding]) -> int:
    """The tick of the latest checkpoint that can be used; 0 without one."""
    latest = 0
    for name in names:
        try:
            checkpoint = read_checkpoint(disk, name)
        except FileNotFoundError:
            continue  # the run is at work, and has just replaced it
        except JournalError as error:
            findings.append(Finding(name, False, str(error).removeprefix(f"{name}: ")))
            continue
        at = checkpoint.position
        if links.get(at.journal_bytes) != at.link:
            what = f"follows byte {at.journal_bytes} of a journal that is not this one"
            findings.append(Finding(name, False, what))
        else:
            findings.append(Finding(name, True, f"after {at.tick:,} ticks"))
            latest = max(latest, at.tick)
    return latest


def _rounds(
    content: bytes | None, journal: _Journal, ticks_per_round: int, settled: int, starts: frozenset[int]
) -> Iterator[Finding]:
    """Whether the series has a row for each round, and no other.

    Args:
        settled: the round up to which rows must be there. Later ones are written once more by whoever goes on.
    """
    rows, there_are = rows_in(content or b"", ticks_per_round), journal.ticks // ticks_per_round
    problem = rows.lack(settled, starts)
    if rows.has_more:
        place = f"round {rows.last}" if rows.last else "its header"
        problem = f"what follows {place} is not the row of the next round"
    elif journal.is_whole and rows.last > there_are:
        problem = f"has a row of round {rows.last}, and the journal {there_are} whole rounds"
    if problem:
        yield Finding(ROUNDS, False, "is missing" if content is None else problem)
    elif rows.last:
        rest = f" of {there_are:,}; `prism resume` writes the others again" if rows.last < there_are else ""
        yield Finding(ROUNDS, True, f"rounds {rows.first:,} to {rows.last:,}{rest}")


def _ticks_per_round(header: Header | None) -> int | None:
    simulation = None if header is None else header.config.get("simulation")
    found = simulation.get("ticks_per_round") if isinstance(simulation, dict) else None
    return found if isinstance(found, int) and found > 0 else None


def _configuration(directory: RunDirectory, manifest: Manifest, found: Verified) -> Iterator[Finding]:
    """Whether the settings are those of the journal's header, but for what was changed with --force."""
    for fork in manifest.forks:
        try:
            read_resolved(directory.path / fork.config)
        except ConfigError as error:
            yield Finding(fork.config, False, error.problem)
    try:
        config = read_resolved(directory.path / CONFIG)
    except ConfigError as error:
        yield Finding(CONFIG, False, error.problem)
        return
    if found.header is None:
        return
    if config.simulation.length < found.ticks:
        what = f"ends the run after {config.simulation.length:,} ticks, and the journal has {found.ticks:,}"
        yield Finding(CONFIG, False, what)
        return
    now = manifest_of(config, manifest.inputs)  # other code is no damage
    same_code = msgspec.structs.replace(manifest, packages=now.packages, code=now.code)
    try:
        refuse_unless_same(directory.path, found.header, same_code, config, {}, force=False)
    except ResumeRefusedError as error:
        yield Finding(CONFIG, False, "; ".join(error.changes))
        return
    forced = f", but for {', '.join(manifest.accepted)}, changed with --force" if manifest.accepted else ""
    yield Finding(CONFIG, True, f"the settings of the journal's header{forced}")


def _manifest(manifest: Manifest, header: Header | None) -> Iterator[Finding]:
    if header is not None and (manifest.seed, manifest.inputs) != (header.seed, header.inputs):
        yield Finding(MANIFEST, False, "names another seed or other input files than the journal's header")


def _inputs(header: Header | None) -> Iterator[Finding]:
    """Whether the input files are those that the run was made of."""
    for name, was in (header.inputs if header is not None else {}).items():
        try:
            with Path(name).open("rb") as file:
                sha256 = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            yield Finding(name, False, f"cannot be read: {error.strerror}", is_input=True)
            continue
        if sha256 != was:
            what = f"has changed since the run began (sha256 {sha256[:12]}, was {was[:12]})"
            yield Finding(name, False, what, is_input=True)
        else:
            yield Finding(name, True, f"sha256 {sha256[:12]}, as when the run began", is_input=True)
