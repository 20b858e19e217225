"""Graph files: tables with one tie a line, as SNAP, KONECT, Gephi, pandas and spreadsheets write them; GML; Pajek.

A table does not say how it is read. It is read in the one way that fits, or refused with the setting that tells more.
Lines that begin with `#` or `%` above the ties are comments.

igraph's readers are not used. The one of GML keeps ids as floats, so that some above 2^53 become one, and some wrong
files make it end the whole process. The one of Pajek makes all ties undirected if edges stand beside arcs, and takes a
bad line for the end of the file.

Sources: Himsolt, "GML: a portable graph file format" (1997); Batagelj & Mrvar, "Pajek: a program for large network
analysis" (1998).
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from operator import itemgetter, ne
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from prism.config.model import GraphConfig
from prism.errors import InputError
from prism.social.ties.graph import FollowGraph, Numbered, check_people, graph_of_file, shown
from prism.text_files import CELL_CHARS_MAX, MISSING, decode_text, without_entities
from prism.wording import cut

Kind = Literal["whole", "text", "no ids", "blank"]

SAMPLE, SAMPLE_FIRST = 10_000, 1_000
"""The lines from which the columns are found, and those of them at the top; the others are spread over the table."""
PIECE: Final = 500  # lines that are in memory as cells at once
SPACES: Final = " "  # the separator that stands for any number of spaces and tabs
DIRECTIONS: Final = frozenset({"directed", "undirected"})
SEPARATORS: Final = {"\t": "a tab", ";": "a semicolon", "|": "|", ",": "a comma", SPACES: "spaces or a tab"}
DIGITS_KEPT: Final = 15  # the digits of a number that a spreadsheet keeps
DIGITS_LOST: Final = 4
"""The fewest digits behind those, over all long ids of a column: if all of them are zeros, digits are lost.

By chance all of them are zeros in 1 of 10,000 columns."""
LIST_LINES: Final = 8
"""The fewest lines in which similarity tells whether a column only numbers people. In fewer, any shared id does."""
LIST_SIMILARITY: Final = 0.5
"""The least similarity of the ends if the first counts the lines, as in a ring or a chain."""
CLEAR: Final = 2.0
"""The ends are at least this many times as similar to each other as any other two columns are."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")  # an id that is sorted by value; 18 digits fit 64 bits
_WHOLE_FLOAT = re.compile(r"(-?[0-9]+)[.,](?:0{1,2}|0{4,})")
"""A whole number that a program wrote as a float. With three zeros it may be thousands."""
_SCIENTIFIC = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)?[eE]\+?[0-9]+")
_FLOAT = re.compile(r"-?[0-9]+[.,][0-9]+")
_NO_ID = re.compile(
    r"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|[0-9]{4}[-/.][0-9]{1,2}(?:[-/.][0-9]{1,2})?(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}(?: .*)?"
    r"|[0-9]{1,2}:[0-9]{2}.*|true|false",
    re.IGNORECASE,
)
"""A number, a date, a time or a truth value."""
_FOREIGN = re.compile(r"[\t;|,](?=\S)|[\t;|,]$|^[;|,]|^-?[0-9]+(?: +-?[0-9]+)+$")
"""A separator without a space behind it, or numbers with spaces between, which no id has unless it is in quotes."""
_COMMA_NUMBER = re.compile(r"-?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?")
_ATTRIBUTES = re.compile(r"\s*\{.*\}\s*$")
"""A Python dictionary at the end of a line, as networkx writes the attributes of a tie."""
_KONECT = re.compile(r"%\s*(sym|asym|bip)\b")
_BLANK = " \t,;|"
_SHOWN = 60  # the most characters of a wrong line in a message

