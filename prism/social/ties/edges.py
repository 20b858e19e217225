"""Tables of ties: text files with one tie a line, as SNAP, KONECT, Gephi, networkx, pandas and spreadsheets write them.

Lines that begin with `#` or `%` are comments. The separator, the header and the columns are found by
`prism.social.ties.reading`, or are those of the configuration.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.config.model import GraphConfig
from prism.errors import InputError
from prism.social.ties.graph import FollowGraph, check_people, graph_of_file, shown
from prism.social.ties.reading import (
    DIGITS_KEPT,
    INTEGER,
    SCIENTIFIC,
    SEPARATORS,
    SPACES,
    WHOLE_FLOAT,
    Reading,
    Sample,
    UnclearError,
    cells_of,
    find_reading,
    plain,
    without_last_digits,
)
from prism.social.ties.tie_columns import directed_ends
from prism.text_files import CELL_CHARS_MAX, MISSING, decode_text

Flags = NDArray[np.bool_]

SAMPLE, SAMPLE_FIRST = 10_000, 1_000
"""The lines from which a reading is found, and those of them at the top; the others are spread over the table."""
PIECE = 500
"""Lines that are in memory as cells at once."""

_SEPARATOR_LINE = re.compile(r"sep=(.)\s*")
_KONECT = re.compile(r"%\s*(sym|asym|bip)\b")
_COMMENTS = "#%"
_TITLES = frozenset({"edge", "list", "edges", "arcs", "links", "nodes", "people", "relations", "ties", "vertices"})
"""Words of a comment that is a title of the part below it."""
_BLANK = " \t,;|"
_SHOWN = 60
"""The most characters of a wrong line in a message."""
_FIRST_LINES = 3
_FLOAT = re.compile(r"-?[0-9]+[.,][0-9]+")


class _Table(NamedTuple):
    """The lines of a table.

    Args:
        comments: the comments above its first line.
        within: those below it, each with the number of its line in the file, from 1 on.
        lines: the lines that are neither blank nor comments.
        separator: what its first line, `sep=;` for spreadsheets, says of the separator; empty if it says nothing.
        text: the whole file.
    """

    source: str
    comments: Sequence[str]
    within: Sequence[tuple[int, str]]
    lines: Sequence[str]
    separator: str
    text: str

    def number(self, at: int) -> int:
        """Return the number of a line in the file, from 1 on, by its place in the table."""
        kept = (number for number, line in enumerate(self.text.split("\n"), 1) if _is_tie(line))
        return next(islice(kept, at + bool(self.separator), None))

    def error(self, problem: str, at: int) -> InputError:
        return InputError(self.source, f"{problem}: {_cut(self.lines[at])}", line=self.number(at))

    def short(self, separator: str, at: int) -> InputError:
        between = {SPACES: "spaces or a tab", "\t": "a tab", ",": "a comma", ";": "a semicolon"}
        problem = f"expected two ids with {between.get(separator, separator)} between them"
        return InputError(self.source, f"{problem}, got {_cut(self.lines[at])}", line=self.number(at))


def parse_edges(data: bytes, source: str, config: GraphConfig) -> FollowGraph:
    """Return the graph in a table of ties.

    People are numbered by ascending id if all ids are integers, else in the order in which they first appear; `names`
    holds their ids as the file has them. Repeated ties and ties of an id to itself are dropped and counted.

    Args:
        data: the file's contents, not compressed.
        config: the user's settings of how to read it, if any.

    Raises:
        InputError: the text is not UTF-8, the table can be read in no way or in more than one, an id is missing or has
            lost digits, or there is no tie.
    """
    # 1. What the comments say, and how the table is read.
    text = decode_text(data, source)
    above, within, kept = list[str](), list[tuple[int, str]](), list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > CELL_CHARS_MAX:
            raise InputError(source, f"expected lines of at most {CELL_CHARS_MAX:,} characters", line=number)
        if _is_tie(line):
            kept.append(line)
        elif line.strip(_BLANK) and kept:
            within.append((number, line))
        elif line.strip(_BLANK):
            above.append(line.strip())
    told = _SEPARATOR_LINE.fullmatch(kept[0]) if kept else None
    table = _Table(source, above, within, kept[1:] if told else kept, told[1] if told else "", text)
    konect = next((found[1] for line in table.comments if (found := _KONECT.match(line))), "")
    if konect == "bip":
        problem = "its first line says `bip`: expected ties between people, not of people to other things"
        raise InputError(source, problem)
    reading = _reading(table, config, is_konect=bool(konect))
    # Refuse a comment between rows that looks like a tie, or that may divide people from ties, as in TGF.
    for number, line in table.within:
        is_title = _TITLES.issuperset(re.findall(r"[^\W_]+", line.lower()))
        if is_title and number < table.number(len(table.lines) - 1):
            problem = "stands between rows and may divide people from ties: keep the ties alone, or remove it"
            raise InputError(table.source, f"{problem}: {_cut(line)}", line=number)
        try:
            cells = cells_of([line], reading.separator)[0]
        except UnclearError:  # a quote that is not closed: no tie has one
            continue
        if sum(map(bool, map(str.strip, cells))) == reading.width:
            problem = "begins like a comment and has the cells of a tie: put ids with # or % in quotes, or remove it"
            raise InputError(table.source, f"{problem}: {_cut(line)}", line=number)
    # 2. Its ties, and which of them go both ways.
    raw, ends, undirected = _ends(table, reading)
    names, ends = _people(table, reading, raw, ends)
    mutual = not config.directed if not konect else konect == "sym"
    if undirected is not None:
        mutual = bool(undirected.all())
        if not mutual and undirected.any():  # both kinds: those without a direction are followed both ways
            ends = np.concatenate((ends, ends[undirected][:, ::-1]))
    # 3. How it was understood.
    one, other = reading.ends
    said = ["no header", f"ends are columns {one + 1} and {other + 1}"]
    if reading.names:
        called = [shown(reading.names[end] or f"column {end + 1}") for end in reading.ends]
        header = f"line {table.number(0)} is a header" if reading.headers else "a comment names the columns"
        said = [header, f"ends are `{called[0]}` and `{called[1]}`"]
    return graph_of_file(
        source,
        names,
        ends,
        said,
        "lines with two different ids",
        mutual=mutual,
        by_setting=not konect and undirected is None,
        comments=len(table.within),
    )


def _is_tie(line: str) -> bool:
    said = line.strip(_BLANK)
    return said != "" and said[0] not in _COMMENTS


def _cut(line: str) -> str:
    line = line.strip()
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "...")


def _reading(table: _Table, config: GraphConfig, *, is_konect: bool) -> Reading:
    lines, total = table.lines, len(table.lines)
    if not total:
        why = ": all its lines begin with # or %, and are comments" if table.comments else ""
        raise InputError(table.source, f"holds no ties{why or ': expected lines with two different ids'}")
    at = [*range(min(total, SAMPLE_FIRST)), *range(SAMPLE_FIRST, total, -(-total // SAMPLE))]
    # The last comment above the table may name the columns, among them the ends.
    last = table.comments[-1].lstrip("#% ") if table.comments else ""
    names = [cell.strip() for cell in next((last.split(each) for each in "\t;|," if each in last), last.split())]
    names = names if len(directed_ends(names)) == 1 else []
    sample = Sample([lines[each] for each in at], at, total, names, ends_first=is_konect)
    told = GraphConfig(
        columns=config.columns, separator=config.separator or table.separator or None, header=config.header
    )
    try:
        return find_reading(sample, told)
    except UnclearError as error:
        if not error.problem:  # the first line without two ids, by the separator that is told, or that of the first
            separator = told.separator or next((each for each in SEPARATORS if each in lines[0]), SPACES)
            short = next((place for place in range(total) if _is_short(table, separator, place)), 0)
            raise table.short(separator, short) from None
        if error.at is not None:
            raise table.error(error.problem, error.at) from None
        first = " / ".join(_cut(line) for line in lines[:_FIRST_LINES])
        raise InputError(table.source, f"{error.problem}; it begins {first}") from None


def _is_short(table: _Table, separator: str, at: int) -> bool:
    """Return whether a line has fewer than two ids, or a quote that is not closed."""
    try:
        cells = cells_of([table.lines[at]], separator)[0]
    except UnclearError:
        return True
    return len(cells) < 2 or not (cells[0].strip() and cells[1].strip())


def _pieces(table: _Table, reading: Reading) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the cells of the ties, some lines at a time, each with the place of the first of them."""
    for start in range(reading.headers, len(table.lines), PIECE):
        try:
            rows = cells_of(table.lines[start : start + PIECE], reading.separator)
        except UnclearError:
            wrong = next(at for at in range(start, len(table.lines)) if _is_short(table, reading.separator, at))
            raise table.short(reading.separator, wrong) from None
        for at, row in enumerate(rows, start) if {*map(len, rows)} != {reading.width} else ():
            if len(row) < 2:
                raise table.short(reading.separator, at)
            is_longer = not reading.is_told and any(cell.strip() for cell in row[reading.width :])
            if len(row) < reading.width or is_longer:
                raise table.error(f"expected {reading.width} columns as in other lines, got {len(row)}", at)
        yield start, rows


