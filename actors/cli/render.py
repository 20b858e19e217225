"""The one renderer of results: a command computes a record, and `show` prints it.

With `--json` a record is printed as JSON. For a person it is printed as the parts of its view: lines and tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.display.console import SafeConsole, echo
from actors.display.words import amount_of, duration, usd
from actors.logs.output import output
from prism.quoting import printable

UNWRAPPED: Final = 10_000
"""The width of a console that wraps nothing."""
NONE: Final = "-"
"""The cell of a value that there is not."""
IDS: Final = ("root_post", "seed")
"""The names of numbers that are looked up elsewhere, so they have no commas."""
UNITS: Final[Mapping[str, Callable[[float], str]]] = {
    "s": lambda number: f"{number:.3f} s" if 0 < number < 10 else duration(number),
    "bytes": amount_of,
    "usd": usd,
    "share": "{:.1%}".format,
}
"""`{word of a name: how its numbers are shown}`."""

View = Callable[[], Iterable[RenderableType]]


def show(record: Any, view: View, *, brief: str = "", is_narrow: bool = False) -> None:
    """Print the result of a command.

    Args:
        record: a tree of structs, dataclasses, mappings, sequences and plain values.
        view: returns its lines and tables. A text is printed as it is, and a `line` is wrapped to the width of a
            terminal.
        brief: the line that `--quiet` leaves of them, if any.
        is_narrow: lay it out in 80 columns where there is no terminal; otherwise nothing is wrapped there.
    """
    if output.as_json:
        print_json(record)
    elif output.is_quiet:
        if brief:
            echo(brief)
    else:
        console = SafeConsole()
        if not (is_narrow or console.is_terminal):  # a file has no width
            console = SafeConsole(width=UNWRAPPED)
        for part in view():
            if isinstance(part, str):
                echo(part)
            else:
                console.print(part)


def print_json(record: Any) -> None:
    """Print a record as JSON that holds no character which is not printable; and only ASCII, on other than UTF-8."""
    text = msgspec.json.format(msgspec.json.encode(_tree(record)), indent=2).decode()
    is_plain = str.isprintable if (sys.stdout.encoding or "utf-8").lower().startswith("utf") else str.isascii

    def escaped(character: str) -> str:  # above 16 bits, as the two halves of UTF-16
        halves = character.encode("utf-16-be").hex()
        return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))

    # Outside its strings, JSON has only printable ASCII and line ends, so all other characters may be escaped.
    echo("".join(each if is_plain(each) or each == "\n" else escaped(each) for each in text))


def _tree(record: Any) -> Any:
    if isinstance(record, tuple) and hasattr(record, "_asdict"):
        record = record._asdict()
    if isinstance(record, Mapping):
        return {str(name): _tree(value) for name, value in record.items()}
    if isinstance(record, list | tuple):
        return [_tree(value) for value in record]
    return msgspec.json.decode(msgspec.json.encode(record, enc_hook=str))


def facts_of(record: Mapping[str, Any]) -> RenderableType:
    """Return the fields of a record, whose names have the units, with their values: a row each."""
    return table(("", ""), [(_words(name), told(value, name)) for name, value in record.items()])


def _words(name: str) -> str:
    """Return a field's name in words, without its unit."""
    *words, last = name.split("_")
    kept = words if words and last in UNITS and last != "share" else [*words, last]
    return " ".join(word for word in kept if word != "s")


def told(value: Any, name: str = "") -> str:
    """Return a value as a text, a number in the unit that its name has."""
    if value is None or value in ([], {}):
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = next((UNITS[word] for word in name.split("_")[::-1] if word in UNITS), None)
    if isinstance(value, int | float) and unit is not None:
        return unit(value)
    if isinstance(value, int):
        return f"{value}" if name in IDS else f"{value:,}"
    if isinstance(value, float):
        return f"{value:z.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(inner)} {told(each, inner)}" for inner, each in value.items())
    return "; ".join(told(each, name) for each in value) if isinstance(value, list) else str(value)


def line(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> RenderableType:
    """Return a table whose texts are data.

    Args:
        columns: their names, `>` before that of a column of numbers, which is to the right and never broken. Nor is
            the column " ", of the names of the rows. Without any name the table has no head.
        rows: texts, or values that are shown as `told` shows them.
    """
    is_headed = any(name.strip("> ") for name in columns)
    made = Table(box=None, header_style="bold", pad_edge=False, show_header=is_headed)
    for name in columns:
        is_number = name.startswith(">")
        is_fixed = is_number or name == " "
        made.add_column(name.lstrip(">"), justify="right" if is_number else "left", no_wrap=is_fixed, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(printable(told(cell))) for cell in row))
    return Group(Text(title, style="bold"), made) if title else made


def interval(low: float | None, high: float | None, form: str = ".4g") -> str:
    """Return an interval in words; `-` if there is none."""
    return NONE if low is None or high is None else f"{low:z{form}} to {high:z{form}}"