_FOLLOWER = frozenset({"follower", "followers", "fan"})
_FOLLOWEE = frozenset({"followee", "following", "followed", "follows", "friend"})
_FIRST = _FOLLOWER | {"source", "src", "origin", "from", "sender", "citing", "ego"}
_SECOND = _FOLLOWEE | {"target", "tgt", "dst", "dest", "destination", "to", "receiver", "recipient", "cited", "alter"}
_PEOPLE = frozenset({"user", "account", "person", "member", "author", "username"})
"""Words of the person beside a follower or a followee."""
_FACTS = frozenset({"list", "lists", "count", "counts", "date", "time", "weight", "type", "label", "at"})
"""Words of columns that hold no end of a tie, whatever else their names say."""
_THINGS = frozenset(
    {"age", "artist", "book", "business", "category", "city", "club", "cluster", "community", "country", "course"}
    | {"day", "department", "event", "forum", "gender", "group", "hashtag", "hour", "item", "language", "month"}
    | {"movie", "paper", "party", "post", "product", "rating", "region", "score", "sex", "sign", "song", "subreddit"}
    | {"tag", "text", "timestamp", "topic", "track", "tweet", "url", "value", "year"}
)
"""Words of columns that hold what people have, rate or belong to; two of them may be the ends: `movie_x`, `movie_y`."""


Ends = tuple[int, int]
"""The columns of the two ends, from 0 on: the person in the first follows the person in the second."""


class _Table:
    """The lines of a table that are neither blank nor comments, `skipped` lines below, and the way to read them."""

    ends: Ends
    kinds: int | None  # the column that says of each tie whether it is directed; None without one
    separator: str
    width = headers = 0  # the least number of cells in a line; the lines at the top that are no ties
    names: Sequence[str] = ()  # the names of the columns; empty without a header

    def __init__(self, source: str, text: str, lines: Sequence[str], skipped: int, config: GraphConfig) -> None:
        self.source, self.lines, self._text, self._skipped = source, lines, text, skipped
        self.is_told = config.columns is not None  # which columns are the ends, so others may be missing

    def number(self, at: int) -> int:
        """Return the number of a line in the file, from 1 on, by its place in the table."""
        kept = (number for number, line in enumerate(self._text.split("\n"), 1) if _is_tie(line))
        return next(islice(kept, at + self._skipped, None))

    def error(self, problem: str, at: int) -> InputError:
        return InputError(self.source, f"{problem}{_quoted(self.lines[at])}", line=self.number(at))

    def short(self, at: int) -> InputError:
        name = SEPARATORS.get(self.separator, self.separator)
        return self.error(f"expected two ids with {name} between them, got ", at)

    def unclear(self, problem: str, key: str = "columns") -> InputError:
        first = " / ".join(_quoted(line) for line in self.lines[:3])
        return InputError(self.source, f"{problem}: set population.graph.{key}; it begins {first}")

    def cells(self, at: Sequence[int]) -> list[list[str]]:
        """Return the cells of the lines at some places; a quote has to end in its line."""
        lines, separator = [self.lines[each] for each in at], self.separator
        is_spaced = separator == SPACES
        if is_spaced and any("{" in line for line in lines):
            lines = [_ATTRIBUTES.sub("", line) for line in lines]
        if len(separator) > 1 or not any('"' in line for line in lines):
            return [line.split() for line in lines] if is_spaced else [line.split(separator) for line in lines]
        if is_spaced:
            lines = [line.strip().replace("\t", " ") for line in lines]
        rows = list[list[str]]()
        for place, line in zip(at, lines, strict=True):
            try:
                rows += csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True)
            except csv.Error:
                raise self.short(place) from None
        return rows

    def check_width(self, at: Sequence[int], rows: Sequence[Sequence[str]]) -> None:
        for place, row in zip(at, rows, strict=True):
            if len(row) < 2:
                raise self.short(place)
            if len(row) < self.width or (not self.is_told and _filled(row) > self.width):
                raise self.error(f"expected {self.width} columns as in other lines, got {len(row)}: ", place)


