"""A scan of a whole journal, whose sealed segments are read side by side: each names the links before and after it."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from actors.core.errors import JournalError
from actors.core.frames import ORIGIN
from actors.core.processors import processors
from actors.core.safe_path import safe_path
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JournalScan, read_tail, scan_journal, scan_tail
from actors.persistence.segments import read_segment, segment_names

LEAST_SEGMENTS = 8
"""Segments from which it pays to start processes: one is read in a tenth of a second."""


def scan_in_parallel(disk: RealDisk, processes: int | None = None) -> JournalScan:
    """Return the scan of all frames, with every link, as `scan_journal` gives it.

    Args:
        processes: None for one on each processor.
    """
    processes = processes or processors()
    sealed = read_tail(disk).sealed
    names = segment_names(disk, sealed.start)
    in_order = partial(scan_journal, disk, sealed.first, offsets=None)
    if processes < 2 or len(names) < LEAST_SEGMENTS or scan_tail(disk, ()).in_segment:
        return in_order()
    with safe_path(), ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(partial(_links, disk.path), names))
    if None in found:
        return in_order()  # it says where the damage is
    links = {sealed.first: ORIGIN, **dict(chain.from_iterable(each for each in found if each is not None))}
    tail = scan_journal(disk, sealed.start, tick=sealed.tick, link=sealed.link, offsets=None)
    return tail._replace(links={**links, **tail.links})


def _links(path: Path, name: str) -> list[tuple[int, bytes]] | None:
    """Return the place after each tick of a segment with its link; None if the segment is damaged."""
    try:
        return [(frame.end, frame.link) for frame in read_segment(RealDisk(path), name)[1]]
    except JournalError:
        return None
