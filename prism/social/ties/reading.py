"""The reading of a table of ties: which character separates, whether there is a header, which columns are the ends.

A table says none of this. Each separator is tried on a sample of the lines. If exactly one reading fits it is taken,
otherwise the table is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import combinations
from typing import Final, Literal, NamedTuple

from prism.config.model import GraphConfig
from prism.social.ties.tie_columns import (
    Ends,
    counts_by_name,
    directed_ends,
    may_be_reversed,
    of_no_person,
    ordered_ends,
)
from prism.text_files import MISSING

Kind = Literal["whole", "decimal", "date", "flag", "text", "blank"]

INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
"""The form of an id that is sorted by value; 18 digits fit 64 bits."""

COUNT: Final = re.compile(r"[0-9]{1,18}")
"""The form of a number of people, ties or places."""

WHOLE_FLOAT: Final = re.compile(r"(-?[0-9]+)[.,](?:0{1,2}|0{4,})")
"""A whole number that a program wrote as a float. With three zeros it may be thousands."""

SCIENTIFIC: Final = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)?[eE]\+?[0-9]+")

DIGITS_KEPT: Final = 15
"""The digits of a number that a spreadsheet keeps."""
DIGITS_LOST: Final = 4
"""The fewest digits behind those, over all long ids of a column: if all of them are zeros, digits are lost.

By chance all of them are zeros in 1 of 10,000 columns."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?")
_DATE = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}(?:[-/.][0-9]{1,2})?(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}(?: .*)?"
    r"|[0-9]{1,2}:[0-9]{2}.*"
)
_FLAGS = frozenset({"true", "false", "True", "False", "TRUE", "FALSE"})


def kind_of(cells: Collection[str]) -> Kind:
    """Return the kind that all cells share, except empty ones; `text` if they share no other."""
    full = {cell for cell in cells if cell and cell not in MISSING}
    if not full:
        return "blank"
    if all(map(str.isdecimal, full)) or all(_is_whole(cell) for cell in full):
        return "whole"
    if all(_NUMBER.fullmatch(cell) for cell in full):
        return "decimal"
    if all(_DATE.fullmatch(cell) for cell in full):
        return "date"
    return "flag" if full <= _FLAGS else "text"


def _is_whole(cell: str) -> bool:
    return bool(re.fullmatch(r"-?[0-9]+", cell) or WHOLE_FLOAT.fullmatch(cell) or SCIENTIFIC.fullmatch(cell))


def plain(cell: str) -> str:
    """Return a whole number without the zeros behind its point, and any other cell as it is."""
    found = WHOLE_FLOAT.fullmatch(cell)
    return cell if found is None else found[1]


def without_last_digits(ids: Iterable[str]) -> str | None:
    """Return an id if the long ones all have nothing but zeros after the digits that a spreadsheet keeps, else None."""
    long = [digits for each in ids if len(digits := each.removeprefix("-")) > DIGITS_KEPT and digits.isdecimal()]
    rest = "".join(digits[DIGITS_KEPT:] for digits in long)
    return long[0] if len(rest) >= DIGITS_LOST and not rest.strip("0") else None


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def has_digit(cell: str) -> bool:
    return any(map(str.isdigit, cell))


SPACES: Final = " "
"""The separator that stands for any number of spaces and tabs."""
SEPARATORS: Final = ("\t", ";", "|", ",", SPACES)

CLEAR: Final = 2.0
"""The ends are at least this many times as similar to each other as either of them is to a third column."""
APART: Final = 10.0
"""The ends are at least this many times as similar to each other as any two other columns are."""
FEWEST_SHARED: Final = 8
"""The fewest ids that the ends share, because small numbers, such as weights, are equal to ids by chance."""
FEWEST_WORDS: Final = 3
"""The fewest that two columns of words share, if no other two share any and their similarity is `WORDS_SIMILARITY`."""
WORDS_SIMILARITY: Final = 0.5
LIST_LINES: Final = 8
"""The fewest lines in which similarity tells whether a column only numbers people. In fewer, any shared id does."""
LIST_SIMILARITY: Final = 0.5
"""The least similarity of the ends if one of them counts the lines, as in a ring or a chain."""