def _ends(table: _Table, reading: Reading) -> tuple[list[str], NDArray[np.int64], Flags | None]:
    """Return the ids of a table, and its ties.

    Returns:
        The ids as they stand in the table; the ties, of shape (ties, 2): the places of follower and followee among the
        ids; whether each tie is undirected, None if no column says so.
    """
    # A dictionary that numbers what it has not seen: each new id gets the number of ids before it.
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    ends, undirected = list[NDArray[np.int64]](), list[bool]()
    take = itemgetter(*reading.ends)
    for start, rows in _pieces(table, reading):
        cells = chain.from_iterable(map(take, rows))
        ends.append(np.fromiter(map(number_of.__getitem__, cells), dtype=np.int64, count=2 * len(rows)))
        check_people(len(number_of), table.source)
        kinds = () if reading.kinds is None else [row[reading.kinds].strip().lower() for row in rows]
        for at, kind in enumerate(kinds, start):
            if kind not in ("directed", "undirected"):
                problem = f"expected `Directed` or `Undirected` as in other lines, got {kind!r}"
                raise InputError(table.source, problem, line=table.number(at))
            undirected.append(kind == "undirected")
    together = np.concatenate(ends or [np.empty(0, dtype=np.int64)]).reshape(-1, 2)
    return [*number_of], together, np.array(undirected) if undirected else None


