"""Whether the files of a run are what was written: CRCs, the chain of hashes, and what one file says of another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from actors.core.errors import JournalError
from actors.core.frames import ORIGIN, digest_of
from actors.persistence.checkpoint import checkpoint_names, read_checkpoint
from actors.persistence.disk import Disk
from actors.persistence.journal import JOURNAL, Header, read_header, scan_journal
from actors.persistence.oracle_log import ANSWERS, scan_answers
from actors.runs.directory import SUMMARY
from actors.runs.rounds_csv import ROUNDS, rows_in, starts_of


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
    names, journal = checkpoint_names(disk), _Journal(None, 0, digest_of(ORIGIN), {}, is_whole=False)
    rounds: bytes | None = None
    with _reported(ROUNDS, findings) as rounds_read:
        rounds = disk.read(ROUNDS, 0, disk.size(ROUNDS)) if forks is not None and ROUNDS in disk.names() else None
    with _reported(JOURNAL, findings):
        journal = _journal(disk, findings)
    if expected is not None:
        findings.append(_summary(expected, expected_ticks, journal))
    with _reported(ANSWERS, findings):
        findings.append(_answers(disk))
    latest = _checkpoints(disk, names, journal, findings)
    if forks is not None and rounds_read and (per_round := _ticks_per_round(journal.header)) is not None:
        settled = journal.ticks if expected_ticks == journal.ticks else latest
        findings.extend(_rounds(rounds, journal, per_round, settled // per_round, starts_of(forks, per_round)))
    return Verified(findings, journal.ticks, journal.digest, journal.header)


@contextmanager
def _reported(file: str, findings: list[Finding]) -> Iterator[list[str]]:
    """A file that cannot be read is a finding, and no reason not to look at the others; it is yielded once read."""
    read: list[str] = []
    try:
        yield read
        read.append(file)
    except OSError as error:
        findings.append(Finding(file, False, f"cannot be read: {error.strerror}"))
    except JournalError as error:
        findings.append(Finding(file, False, str(error).removeprefix(f"{file}: ")))


def _summary(expected: str, ticks: int | None, journal: _Journal) -> Finding:
    if ticks is not None and ticks < journal.ticks:
        return Finding(SUMMARY, True, f"of the first {ticks:,} ticks")
    if expected != journal.digest:
        return Finding(SUMMARY, False, f"gives digest {expected}, the journal {journal.digest}")
    return Finding(SUMMARY, True, "gives the journal's digest")


def _journal(disk: Disk, findings: list[Finding]) -> _Journal:
    header, offset = read_header(disk)
    scan = scan_journal(disk, offset, offsets=None)
    digest = digest_of(scan.link)
    if (damage := scan.damage) is not None:
        lost = disk.size(JOURNAL) - damage.offset
        what = f"damaged at byte {damage.offset}, in tick {scan.ticks}: {damage.problem}; {lost:,} bytes cannot be used"
    else:
        what = f"{scan.ticks:,} ticks of {header.agents:,} agents, {scan.end:,} bytes, digest {digest}"
    findings.append(Finding(JOURNAL, damage is None, what))
    return _Journal(header, scan.ticks, digest, scan.links, damage is None)


def _answers(disk: Disk) -> Finding:
    if ANSWERS not in disk.names():
        return Finding(ANSWERS, False, "is missing")
    count, _, damage = scan_answers(disk)
    if damage is not None:
        return Finding(ANSWERS, False, f"damaged at byte {damage.offset}, after {count:,} answers: {damage.problem}")
    return Finding(ANSWERS, True, f"{count:,} answers")


def _checkpoints(disk: Disk, names: list[str], journal: _Journal, findings: list[Finding]) -> int:
    """The tick of the latest checkpoint that can be used; 0 without one."""
    latest, end = 0, max(journal.links, default=0)
    for name in names:
        try:
            checkpoint = read_checkpoint(disk, name)
        except FileNotFoundError:
            continue  # the run is at work, and has just replaced it
        except OSError as error:
            findings.append(Finding(name, False, f"cannot be read: {error.strerror}"))
            continue
        except JournalError as error:
            findings.append(Finding(name, False, str(error).removeprefix(f"{name}: ")))
            continue
        at, tick = checkpoint.position, f"after {checkpoint.position.tick:,} ticks"
        if journal.links.get(at.journal_bytes) == at.link:
            findings.append(Finding(name, True, tick))
            latest = max(latest, at.tick)
        elif not journal.is_whole and at.journal_bytes > end:
            what = f"{tick}; its place in the journal lies behind the damage, and cannot be checked"
            findings.append(Finding(name, True, what))
        else:
            what = f"follows byte {at.journal_bytes} of a journal that is not this one"
            findings.append(Finding(name, False, what))
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
        problem = "it does not begin with the names of its columns"
        if rows.header:
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