_FOREIGN = re.compile(r"[\t;|,](?=\S)|[;|,]$|^[;|,]|^-?[0-9]+(?: +-?[0-9]+)+$")
"""A separator without a space behind it, or numbers with spaces between, which no id has unless it is in quotes."""
_COMMA_NUMBER = re.compile(r"-?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?")
_ATTRIBUTES = re.compile(r"\s*\{.*\}\s*$")
"""A Python dictionary at the end of a line, as networkx writes the attributes of a tie."""


class UnclearError(Exception):
    """A table that cannot be read in exactly one way.

    Args:
        problem: what does not fit, and what to set; empty if some line has no two ids.
        rank: how far the reading came: 0 and 1 for the cells of lines, 2 for the header, 3 for the ends, 4 for columns
            that are named or counted. Of several readings that failed, the one that came furthest tells the most.
        at: the place of the line that does not fit, from 0 on; None if it is no single line.
    """

    def __init__(self, problem: str, rank: int = 0, at: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.rank, self.at = problem, rank, at


class Sample(NamedTuple):
    """Some lines of a table, the first among them.

    Args:
        lines: the texts of the lines.
        at: the place of each among all lines, from 0 on.
        total: the number of all lines.
        names: the names of the columns in a comment above the table, if there is one.
        ends_first: a comment above the table says that the first two columns are the ends.
    """

    lines: Sequence[str]
    at: Sequence[int]
    total: int
    names: Sequence[str] = ()
    ends_first: bool = False


class Reading(NamedTuple):
    """The way in which a table is read.

    Args:
        names: the names of the columns; empty without a header.
        headers: the number of lines at the top that are no ties.
        ends: the columns of the ends.
        width: the least number of cells in a line.
        kinds: the column that says of each tie whether it is directed; None without one.
        is_told: the settings say which columns are the ends, so others may be missing.
    """

    separator: str
    names: Sequence[str]
    headers: int
    ends: Ends
    width: int
    kinds: int | None = None
    is_told: bool = False


def cells_of(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the cells of each line.

    Raises:
        UnclearError: a quote is not closed in its line.
    """
    is_spaced = separator == SPACES
    if is_spaced and any("{" in line for line in lines):
        lines = [_ATTRIBUTES.sub("", line) for line in lines]
    if len(separator) > 1 or not any('"' in line for line in lines):
        return [line.split() for line in lines] if is_spaced else [line.split(separator) for line in lines]
    if is_spaced:
        lines = [line.strip().replace("\t", " ") for line in lines]
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    try:
        rows = [*reader]
    except csv.Error:
        rows = []
    if len(rows) != len(lines):
        raise UnclearError("")
    return rows


def find_reading(sample: Sample, config: GraphConfig) -> Reading:
    """Return the only reading of a table that fits.

    Raises:
        UnclearError: there is none, or more than one.
    """
    # 1. Every separator that splits all lines of the sample is tried; what it fails with is kept.
    found, failed = list[tuple[Reading, bool]](), list[tuple[UnclearError, str]]()
    for separator in (config.separator,) if config.separator else SEPARATORS:
        if all(len(line.split()) > 1 if separator == SPACES else separator in line for line in sample.lines):
            try:
                found.append(_read_as(separator, sample, config))
            except UnclearError as error:
                failed.append((error, separator))
    # 2. None fits: the problem of the one that came furthest, by rank, helps a user most.
    if not found:
        raise max((error for error, _ in failed), key=lambda error: error.rank, default=UnclearError(""))
    # 3. One fits, but a stronger one splits all lines, too, and fails for what stands in its columns: a separator that
    #    splits all lines alike is not part of an id.
    for problem, separator in failed:
        if problem.rank > 1 and SEPARATORS.index(separator) < SEPARATORS.index(found[0][0].separator):
            raise problem
    # 4. Of several, the one with tabs, or the only one in which no id has spaces.
    if len(found) == 1 or found[0][0].separator == "\t":
        return found[0][0]
    plain_ones = [reading for reading, is_spaced in found if not is_spaced]
    if len(plain_ones) != 1:
        raise UnclearError("more than one separator fits: set population.graph.separator", 2)
    return plain_ones[0]


def _read_as(separator: str, sample: Sample, config: GraphConfig) -> tuple[Reading, bool]:
    """Return the reading with a separator, and whether any of its ids has spaces."""
    # 1. Header or not: the columns are first taken without the first line, and with it once it is known to be a tie.
    rows = [[cell.strip() for cell in row] for row in cells_of(sample.lines, separator)]
    width = _width(rows, sample.at, is_told=config.columns is not None)
    columns = _Columns(rows[1:] or rows, sample.at[1:] or sample.at, width)
    names, headers = _names(rows[0], columns, sample, config)
    if not headers and len(rows) > 1:
        columns = _Columns(rows, sample.at, width)
    # 2. The ends, and whether what they hold can be ids. A cell that is nothing but another separator is a sign that
    #    this one is wrong, in whatever column it stands.
    ends = _ends(names, columns, sample, config)
    cells = {cell for end in ends for cell in columns.distinct[end]}
    cells |= {cell for column in columns.distinct for cell in column & {*SEPARATORS}}
    is_quoted = any('"' in line for line in sample.lines)
    for cell in sorted(cells):
        # A separator in a cell, or quotes that no line has as quotes within quotes.
        is_foreign = _FOREIGN.search(cell) is not None and _COMMA_NUMBER.fullmatch(cell) is None and not is_quoted
        if '"' in cell:
            doubled = cell.replace('"', '""')
            is_foreign = not any(doubled in line for line in sample.lines)
        if is_foreign:
            raise UnclearError(f"{cell!r} is no id: set population.graph.separator", 1)
    for end in ends:
        kind = columns.kinds[end]
        if kind in ("decimal", "date", "flag", "blank"):
            held = {"blank": "is empty", "flag": "holds true or false and no ids"}
            problem = f"column {end + 1} {held.get(kind, f'holds {kind}s and no ids')}: set population.graph.columns"
            raise UnclearError(problem, 3)
    # 3. A column `type` as Gephi writes it: whether each tie goes both ways.
    directions = {"directed", "undirected"}
    kinds = next(
        (
            at
            for at, name in enumerate(names)
            if name.lower() == "type" and {cell.lower() for cell in columns.distinct[at]} <= directions
        ),
        None,
    )
    reading = Reading(separator, names, headers, ends, width, kinds, config.columns is not None)
    return reading, any(" " in cell for cell in cells)


def _width(rows: Sequence[Sequence[str]], at: Sequence[int], *, is_told: bool) -> int:
    """Return the number of columns, without those at the end that are empty everywhere and have no name."""
    body = rows[1:] or rows
    width, first = max(map(_filled, body)), _filled(rows[0])
    least = min(map(len, body))
    if width < first <= least:
        width = first
    if is_told:
        return min(width, least)
    if width < 2:
        raise UnclearError("")
    if least < width:
        place, few = next((place, row) for place, row in zip(at, rows, strict=True) if len(row) < width)
        raise UnclearError(f"expected {width} columns as in other lines, got {len(few)}", 1, place)
    if first > width or (first < width - 1 and len(rows[0]) < width):
        raise UnclearError(f"the first line has {first} columns, and others have {width}", 1)
    return width


def _filled(row: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return next((at for at in range(len(row), 0, -1) if row[at - 1]), 0)


class _Columns:
    """The columns of the lines below a header; `at` is the place of each line in the table."""

    def __init__(self, rows: Sequence[Sequence[str]], at: Sequence[int], width: int) -> None:
        self.rows = rows
        self.width = width
        self._at = at
        self.cells = [[row[column] for row in rows] for column in range(width)]
        self.kinds = [kind_of({*cells}) for cells in self.cells]
        self.distinct = [{*map(plain, cells)} for cells in self.cells]

    @cached_property
    def counting(self) -> set[int]:
        """The columns that count the lines, from 0 or 1 on."""
        found = set[int]()
        for column, cells in enumerate(self.cells):
            if all(cell.isdecimal() and len(cell) < 19 for cell in cells) and int(cells[0]) in (0, 1):
                offset = int(cells[0]) - self._at[0]
                if all(int(cell) - at == offset for cell, at in zip(cells, self._at, strict=True)):
                    found.add(column)
        return found

    def shared(self, one: int, other: int) -> int:
        return len(self.distinct[one] & self.distinct[other])

    def similarity(self, one: int, other: int) -> float:
        """Return the share of the different cells of two columns that are in both (Jaccard 1901)."""
        return self.shared(one, other) / (len(self.distinct[one] | self.distinct[other]) or 1)


def _names(first: Sequence[str], columns: _Columns, sample: Sample, config: GraphConfig) -> tuple[Sequence[str], int]:
    """Return the names of the columns, and the number of lines that the header takes: no names and 0 without one."""
    called = {each for each in config.columns or () if isinstance(each, str)}
    told = bool(called) and called <= {*first}
    width = columns.width
    if _filled(first) == width - 1 and len(first) < width:  # R names no column for the numbers of lines
        named = ["", *first]
        is_counted = 0 in columns.counting and not any(map(is_number, first)) and width > 2
        if config.header is False or not (is_counted and columns.similarity(1, 2) > CLEAR * columns.similarity(0, 1)):
            raise UnclearError(f"the first line has {width - 1} columns, and others have {width}", 1)
        return named, 1
    names = first[:width]
    has_header = config.header
    if has_header is None:
        has_header = told or (bool(directed_ends(names)) if sample.total == 1 else _is_header(names, columns, sample))
    if has_header:
        return names, 1
    return (sample.names, 0) if len(sample.names) == width else ((), 0)


def _is_header(first: Sequence[str], columns: _Columns, sample: Sample) -> bool:
    """Return whether the first line differs in kind from those below it."""
    if directed_ends(first) or (not first[0] and 0 in columns.counting):
        return True
    # 1. Numbers that may be those of people, once or twice, and of ties.
    if all(cell.isdecimal() for cell in first) and len(first) <= 3:
        people = columns.distinct[0] | columns.distinct[1]
        fits = int(first[-1]) == sample.total - 1 and int(first[0]) >= len(people) and len({*first[:-1]}) == 1
        if fits and any(row[0] != row[1] for row in columns.rows):
            problem = "the first line may be the numbers of people and ties: set population.graph.header to true to"
            raise UnclearError(f"{problem} leave it out, or to false", 2)
    # 2. Whether each cell differs in kind from those below it; None if that cannot be said.
    differ = set[bool | None]()
    for cell, kind, below in zip(first, columns.kinds, columns.distinct, strict=False):
        if not cell or kind == "blank":
            differ.add(None)
        elif kind != "text":
            differ.add(kind_of({cell}) == "text")
        else:
            differ.add(True if all(map(has_digit, below)) and not has_digit(cell) else None)
    if differ not in ({None}, {True, False}):
        return True in differ
    # 3. A cell that stands in another line, too, is an id: names of columns do not.
    others = [row for row in columns.rows if row[: len(first)] != [*first]]
    recurs = (
        any(cell in first for row in others for cell in row[:2])
        if columns.width == 2
        else any(cell and row[at] == cell for row in others for at, cell in enumerate(first))
    )
    if differ != {None} or not recurs:
        problem = "the first line may be a header and may be a tie: set population.graph.header to true or false"
        raise UnclearError(problem, 2)
    return False


def _ends(names: Sequence[str], columns: _Columns, sample: Sample, config: GraphConfig) -> Ends:
    """Return the columns of the ends: as configured, by their names, or the only ones whose values fit."""
    # 1. As configured.
    told = list[int]()
    for each in config.columns or ():
        if isinstance(each, str) and each not in names:
            have = f"the header has {', '.join(names)}" if names else "no header was found"
            raise UnclearError(f"population.graph.columns: there is no column {each!r}: {have}", 4)
        told.append(names.index(each) if isinstance(each, str) else each - 1)
        if told[-1] >= columns.width:
            raise UnclearError(f"population.graph.columns: {each} is beyond the {columns.width} columns", 4)
    if told:
        return Ends(*told)
    # 2. By names: first those that say who follows whom, then those that only count the ends, such as id1 and id2.
    for find in (directed_ends, ordered_ends):
        named = find(names)
        if len(named) > 1:
            named = [ends for ends in named if all(columns.kinds[end] in ("whole", "text") for end in ends)]
        if len(named) == 1:
            return named[0]
        if named:
            raise UnclearError("more than two columns are named as ends: set population.graph.columns", 3)
    # 3. By a comment above the table, or else by what stands in the columns.
    if sample.ends_first:
        return Ends(0, 1)
    if names and {*names[1:]} == columns.distinct[0]:
        raise UnclearError("is a table of people by people: expected one tie a line", 4)
    ends = _only_two(names, columns) if columns.width == 2 else _alike(names, columns)
    if names and may_be_reversed(names, ends):
        raise UnclearError("the names of the columns do not tell who follows whom: set population.graph.columns", 3)
    return ends


def _only_two(names: Sequence[str], columns: _Columns) -> Ends:
    """Return the ends in a table of two columns, unless it is a list of people."""
    problem = "there are two columns, and {}: set population.graph.columns"
    facts = [name for name in of_no_person(names) if name.lower() != "id" or counts_by_name(name)]
    if facts:
        raise UnclearError(problem.format(f"`{facts[0]}` names no people"), 3)
    if _is_list(columns, 0, 1):
        raise UnclearError(problem.format("the first counts the lines"), 3)
    if len(columns.rows) > 1 and columns.kinds[0] != columns.kinds[1] and not columns.shared(0, 1):
        # Of least rank: with another separator, it may be a tie and its weight, as in `ada bo 0,5`.
        raise UnclearError(problem.format("they differ in kind and share no id"))
    return Ends(0, 1)


def _is_list(columns: _Columns, one: int, other: int) -> bool:
    """Return whether a column may number people by counting the lines, and another say something about them."""
    lines = len(columns.rows)
    if lines == 1 or one not in columns.counting:
        return False
    return columns.similarity(one, other) < LIST_SIMILARITY if lines >= LIST_LINES else not columns.shared(one, other)


def _alike(names: Sequence[str], columns: _Columns) -> Ends:
    """Return the two columns of one kind that share ids, if no others do."""
    excluded = {*of_no_person(names)}
    possible = [
        at
        for at, kind in enumerate(columns.kinds)
        if kind in ("whole", "text") and not (names and names[at] in excluded)
    ]
    pairs = [pair for pair in combinations(possible, 2) if columns.kinds[pair[0]] == columns.kinds[pair[1]]]
    best = max(pairs, key=lambda pair: columns.similarity(*pair), default=None)
    if best is not None:
        if len(pairs) == 1:
            is_first = len(possible) == 2 and best == (0, 1)
            is_clear = (columns.shared(*best) > 0 or is_first) and not _is_list(columns, *best)
        else:  # columns of numbers without names can only be the first two
            may_be = bool(names) or columns.kinds[best[0]] == "text" or best == (0, 1)
            is_clear = may_be and _stands_out(best, pairs, columns)
        if is_clear:
            return Ends(*best)
    likely = [2, 3] if 0 in columns.counting and columns.width > 2 else [1, 2]
    problem = f"cannot tell which columns are the ends: set population.graph.columns, such as {likely}"
    raise UnclearError(problem + ": the first counts the lines" * (likely[0] == 2), 3)


def _stands_out(best: tuple[int, int], pairs: Sequence[tuple[int, int]], columns: _Columns) -> bool:
    """Return whether two columns share many more ids than any others do, and can be ends.

    They are no ends if one of them counts the lines, or if they hold numbers that are equal in some line.
    """
    # 1. Enough ids that are in both columns. A few are enough for words that no other two columns share.
    is_text = columns.kinds[best[0]] == "text"
    is_alone = not any(columns.shared(*pair) for pair in pairs if pair != best)
    are_few = is_text and is_alone and columns.similarity(*best) > WORDS_SIMILARITY
    fewest = FEWEST_WORDS if are_few else FEWEST_SHARED
    if columns.shared(*best) < fewest or {*best} & columns.counting:
        return False
    # 2. No other pair comes near: one with a column of this pair may come nearer, because it holds the same ids.
    for pair in pairs:
        clear = CLEAR if {*pair} & {*best} else APART
        if pair != best and clear * columns.similarity(*pair) > columns.similarity(*best):
            return False
    return is_text or all(plain(row[best[0]]) != plain(row[best[1]]) for row in columns.rows)
