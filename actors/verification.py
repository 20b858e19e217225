"""Whether the files of a run are what was written: CRCs, the chain of hashes, and what one file says of another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from actors.answer_log import ANSWERS, read_answers
from actors.answer_log import MAGIC as ANSWERS_MAGIC
from actors.checkpoint import checkpoints, read_checkpoint
from actors.digest import digest_of
from actors.disk import Disk
from actors.errors import JournalError
from actors.frames import ORIGIN, Damage
from actors.journal import JOURNAL, read_header, read_ticks


class Finding(NamedTuple):
    """What was found about one file."""

    file: str
    is_good: bool
    what: str


class Verified(NamedTuple):
    """A run's files.

    Args:
        ticks: whole ticks in the journal, and `digest` theirs.
    """

    findings: list[Finding]
    ticks: int
    digest: str

    @property
    def is_good(self) -> bool:
        """Whether everything is what was written."""
        return all(finding.is_good for finding in self.findings)


def verify(disk: Disk, expected: str | None = None, expected_ticks: int | None = None) -> Verified:
    """Read every file of a run and change none.

    Args:
        expected: the digest that the summary gives, where there is one.
        expected_ticks: its ticks; a summary of fewer than the journal has tells of the run before it went on.
    """
    findings: list[Finding] = []
    links: dict[int, bytes] = {}
    ticks, digest = 0, digest_of(ORIGIN)
    try:
        ticks, digest = _journal(disk, findings, links)
    except JournalError as error:
        findings.append(Finding(JOURNAL, False, str(error).removeprefix(f"{JOURNAL}: ")))
    is_old = expected_ticks is not None and expected_ticks < ticks
    if expected is not None and expected != digest and not is_old:
        findings.append(Finding("summary.json", False, f"gives digest {expected}, the journal {digest}"))
    findings.extend(_answers(disk))
    findings.extend(_checkpoints(disk, links))
    return Verified(findings, ticks, digest)


def _journal(disk: Disk, findings: list[Finding], links: dict[int, bytes]) -> tuple[int, str]:
    header, end = read_header(disk)
    link, ticks = ORIGIN, 0
    links[end] = link
    for frame in read_ticks(disk, end):
        if isinstance(frame, Damage):
            lost = disk.size(JOURNAL) - frame.offset
            what = f"damaged at byte {frame.offset}, in tick {ticks}: {frame.problem}; {lost:,} bytes cannot be used"
            findings.append(Finding(JOURNAL, False, what))
            break
        link, end, ticks = frame.link, frame.end, ticks + 1
        links[end] = link
    else:
        what = f"{ticks:,} ticks of {header.agents:,} agents, {end:,} bytes, digest {digest_of(link)}"
        findings.append(Finding(JOURNAL, True, what))
    return ticks, digest_of(link)


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


def _checkpoints(disk: Disk, links: dict[int, bytes]) -> Iterator[Finding]:
    for name in checkpoints(disk):
        try:
            checkpoint = read_checkpoint(disk, name)
        except FileNotFoundError:
            continue  # the run is at work, and has just replaced it
        except JournalError as error:
            yield Finding(name, False, str(error).removeprefix(f"{name}: "))
            continue
        at = checkpoint.position
        if links.get(at.journal_bytes) != at.link:
            yield Finding(name, False, f"follows byte {at.journal_bytes} of a journal that is not this one")
        else:
            yield Finding(name, True, f"after {at.tick:,} ticks")
