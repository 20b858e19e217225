"""The result of a command as JSON, beside its tables or in place of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from actors.core.files import write_json
from actors.display.console import echo


def json_option(help_text: str) -> Callable[[Any], Any]:
    """Return the option `--json FILE|-`, the argument `json_path` of a command."""
    file = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
    return click.option("--json", "json_path", type=file, metavar="FILE|-", help=help_text)


def show_result(found: Any, json_path: Path | None, print_tables: Callable[[], None]) -> None:
    """Print a record as tables, and write it to a JSON file if one is named; or print JSON alone, for `-`."""
    if json_path is not None and str(json_path) == "-":
        print_json(found)
        return
    print_tables()
    if json_path is not None:
        write_json(json_path, found, follows=True)


def print_json(found: Any) -> None:
    """Print a record as JSON that holds no character which is not printable; and only ASCII, on other than UTF-8."""
    text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
    is_plain = str.isprintable if (sys.stdout.encoding or "utf-8").lower().startswith("utf") else str.isascii
    # Outside its strings, JSON has only printable ASCII and line ends, so all other characters may be escaped.
    echo("".join(each if is_plain(each) or each == "\n" else _escaped(each) for each in text))


def _escaped(character: str) -> str:
    """Return a character as JSON escapes it: above 16 bits, as the two halves of UTF-16."""
    halves = character.encode("utf-16-be").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))
