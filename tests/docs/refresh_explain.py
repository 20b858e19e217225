"""The records in docs/view.md: `python -m tests.docs.refresh_explain` writes their fields into it."""

from __future__ import annotations

import inspect
import re

import msgspec

from actors.results import explanation
from tests.paths import ROOT

PAGE = ROOT / "docs" / "view.md"
_TABLE = re.compile(r"(?<=<!-- records: begin -->\n).*?(?=<!-- records: end -->)", re.DOTALL)


def records() -> str:
    """Return the table of all records with their fields, in the order of the module."""
    found = [
        each
        for each in vars(explanation).values()
        if inspect.isclass(each) and issubclass(each, msgspec.Struct) and each.__module__ == explanation.__name__
    ]
    rows = [f"| `{each.__name__}` | {', '.join(f'`{field}`' for field in each.__struct_fields__)} |" for each in found]
    return "\n".join(["| record | fields |", "|---|---|", *rows, ""])


def refreshed(text: str) -> str:
    """Return the page with the records of this version."""
    return _TABLE.sub(lambda _: records(), text)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
