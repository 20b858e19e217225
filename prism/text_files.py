"""Text files of a user: the format that a file's name tells, and the text in its bytes."""

from __future__ import annotations

from pathlib import PurePath

from prism.errors import InputError


def decode_text(data: bytes, source: str) -> str:
    """Return the text of a file, with plain line ends and without a byte order mark.

    Raises:
        InputError: the bytes are not UTF-8; the line is that of the first wrong byte.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # `error.object` and not `data`: the codec counts from behind a byte order mark.
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            source, f"expected UTF-8 text, got byte 0x{error.object[error.start]:02x}", line=line
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def file_format(source: str) -> str:
    """Return the extension that tells a file's format, in lower case with its dot: `.csv` for `Ties.CSV.gz`."""
    return PurePath(source.lower().removesuffix(".gz")).suffix


def separator_of(header: str) -> str:
    """Return the character that separates the columns of a table with this first line: comma, semicolon or tab."""
    return max(",;\t", key=header.count)