def parse_edges(data: bytes, source: str, config: GraphConfig) -> FollowGraph:
    """Return the graph in a table of ties.

    People are numbered by ascending id if all ids are integers, else in the order in which they first appear; `names`
    holds their ids as the file has them. Repeated ties and ties of an id to itself are dropped and counted.

    Raises:
        InputError: the table can be read in no way or in more than one, an id is missing or has lost digits, or there
            is no tie.
    """
    # 1. The ties, and the comments above them.
    text = decode_text(data, source)
    comments, lines = list[str](), list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > CELL_CHARS_MAX:
            raise InputError(source, f"expected lines of at most {CELL_CHARS_MAX:,} characters", line=number)
        if _is_tie(line):
            lines.append(line)
        elif (comment := line.strip(_BLANK)) and lines:  # an id, a comment, or what divides people from ties, as in TGF
            way_out = "move it to the top, or put ids with # or % in quotes"
            raise InputError(source, f"begins like a comment below ties: {way_out}: {_quoted(line)}", line=number)
        elif comment:
            comments.append(comment)
    told = re.fullmatch(r"sep=(.)\s*", lines[0]) if lines else None  # for spreadsheets
    table = _Table(source, text, lines[1:] if told else lines, int(bool(told)), config)
    if not table.lines:
        why = ": all its lines begin with # or %, and are comments" if comments else ""
        raise InputError(source, f"holds no ties{why or ': expected lines with two different ids'}")
    konect = next((found[1] for line in comments if (found := _KONECT.match(line))), "")
    if konect == "bip":
        raise InputError(source, "its first line says `bip`: expected ties between people, not of people to things")
    # 2. Its columns. The last comment may name them, among them the ends.
    last = comments[-1].lstrip("#% ") if comments else ""
    named = [cell.strip() for cell in next((last.split(each) for each in "\t;|," if each in last), last.split())]
    named = named if len(named_ends(named)) == 1 else []
    _read(table, config, told[1] if told else None, named, ends_first=bool(konect))
    # 3. Its ties, and which of them go both ways.
    names, ends, undirected = _ties(table)
    mutual = not config.directed if not konect else konect == "sym"
    if undirected is not None:
        mutual = bool(undirected.all())
        if not mutual and undirected.any():  # both kinds: those without a direction are followed both ways
            ends = np.concatenate((ends, ends[undirected][:, ::-1]))
    # 4. How it was understood.
    one, other = table.ends
    said = ["no header", f"ends are columns {one + 1} and {other + 1}"]
    if table.names:
        called = [shown(table.names[end] or f"column {end + 1}") for end in table.ends]
        header = f"line {table.number(0)} is a header" if table.headers else "a comment names the columns"
        said = [header, f"ends are `{called[0]}` and `{called[1]}`"]
    by_setting = not konect and undirected is None
    return graph_of_file(
        source, names, ends, said, "lines with two different ids", mutual=mutual, by_setting=by_setting
    )


def named_ends(names: Sequence[str]) -> list[Ends]:
    """Return the pairs of columns that are named as the ends of a tie: none, one, or all that could be meant.

    Names are compared word by word, so `SOURCE_SUBREDDIT`, `FromNodeId` and `user_from` are found as well as `source`.
    """
    said = [_words(name) for name in names]
    ones, others = ([at for at, each in enumerate(said) if each & role] for role in (_FIRST, _SECOND))
    people = [at for at, each in enumerate(said) if each & _PEOPLE and not each & (_FIRST | _SECOND)]
    pairs = [(one, other) for one in ones for other in others if one != other]
    pairs += [(one, other) for one in ones if said[one] & _FOLLOWER for other in people]
    return pairs + [(one, other) for one in people for other in others if said[other] & _FOLLOWEE]


def without_last_digits(ids: Iterable[str]) -> str | None:
    """Return an id if the long ones all have nothing but zeros after the digits that a spreadsheet keeps, else None."""
    long = [digits for each in ids if len(digits := each.removeprefix("-")) > DIGITS_KEPT and digits.isdecimal()]
    rest = "".join(digits[DIGITS_KEPT:] for digits in long)
    return long[0] if len(rest) >= DIGITS_LOST and not rest.strip("0") else None


