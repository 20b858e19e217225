"""Rewrite the table in docs/settings.md, and configs/schema.json, after the model changed.

Run `python -m tests.config.refresh_docs`.
"""

import json

from prism.config import settings
from prism.config.config import schema
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "settings.md"
SCHEMA = ROOT / "configs" / "schema.json"
BEGIN = "<!-- settings: written by `python -m tests.config.refresh_docs`, do not edit below -->\n"
END = "<!-- settings: end -->"


def with_table(text: str) -> str:
    """Return the document with the model's table between the markers."""
    head, found_begin, rest = text.partition(BEGIN)
    _, found_end, tail = rest.partition(END)
    assert found_begin, f"{DOCUMENT} has lost its marker {BEGIN}"
    assert found_end, f"{DOCUMENT} has lost its marker {END}"
    return f"{head}{BEGIN}\n{settings_markdown()}\n{END}{tail}"


def schema_text() -> str:
    """Return the content of configs/schema.json."""
    return json.dumps(schema(), indent=1) + "\n"


def settings_markdown() -> str:
    """Return the table of all settings, without outer pipes."""
    rows = [_row("key", "type", "default", "meaning"), _row("---", "---", "---", "---")]
    rows += [_row(f"`{s.path}`", s.type, f"`{s.default}`", s.description) for s in settings()]
    return "\n".join(rows) + "\n"


def _row(*cells: str) -> str:
    return " | ".join(cell.replace("|", chr(92) + "|") for cell in cells)


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")
