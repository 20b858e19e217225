"""Rewrite the tables in docs/configuration.md after the model changed: `python -m tests.config.refresh_docs`."""

from __future__ import annotations

from prism.config import settings_markdown
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "configuration.md"
BEGIN = "<!-- settings: written by `python -m tests.config.refresh_docs`, do not edit below -->\n"
END = "<!-- settings: end -->"


def with_tables(text: str) -> str:
    """Return the document with the model's tables between the markers."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert begin, f"{DOCUMENT} has lost its marker {BEGIN}"
    assert end, f"{DOCUMENT} has lost its marker {END}"
    return f"{head}{begin}\n{settings_markdown()}\n{end}{tail}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
