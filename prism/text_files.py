"""Text files of a user: the format by the file's name, the text in its bytes, and the rows of its table."""

from __future__ import annotations

import codecs
import csv
import html
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Final, NamedTuple

from prism.errors import InputError
from prism.wording import counted

SEPARATORS: Final = ",;\t|"
TABLES: Final = (".csv", ".tsv", ".parquet")
"""The extensions of tables. One in Parquet comes here as the same table in CSV."""
UTF8: Final = "utf-8"
CELL_CHARS_MAX: Final = 4 * 1024**2
"""The most characters of a cell of a table. The library takes 12 bytes for each while it reads."""
csv.field_size_limit(CELL_CHARS_MAX)  # for the whole process: a profile may have all that its person ever wrote
MISSING: Final = frozenset({"nan", "NaN", "NAN", "NaT", "<NA>", "#N/A", "N/A", "null", "NULL", "None"})
"""The texts by which programs and spreadsheets say that a cell is empty."""
TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""`{text of a cell, in lower case: the truth value that it stands for}`."""
_BINARY: Final = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive or spreadsheet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old spreadsheet or text of Office",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "a database",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "an array of numpy",
    b"\x80\x04\x95": "a pickle",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"(\xb5/\xfd": "packed with zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
}
"""`{first bytes of a file: the kind of file in words}`."""
_GROUPED: Final = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")
"""A number with a comma between groups of three digits."""
POINTS: Final = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""A number whose point may be decimal, or stand between thousands."""
NUMBER: Final = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def decode_text(data: bytes, source: str, encoding: str = UTF8, setting: str | None = None) -> str:
    """Return the text of a file, with plain line ends and without a byte order mark.

    Errors name the dotted path of the setting of the encoding, if there is one.
    """
    if (kind := binary_kind(data)) is not None:
        raise InputError(source, f"is {kind}: expected text")
    encoding = codecs.lookup(encoding).name.removesuffix("-sig")
    is_utf8, way_out = encoding == UTF8, ""
    if is_utf8:
        other = f", or set {setting} to its encoding, such as cp1252 or utf-16" if setting else ""
        way_out = f": save it as UTF-8{other}"
    try:
        text = data.decode("utf-8-sig" if is_utf8 else encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        # `error.object` and not `data`: the codec counts from behind a byte order mark.
        line = error.object.count(b"\n", 0, error.start) + 1
        name = "UTF-8" if is_utf8 else encoding
        problem = f"expected {name} text, got byte 0x{error.object[error.start]:02x}"
        raise InputError(source, f"{problem}{way_out}", line=line) from None
    if "\0" in text:  # also UTF-16 without a byte order mark
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(source, f"expected text, got a character of number 0{way_out}", line=line)
    if not is_utf8 and not data.isascii():  # most other encodings read any bytes
        with suppress(UnicodeDecodeError):
            data.decode(UTF8)
            raise InputError(source, f"expected {encoding} text, got utf-8: set {setting}: utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def binary_kind(data: bytes) -> str | None:
    """Return the kind of a file that is no text, in words, by its first bytes; None for any other content."""
    return next((kind for start, kind in _BINARY.items() if data.startswith(start)), None)


def file_format(source: str) -> str:
    """Return the extension that tells a file's format, in lower case with its dot: `.csv` for `Ties.CSV.gz`."""
    return PurePath(source.lower().removesuffix(".gz")).suffix


def check_format(source: str, content: str, formats: Sequence[str]) -> None:
    """Refuse a file whose extension is not one of some formats."""
    kind = file_format(source)
    if kind not in formats:
        expected = (" or " if len(formats) < 3 else ", ").join(formats)
        raise InputError(source, f"expected {content} in {expected} (also .gz), got {kind or 'no extension'}")


class Table(NamedTuple):
    """A table in a text, without blank rows and without spaces around its cells."""

    line: int  # that of the header
    header: list[str]  # the names of the columns; none in an empty text
    rows: Iterator[tuple[int, list[str]]]  # the line on which each row begins, and its cells: as many as the header has
    separator: str  # the character between cells


def read_table(text: str, source: str, names: Collection[str], *, keeps_blank: bool = False) -> Table:
    """Return the table in a text. Rows are read, and refused, one by one.

    Args:
        names: those that its columns may have, in any case, by which its separator is found.
        keeps_blank: blank rows count, too, unless they are blank lines.
    """
    # The separator with which the first line has most of these columns; of several, that with most columns.
    known = {name.lower() for name in names}
    first = found[0] if (found := re.search(r"\S[^\n]*", text)) else ""

    def count(separator: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader([first], delimiter=separator), [])
        except csv.Error:
            return 0, 0
        return sum(cell.strip().lower() in known for cell in cells), len(cells)

    separator = max(SEPARATORS, key=count)
    rows = _rows(text, source, separator, keeps_blank)
    line, header = next(rows, (1, []))
    return Table(line, header, rows, separator)


def _rows(text: str, source: str, separator: str, keeps_blank: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is no blank line, with the line on which it begins: a quoted text may hold line ends."""
    lines = (f"{line}\n" for line in text.split("\n"))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line, width = 1, 0
    try:
        for row in reader:
            cells = [*map(str.strip, row)]
            if cells and (keeps_blank or any(cells)):
                width = width or len(cells)
                if len(cells) != width:
                    raise InputError(source, f"expected {counted(width, 'column')}, got {len(cells)}", line=line)
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        is_long = "field limit" in str(error)
        problem = f"expected cells of at most {CELL_CHARS_MAX:,} characters" if is_long else f"bad CSV: {error}"
        raise InputError(source, problem, line=line) from None


def without_entities(text: str) -> str:
    """Return a text with characters in place of their codes, such as `&#34;` and `&amp;`; other words stay."""
    return re.sub(r"&#?\w+;", lambda found: html.unescape(found[0]), text)


def plain_number(text: str) -> float | None:
    """Return a number that a table has as `1234.5`, `1,234.5` or `1.2e3`; None for any other text."""
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return float(text) if NUMBER.fullmatch(text) else None