def _read(table: _Table, config: GraphConfig, told: str | None, named: Sequence[str], *, ends_first: bool) -> None:
    """Find the only way to read a table, from a sample of its lines, and from what a comment names or says of it."""
    # 1. The cells, by the strongest separator that all lines have; errors name that of the first line.
    total, lines = len(table.lines), table.lines
    at = [*range(min(total, SAMPLE_FIRST)), *range(SAMPLE_FIRST, total, -(-total // SAMPLE))]
    strong = [each for each in SEPARATORS if each != SPACES]
    common = [each for each in strong if all(each in lines[place] for place in at)]
    in_first = [each for each in strong if each in lines[0]]
    table.separator = config.separator or told or (common or in_first or [SPACES])[0]
    rows = [[cell.strip() for cell in row] for row in table.cells(at)]
    # 2. The number of columns, without those at the end that are empty everywhere and have no name.
    first, body = rows[0], rows[1:] or rows
    width, least = max(map(_filled, body)), min(map(len, body))
    if width < _filled(first) <= least:
        width = _filled(first)
    table.width = width = min(width, least) if table.is_told else max(width, 2)
    is_numbered = _filled(first) == len(first) == width - 1 > 1  # R names no column for the numbers of lines
    first = ["", *first] if is_numbered else first
    table.check_width(at, [first, *rows[1:]])
    # 3. The header: the columns are first taken without the first line, and with it once it is known to be a tie.
    columns = _Columns(body, at[1:] or at, width)
    if is_numbered:  # a header that lacks any other name, or a count of people, is as short
        is_named = config.header is not False and all(_kind_of({cell}) == "text" for cell in first[1:])
        counts = columns.counts and columns.similarity(1, 2) > CLEAR * columns.similarity(0, 1)
        if not (is_named and counts):
            raise table.error(f"the first line has {width - 1} columns, and others have {width}: ", 0)
    has_header = config.header
    if has_header is None:
        by_name = {each for each in config.columns or () if isinstance(each, str)}
        is_named = bool(by_name) and by_name <= {*first}
        has_header = is_numbered or is_named or bool(named_ends(first)) or _is_header(table, first, columns)
    if not has_header:
        columns = _Columns(rows, at, width)
    table.headers = int(has_header)
    table.names = names = first[:width] if has_header else named if len(named) == width else ()
    # 4. The ends, and whether what they hold can be ids.
    table.ends = _ends(table, columns, config, ends_first=ends_first)
    is_quoted = any('"' in lines[place] for place in at)
    for cell in sorted({cell for end in table.ends for cell in columns.distinct[end]}) if not is_quoted else ():
        if _FOREIGN.search(cell) and not _COMMA_NUMBER.fullmatch(cell):
            raise table.unclear(f"{cell!r} is no id", "separator")
    for end in table.ends:
        if columns.kinds[end] in ("no ids", "blank"):
            example = min(columns.distinct[end] - MISSING - {""}, default="")
            held = f"holds no ids, but {example!r}" if example else "is empty"
            raise table.unclear(f"column {end + 1} {held}")
    # 5. A column `type` as Gephi writes it: whether each tie goes both ways.
    typed = [place for place, name in enumerate(names) if name.lower() == "type"]
    fit = [each for each in typed if {cell.lower() for cell in columns.distinct[each]} <= DIRECTIONS]
    table.kinds = fit[0] if fit else None


class _Columns:
    """The columns of the lines below a header; `at` is the place of each line in the table."""

    def __init__(self, rows: Sequence[Sequence[str]], at: Sequence[int], width: int) -> None:
        cells = [[row[column] for row in rows] for column in range(width)]
        self.rows, self.width = rows, width
        self.kinds = [_kind_of({*each}) for each in cells]
        self.distinct = [{*map(_plain, each)} for each in cells]
        first = cells[0]
        self.counts = all(cell.isdecimal() and len(cell) < 19 for cell in first) and int(first[0]) in (0, 1)
        """The first column counts the lines, from 0 or 1 on."""
        if self.counts:
            start = int(first[0]) - at[0]
            self.counts = all(int(cell) - place == start for cell, place in zip(first, at, strict=True))

    def shared(self, one: int, other: int) -> int:
        return len(self.distinct[one] & self.distinct[other])

    def similarity(self, one: int, other: int) -> float:
        """Return the share of the different cells of two columns that are in both (Jaccard 1901)."""
        return self.shared(one, other) / (len(self.distinct[one] | self.distinct[other]) or 1)


def _is_header(table: _Table, first: Sequence[str], columns: _Columns) -> bool:
    """Return whether the first line, whose names no list has, differs in kind from those below it."""
    if len(table.lines) == 1:
        return False
    if not first[0]:
        return True
    if all(map(str.isdecimal, first)) and len(first) <= 3:
        people = columns.distinct[0] | columns.distinct[1]
        fits = int(first[-1]) == len(table.lines) - 1 and int(first[0]) >= len(people) and len({*first[:-1]}) == 1
        if fits and any(row[0] != row[1] for row in columns.rows):
            raise table.unclear("the first line may be the numbers of people and ties", "header to true or false")
    below = zip(first, columns.kinds, strict=False)
    differ = {_kind_of({cell}) == "text" for cell, kind in below if cell and kind in ("whole", "no ids")}
    recurs = any(cell in row[:2] for row in columns.rows if [*row] != [*first] for cell in first[:2])
    if differ == {True, False} or (not differ and not recurs):  # names of columns stand in no other line
        problem = "the first line may be a header and may be a tie"
        raise table.unclear(problem, "header to true or false")
    return differ == {True}


def _ends(table: _Table, columns: _Columns, config: GraphConfig, *, ends_first: bool) -> Ends:
    """Return the columns of the ends: as configured, by their names, or the first two if what they hold is clear."""
    names = table.names
    # 1. As configured.
    told = list[int]()
    for each in config.columns or ():
        if isinstance(each, str) and each not in names:
            have = f"the header has {', '.join(names)}" if names else "no header was found"
            raise table.unclear(f"population.graph.columns: there is no column {each!r}: {have}")
        told.append(names.index(each) if isinstance(each, str) else each - 1)
        if told[-1] >= columns.width:
            raise table.unclear(f"population.graph.columns: {each} is beyond the {columns.width} columns")
    if told:
        return told[0], told[1]
    # 2. By names, or by a comment above the table.
    named = named_ends(names)
    if len(named) > 1:
        raise table.unclear("more than two columns are named as ends")
    if named or ends_first:
        return (named or [(0, 1)])[0]
    # 3. The first two, unless one of them only numbers the lines or says something else.
    if names and {*names[1:]} == columns.distinct[0]:
        raise InputError(table.source, "is a table of people by people: expected one tie a line")
    has_role = any(_words(name) & (_FIRST | _SECOND) for name in names[:2])
    turned = bool(names) and names[0] > names[1] and sum(map(ne, *names[:2])) == 1  # such as node2 and node1
    if has_role or turned:
        raise table.unclear("the names of the columns do not tell who follows whom")
    lines, shared, similarity = len(columns.rows), columns.shared(0, 1), columns.similarity(0, 1)
    if columns.counts and lines > 1 and (not shared or (lines >= LIST_LINES and similarity < LIST_SIMILARITY)):
        raise table.unclear("the first column counts the lines, so the ends may be others, such as [2, 3]")
    one, other = columns.kinds[:2]
    needs_shared = bool(names) or columns.width > 2
    if lines > 1 and not shared and (needs_shared or {one, other} == {"whole", "text"}):
        raise table.unclear("the first two columns have no id in common, so the ends may be others")
    things = [name for name in names[:2] if not _words(name) or _words(name) & _THINGS]
    if len(things) == 1 or not all(map(_words, things)):
        raise table.unclear(f"a column that is named {things[0]!r} holds no people")
    possible = [at for at, kind in enumerate(columns.kinds) if kind in ("whole", "text")]
    pairs = [pair for pair in combinations(possible, 2) if pair != (0, 1)]
    if any(CLEAR * columns.similarity(*pair) > similarity for pair in pairs if columns.shared(*pair)):
        raise table.unclear("cannot tell which columns are the ends, because others have ids in common")
    return 0, 1


def _ties(table: _Table) -> tuple[list[str], NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return the people's ids; the ties between their places, of shape (ties, 2); and which are undirected, if said."""
    # 1. Number the ids by first appearance: each new id gets the number of ids before it.
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    pieces, undirected = list[NDArray[np.int64]](), list[bool]()
    take = itemgetter(*table.ends)
    for start in range(table.headers, len(table.lines), PIECE):
        at = range(start, min(start + PIECE, len(table.lines)))
        rows = table.cells(at)
        if {*map(len, rows)} != {table.width}:
            table.check_width(at, rows)
        numbers = map(number_of.__getitem__, chain.from_iterable(map(take, rows)))
        pieces.append(np.fromiter(numbers, dtype=np.int64, count=2 * len(rows)))
        check_people(len(number_of), table.source)
        kinds = [row[table.kinds].strip().lower() for row in rows] if table.kinds is not None else []
        for place, kind in zip(at, kinds, strict=False):
            if kind not in DIRECTIONS:
                raise table.error("expected `Directed` or `Undirected` as in other lines, got ", place)
            undirected.append(kind == "undirected")
    names = [*number_of]
    ends = np.concatenate(pieces or [np.empty(0, dtype=np.int64)]).reshape(-1, 2)
    # 2. Check ids that are not all plain integers, and unite those that are one and the same, such as 7 and 7.0.
    if not all(map(_INTEGER.fullmatch, names)):
        ids = [*map(str.strip, names)]
        numeric = (_INTEGER, _SCIENTIFIC, _FLOAT)
        is_numeric = all(any(form.fullmatch(each) for form in numeric) for each in ids)
        for number, each in enumerate(ids):
            if (problem := _problem(each, table.names, is_numeric=is_numeric)) is not None:
                place = int(np.argmax((ends == number).any(axis=1))) + table.headers
                raise table.error(f"{problem}: ", place) if problem else table.short(place)
        united = dict[str, int]()
        same = np.array([united.setdefault(_plain(each), len(united)) for each in ids], dtype=np.int64)
        names, ends = [*united], same[ends]
    for column in ends.T if max(map(len, names), default=0) > DIGITS_KEPT else ():
        if (long := without_last_digits(map(names.__getitem__, np.unique(column).tolist()))) is not None:
            problem = f"ids such as {long} have lost all digits after the first {DIGITS_KEPT}: export ids as text"
            raise InputError(table.source, problem)
    # 3. In order of value: person 0 is then the smallest id, in whatever order the ties of the file stand.
    if all(map(_INTEGER.fullmatch, names)):
        order = np.argsort(np.fromiter(map(int, names), dtype=np.int64, count=len(names)), kind="stable")
        rank = np.empty(len(names), dtype=np.int64)
        rank[order] = np.arange(len(names))
        names, ends = [*map(names.__getitem__, order.tolist())], rank[ends]
    return names, ends, np.array(undirected) if undirected else None


def _problem(name: str, names: Sequence[str], *, is_numeric: bool) -> str | None:
    """Return the reason why a text is no id; empty if it is missing, None if it is one."""
    whole = _WHOLE_FLOAT.fullmatch(name)
    is_scientific = _SCIENTIFIC.fullmatch(name) is not None and (is_numeric or "." in name or "," in name)
    if not name:
        return ""
    if name in MISSING:
        return f"expected an id, got {name!r}, which stands for a missing one"
    if is_scientific or (whole is not None and abs(int(whole[1])) >= 2**53):
        return f"{name!r} has lost digits, so that different people look the same: export ids as text"
    if whole is None and is_numeric and _FLOAT.fullmatch(name):
        return f"expected ids, got the number {name!r}: set population.graph.columns"
    return "repeats the header: expected a tie" if name in names else None


def _is_tie(line: str) -> bool:
    said = line.strip(_BLANK)
    return said != "" and said[0] not in "#%"


def _quoted(line: str) -> str:
    return repr(cut(line.strip(), _SHOWN))


def _filled(row: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return next((at for at in range(len(row), 0, -1) if row[at - 1].strip()), 0)


def _plain(cell: str) -> str:
    """Return a whole number without the zeros behind its point, and any other cell as it is."""
    found = _WHOLE_FLOAT.fullmatch(cell)
    return cell if found is None else found[1]


def _kind_of(cells: Collection[str]) -> Kind:
    """Return the kind that all cells share, except empty ones; `text` if they share no other."""
    full = {cell for cell in cells if cell and cell not in MISSING}
    if not full:
        return "blank"
    whole = re.compile(r"-?[0-9]+")
    if all(whole.fullmatch(cell) or _WHOLE_FLOAT.fullmatch(cell) or _SCIENTIFIC.fullmatch(cell) for cell in full):
        return "whole"
    return "no ids" if all(map(_NO_ID.fullmatch, full)) else "text"


def _words(name: str) -> set[str]:
    """Return the words of a column's name in lower case: `from`, `node`, `id` for `FromNodeId`."""
    said = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+", name)}
    if said & _FACTS:
        return set()
    return {"follower"} if {"followed", "by"} <= said else said


_TOKEN = re.compile(r"(?P<comment>^[ \t]*#[^\n]*)|\"[^\"]*\"|[\[\]\"]|[^\s\"\[\]]+", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z]\w*")
_WHOLE = re.compile(r"[-+]?[0-9]{1,999}")
_COUNT = re.compile(r"[0-9]{1,18}")


def parse_gml(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a GML file. With `directed 1` ties are follows, else friendships.

    People are called by their labels, or by their ids if labels are missing or repeat.
    """
    number_of, labels, edges, graphs = dict[int, int](), list[str](), list[tuple[int, int, int]](), list[str]()
    for name, values, line in _blocks(decode_text(data, source), source):
        if name == "node":
            node = _id(values, "id", source, line)
            if node in number_of:
                raise _bad_gml(source, line, f"the id {node} stands twice")
            number_of[node] = len(number_of)
            labels.append(without_entities(values.get("label", "").strip('"')))
        elif name == "edge":
            edges.append((_id(values, "source", source, line), _id(values, "target", source, line), line))
        elif name == "graph":
            graphs.append(values.get("directed", "0"))
    if len(graphs) != 1:
        raise InputError(source, f"bad GML: expected one graph, got {len(graphs)}")
    check_people(len(number_of), source)
    for *ends, line in edges:
        strange = next((end for end in ends if end not in number_of), None)
        if strange is not None:
            raise _bad_gml(source, line, f"no node has the id {strange}")
    mutual, are_names = graphs[0] != "1", all(labels) and len({*labels}) == len(labels)
    names = labels if are_names else [*map(str, number_of)]
    ties = np.array([(number_of[one], number_of[other]) for one, other, _ in edges], dtype=np.int64).reshape(-1, 2)
    said = [f"GML, {'un' if mutual else ''}directed", f"people are called by their {'labels' if are_names else 'ids'}"]
    return graph_of_file(source, names, ties, said, "edges between different nodes", mutual=mutual)


def _blocks(text: str, source: str) -> Iterator[tuple[str, Mapping[str, str], int]]:
    """Yield the name, the plain values and the first line of each block, at the end of each; deeper ones left out."""
    open_blocks, key = list[tuple[str, dict[str, str], int]](), ""
    top = dict[str, str]()
    line, counted_to = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", counted_to, match.start())
        counted_to, word = match.start(), match[0]
        values = open_blocks[-1][1] if open_blocks else top
        if match["comment"] is not None:
            continue
        if word == '"':
            raise _bad_gml(source, line, "a quote is not closed")
        if word == "]" and open_blocks and not key:
            block = open_blocks.pop()
            if [name for name, *_ in open_blocks] == ([] if block[0] == "graph" else ["graph"]):
                yield block
        elif key and word == "[":
            open_blocks.append((key, {}, line))
            key = ""
        elif key and word != "]":
            if len(open_blocks) < 3 and key in values and key in ("id", "label", "source", "target", "directed"):
                raise _bad_gml(source, line, f"{key} stands twice")
            values[key], key = word, ""
        elif _KEY.fullmatch(word):
            key = word.lower()
        else:
            expected = f"a value of {key}" if key else "a key"
            raise _bad_gml(source, line, f"expected {expected}, got {word[:60]!r}")
    if open_blocks or key:
        raise _bad_gml(source, line, f"expected {'a value of ' + key if key else ']'}, got the end of the file")


def _id(values: Mapping[str, str], key: str, source: str, line: int) -> int:
    text = values.get(key, "")
    if not _WHOLE.fullmatch(text):
        raise _bad_gml(source, line, f"expected a whole number as {key}, got {text[:60] or 'nothing'}")
    return int(text)


def _bad_gml(source: str, line: int, problem: str) -> InputError:
    return InputError(source, f"bad GML: {problem}", line=line)


_SECTIONS = ("network", "vertices", "arcs", "edges", "arcslist", "edgeslist")
_VERTEX = re.compile(r"\s*([0-9]{1,18})(?:\s+(?:\"([^\"]*)\"|([^\s\"]+))(?:\s+(?P<rest>.*))?)?\s*")
_REST = re.compile(
    r"\[|(?:[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|ellipse|box|diamond|triangle|cross|empty|house|man|woman|circle|s_size|[xy]_fact|phi|[rq]|[bil]c"
    r"|bw|l[ar]|lphi|fos|font|shape|url|hooks?)(?:\s|$)",
    re.IGNORECASE,
)
"""The beginning of what may stand behind a label: coordinates, times, a shape or a parameter of the drawing."""


def parse_pajek(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a Pajek file: an arc means that its first person follows the second, an edge is a friendship.

    People are numbered as vertices are, and called by their labels; by their numbers if labels are missing or repeat.
    """

    def wrong(problem: str) -> InputError:
        return InputError(source, f"bad Pajek: {problem}, got {line.strip()[:60]!r}", line=number)

    section, size, names = "", 0, dict[int, str]()
    arcs, edges = list[tuple[int, int]](), list[tuple[int, int]]()
    for number, line in enumerate(decode_text(data, source).split("\n"), 1):
        cells = line.split()
        if not cells or cells[0].startswith("%"):
            continue
        # 1. The beginning of a section.
        if cells[0].startswith("*"):
            section = cells[0][1:].lower()
            if section not in _SECTIONS or (section in ("network", "vertices") and size > 0):
                raise wrong("expected one network with *Vertices, *Arcs, *Edges, *Arcslist or *Edgeslist")
            if section == "vertices":
                if len(cells) != 2 or not _COUNT.fullmatch(cells[1]) or not int(cells[1]):
                    raise wrong("expected the number of vertices, all of one kind")
                size = int(cells[1])
                check_people(size, source, number)
        # 2. A vertex, by number and label.
        elif section == "vertices":
            found = _VERTEX.fullmatch(line)
            if found is None or (found["rest"] and _REST.match(found["rest"]) is None):
                raise wrong("expected a number and a label, in quotes if it has spaces, with &#34; for a quote")
            if not 0 < int(found[1]) <= size or int(found[1]) in names:
                raise wrong(f"expected a new vertex from 1 to {size} and its label")
            names[int(found[1])] = without_entities((found[2] or found[3] or "").strip())
        elif section in ("", "network"):
            raise wrong("expected `*Vertices`")
        # 3. A tie, or a list of those whom the first one follows.
        else:
            ends = cells if section.endswith("list") else cells[:2]
            if len(ends) < 2 or not all(_COUNT.fullmatch(cell) and 0 < int(cell) <= size for cell in ends):
                raise wrong(f"expected vertices from 1 to {size}")
            one, *others = (int(cell) - 1 for cell in ends)
            ties = arcs if section.startswith("arcs") else edges
            ties += [(one, other) for other in others]
    # 4. The graph. An edge beside arcs is a tie each way.
    labels = [names[vertex] for vertex in sorted(names)]
    are_names = all(labels) and len({*labels}) == size
    called = labels if are_names else Numbered(size, 1)
    both = [tie for one, other in edges for tie in ((one, other), (other, one))]
    pairs = np.array([*arcs, *both] if arcs else edges, dtype=np.int64).reshape(-1, 2)
    kinds = " and ".join(name for name, ties in (("arcs", arcs), ("edges", edges)) if ties)
    said = [f"Pajek, {kinds}", f"people are called by their {'labels' if are_names else 'numbers'}"]
    expected = "arcs or edges between different vertices"
    return graph_of_file(source, called, pairs, said, expected, mutual=not arcs)
