"""Text files of a user: the format by the file's name, the text in its bytes, and the rows of its table."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from prism.errors import InputError
from prism.wording import counted

SEPARATORS: Final = ",;\t|"
UTF8: Final = "utf-8"
TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""`{text of a cell, in lower case: the truth value that it stands for}`."""
_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""The byte order marks of encodings other than UTF-8, the longer ones first."""
_HEAD_BYTES: Final = 4096
"""The bytes at the start of a file by which UTF-16 without a byte order mark is recognised."""
_AROUND: Final = 12
"""Bytes before and after a wrong byte that are shown, so that a reader can see whether the words are right."""
_GROUPED: Final = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")
"""A number with a comma between groups of three digits."""
_PLAIN: Final = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def decode_text(data: bytes, source: str, encoding: str = UTF8, setting: str | None = None) -> str:
    """Return the text of a file, with plain line ends and without a byte order mark.

    Args:
        encoding: the encoding that the user says it has.
        setting: the dotted path of the setting of the encoding; None if there is none.

    Raises:
        InputError: the bytes are in another encoding; the line is that of the first wrong byte. A file in another
            encoding is also refused if it could be decoded, to the wrong letters.
    """
    encoding = codecs.lookup(encoding).name.removesuffix("-sig")
    _refuse_other_encoding(data, source, encoding, setting)
    try:
        text = data.decode("utf-8-sig" if encoding == UTF8 else encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        # `error.object` and not `data`: the codec counts from behind a byte order mark.
        line = error.object.count(b"\n", 0, error.start) + 1
        name = "UTF-8" if encoding == UTF8 else encoding
        problem = f"expected {name} text, got byte 0x{error.object[error.start]:02x}"
        raise InputError(source, problem + _way_out(error, encoding, setting), line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(source, "expected text, got a character of number 0", line=line)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def file_format(source: str) -> str:
    """Return the extension that tells a file's format, in lower case with its dot: `.csv` for `Ties.CSV.gz`."""
    return PurePath(source.lower().removesuffix(".gz")).suffix


def check_format(source: str, content: str, formats: Sequence[str]) -> None:
    """Refuse a file whose extension is not one of some formats.

    Args:
        content: the content that the file should have, in words.
        formats: the extensions, such as `.csv`.

    Raises:
        InputError: the extension is another one.
    """
    kind = file_format(source)
    if kind not in formats:
        expected = (" or " if len(formats) < 3 else ", ").join(formats)
        raise InputError(source, f"expected {content} in {expected} (also .gz), got {kind or 'no extension'}")


def table_rows(text: str, source: str, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a table, with the line on which it begins: a quoted text may hold line ends.

    Blank lines are left out.

    Raises:
        InputError: a quote is not closed, or is in the middle of a text.
    """
    # A profile may have all that its person ever wrote in one cell, and Python reads 128 KiB of a cell by default.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(source, f"bad CSV: {error}", line=line) from None


def check_width(row: Sequence[str], width: int, source: str, line: int) -> None:
    """Refuse a row that has not as many cells as the header.

    Raises:
        InputError: it has more or fewer than `width`.
    """
    if len(row) != width:
        raise InputError(source, f"expected {counted(width, 'column')}, got {len(row)}", line=line)


def separator_of(text: str, names: Collection[str]) -> str:
    """Return the separator with which the first line of a table has most of these columns, in any case."""
    known = {name.lower() for name in names}
    header = next((line for line in text.split("\n") if line.strip()), "")

    def count(separator: str) -> int:
        try:
            cells = next(csv.reader([header], delimiter=separator), [])
        except csv.Error:
            return 0
        return sum(cell.strip().lower() in known for cell in cells)

    return max(SEPARATORS, key=count)


def plain_number(text: str) -> float | None:
    """Return a number that a table has as `1234.5`, `1,234.5` or `1.2e3`; None for any other text."""
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return float(text) if _PLAIN.fullmatch(text) else None


def _refuse_other_encoding(data: bytes, source: str, encoding: str, setting: str | None) -> None:
    """Refuse a file whose bytes say that it has another encoding than the one given."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            if not encoding.startswith(name):
                problem = f"expected {encoding} text, got {name}, by the byte order mark"
                raise InputError(source, problem + _setting(name, setting))
            return
    head = data[:_HEAD_BYTES]
    if encoding == UTF8 and b"\0" in head:
        for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            if 4 * head[start::2].count(0) >= len(head):  # most texts have a zero in every other byte
                raise InputError(
                    source, f"expected {encoding} text, got {name}, by its zeros" + _setting(name, setting)
                )
    elif encoding != UTF8 and not data.isascii() and _is_utf8(data):
        raise InputError(source, f"expected {encoding} text, got {UTF8}" + _setting(UTF8, setting))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode(UTF8)
    except UnicodeDecodeError:
        return False
    return True


def _way_out(error: UnicodeDecodeError, encoding: str, setting: str | None) -> str:
    """Return the advice about a byte that is not UTF-8, with the words around it as cp1252 reads them."""
    if encoding != UTF8 or setting is None:
        return ""
    try:
        error.object.decode("cp1252")
    except UnicodeDecodeError:
        return f": save it as UTF-8, or set {setting} to its encoding"
    around = error.object[max(0, error.start - _AROUND) : error.start + _AROUND].decode("cp1252")
    lines = around[: min(error.start, _AROUND)].split("\n")[-1], around[min(error.start, _AROUND) :].split("\n")[0]
    shown = " ".join("".join(lines).split())
    return f", which cp1252 reads as {shown!r}" + _setting("cp1252", setting)


def _setting(name: str, setting: str | None) -> str:
    """Return the advice for a file in the encoding `name`."""
    return f": set {setting}: {name}" if setting else ": save it as UTF-8"
