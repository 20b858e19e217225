"""Findings on the files that a run writes tick by tick: CRCs, the chain of hashes, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from actors.core.errors import JournalError
from actors.core.frames import ORIGIN, digest_of
from actors.store.checkpoint import Head, checkpoint_names, read_head
from actors.store.disk import Disk
from actors.store.journal import JOURNAL, Header, journal_size, read_header, read_tail, scan_journal
from actors.store.manifest import NOT_AS_WRITTEN, SUMMARY
from actors.store.oracle_log import ANSWERS, scan_answers
from actors.store.rounds import ROUNDS, content_of, rows_in
from actors.store.segments import segment_names


class Finding(NamedTuple):
    """The result of checking one file.

    Args:
        detail: the file's content or its fault, in words.
        is_checked: False if it cannot be checked.
    """

    file: str
    is_good: bool
    detail: str
    is_checked: bool = True

    @property
    def word(self) -> str:
        return ("ok" if self.is_checked else "not checked") if self.is_good else "BAD"


class Verification(NamedTuple):
    """The result of checking a run's files.

    Args:
        ticks: whole ticks in the journal; `digest`: the digest after them.
        header: the journal's header; None if it cannot be read.
    """

    findings: list[Finding]
    ticks: int
    digest: str
    header: Header | None = None

    @property
    def is_good(self) -> bool:
        return all(finding.is_good for finding in self.findings)

    @property
    def bad(self) -> set[str]:
        return {finding.file for finding in self.findings if not finding.is_good}


class _Journal(NamedTuple):
    """The content of the journal: its links by offset, and whether all of it is whole."""

    header: Header | None
    ticks: int
    digest: str
    links: dict[int, bytes]
    is_whole: bool


def verify_files(disk: Disk, expected: str | None = None, expected_ticks: int | None = None) -> Verification:
    """Check the files that a run writes tick by tick, and change none.

    Args:
        expected: the digest in the summary, if there is one.
        expected_ticks: the ticks in the summary; if the journal has more, the summary is from an earlier end of the
            run.
    """
    findings: list[Finding] = []
    # Another process may be running it. The file written last is read first, so that everything it depends on is there.
    names, journal = checkpoint_names(disk), _Journal(None, 0, digest_of(ORIGIN), {}, is_whole=False)
    rounds: bytes | None = None
    with _reported(ROUNDS, findings) as rounds_read:
        rounds = disk.read(ROUNDS, 0, disk.size(ROUNDS)) if ROUNDS in disk.names() else None
    with _reported(JOURNAL, findings):
        journal = _journal(disk, findings)
    if expected is not None and expected_ticks is not None and expected_ticks < journal.ticks:
        findings.append(Finding(SUMMARY, True, f"of the first {expected_ticks:,} ticks"))
    elif expected is not None:
        differs = f"gives digest {expected}, the journal {journal.digest}"
        is_same = expected == journal.digest
        findings.append(Finding(SUMMARY, is_same, "gives the journal's digest" if is_same else differs))
    with _reported(ANSWERS, findings):
        if ANSWERS in disk.names():
            count, _, damage, _ = scan_answers(disk)
            whole = f"{count:,} answers"
            detail = "" if damage is None else f"damaged at byte {damage.offset}, after {whole}: {damage.problem}"
            findings.append(Finding(ANSWERS, damage is None, detail or whole))
        else:
            findings.append(Finding(ANSWERS, False, "is missing"))
    latest = _checkpoints(disk, names, journal, findings)
    simulation = None if journal.header is None else journal.header.config.get("simulation")
    per_round = simulation.get("ticks_per_round") if isinstance(simulation, dict) else None
    if rounds_read and isinstance(per_round, int) and per_round > 0:
        synced = journal.ticks if expected_ticks == journal.ticks else 0 if latest is None else latest.position.tick
        findings.extend(_rounds(rounds, journal, per_round, synced // per_round, latest))
    return Verification(findings, journal.ticks, journal.digest, journal.header)


@contextmanager
def _reported(file: str, findings: list[Finding]) -> Iterator[list[str]]:
    """Turn an error of the block into a finding, so that other files are still checked; yield [file] once read."""
    read: list[str] = []
    try:
        yield read
        read.append(file)
    except OSError as error:
        findings.append(Finding(file, False, f"cannot be read: {error.strerror}"))
    except JournalError as error:
        findings.append(Finding(file, False, str(error).removeprefix(f"{file}: ")))


def _journal(disk: Disk, findings: list[Finding]) -> _Journal:
    header, offset = read_header(disk)
    scan = scan_journal(disk, offset, offsets=None)
    digest = digest_of(scan.link)
    if (damage := scan.damage) is not None:
        lost = journal_size(disk) - damage.offset
        detail = (
            f"damaged at byte {damage.offset}, in tick {scan.ticks}: {damage.problem}; {lost:,} bytes cannot be used"
        )
    else:
        sealed = segment_names(disk, read_tail(disk).sealed.start)
        segments = f" ({len(sealed):,} segments)" if sealed else ""
        detail = f"{scan.ticks:,} ticks of {header.agents:,} agents, {scan.end:,} bytes{segments}, digest {digest}"
    findings.append(Finding(JOURNAL, damage is None, detail))
    return _Journal(header, scan.ticks, digest, scan.links, damage is None)


def _checkpoints(disk: Disk, names: list[str], journal: _Journal, findings: list[Finding]) -> Head | None:
    """Check the checkpoints; return the head of the latest that can be used, None without one."""
    latest: Head | None = None
    end = max(journal.links, default=0)
    for name in names:
        try:
            checkpoint = read_head(disk, name)
        except FileNotFoundError:
            continue  # a process that runs it has just replaced the checkpoint
        except OSError as error:
            findings.append(Finding(name, False, f"cannot be read: {error.strerror}"))
            continue
        except JournalError as error:
            findings.append(Finding(name, False, str(error).removeprefix(f"{name}: ")))
            continue
        at, tick = checkpoint.position, f"after {checkpoint.position.tick:,} ticks"
        if journal.links.get(at.journal_bytes) == at.link:
            findings.append(Finding(name, True, tick))
            latest = checkpoint if latest is None or at.tick > latest.position.tick else latest
        elif not journal.is_whole and at.journal_bytes > end:
            detail = f"{tick}; its place in the journal lies behind the damage, and cannot be checked"
            findings.append(Finding(name, True, detail))
        else:
            detail = f"follows byte {at.journal_bytes} of a journal that is not this one"
            findings.append(Finding(name, False, detail))
    return latest


def _rounds(
    content: bytes | None, journal: _Journal, ticks_per_round: int, synced: int, latest: Head | None
) -> Iterator[Finding]:
    """Check that there is a row for each round, and no other.

    Args:
        synced: the round up to which there must be rows. A resume writes later ones again.
        latest: the head of the latest checkpoint, which has the rows up to it.
    """
    rows, rounds = rows_in(content or b"", ticks_per_round), journal.ticks // ticks_per_round
    last, problem = len(rows.rows), ""
    if rows.has_more:
        problem = "it does not begin with the names of its columns"
        if rows.header:
            place = f"round {last}" if last else "its header"
            problem = f"what follows {place} is not the row of the next round"
    elif journal.is_whole and last > rounds:
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