def _people(
    table: _Table, reading: Reading, raw: list[str], ends: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64]]:
    """Return the people's ids and the ties between them, of shape (ties, 2).

    Ids that are all integers are sorted by value. A whole float becomes the integer that it stands for.
    """
    # 1. Ids that are not all plain integers: checked, and those that are one and the same, such as 7 and 7.0, united.
    names = raw
    if not all(map(INTEGER.fullmatch, raw)):
        # Texts that cannot be ids are refused; the error names the first line with one.
        ids = [*map(str.strip, raw)]
        is_numeric = all(
            INTEGER.fullmatch(name) or SCIENTIFIC.fullmatch(name) or _FLOAT.fullmatch(name) for name in ids
        )
        headers = {reading.names[end] for end in reading.ends} if reading.names else set()
        for number, name in enumerate(ids):
            whole = WHOLE_FLOAT.fullmatch(name)
            is_scientific = SCIENTIFIC.fullmatch(name) is not None and (is_numeric or "." in name or "," in name)
            if not name:
                problem = ""
            elif name in MISSING:
                problem = f"expected an id, got {name!r}, which stands for a missing one"
            elif is_scientific or (whole is not None and abs(int(whole[1])) >= 2**53):
                problem = f"{name!r} has lost digits, so that different people look the same: export ids as text"
            elif whole is None and is_numeric and _FLOAT.fullmatch(name):
                problem = f"expected ids, got the number {name!r}: set population.graph.columns"
            elif name in headers:
                problem = "repeats the header: expected a tie"
            else:
                continue
            at = int(np.argmax((ends == number).any(axis=1))) + reading.headers
            raise table.error(problem, at) if problem else table.short(reading.separator, at)
        number_of = dict[str, int]()
        plain_ones = (plain(name.strip()) for name in raw)
        same = np.array([number_of.setdefault(name, len(number_of)) for name in plain_ones], dtype=np.int64)
        names, ends = [*number_of], same[ends]
    # 2. A column whose long ids have nothing but zeros after the digits that a spreadsheet keeps is refused.
    for column in ends.T if max(map(len, names), default=0) > DIGITS_KEPT else ():
        if (long := without_last_digits(map(names.__getitem__, np.unique(column).tolist()))) is not None:
            problem = f"ids such as {long} have lost all digits after the first {DIGITS_KEPT}: export ids as text"
            raise InputError(table.source, problem)
    # 3. In order of value: person 0 is then the smallest id, in whatever order the ties of the file stand.
    if all(map(INTEGER.fullmatch, names)):
        values = np.fromiter(map(int, names), dtype=np.int64, count=len(names))
        order = np.argsort(values, kind="stable")
        rank = np.empty(len(names), dtype=np.int64)
        rank[order] = np.arange(len(names))
        names, ends = [names[number] for number in order.tolist()], rank[ends]
    return names, ends
