"""Rewrite the table in docs/settings.md after the model changed: `python -m tests.config.refresh_docs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import msgspec
from msgspec import inspect

from prism.config import AttributeConfig, InterventionConfig, PublishConfig, settings
from prism.config.describe import unwrap, yaml_text
from prism.expectations import type_text
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "settings.md"
BEGIN = "<!-- settings: written by `python -m tests.config.refresh_docs`, do not edit below -->\n"
END = "<!-- settings: end -->"
ENTRIES: dict[str, type[msgspec.Struct]] = {
    "population.attributes.NAME": AttributeConfig,
    "interventions[]": InterventionConfig,
    "interventions[].publish": PublishConfig,
}
"""Records that stand in a list, or under a name that users give, and so are not among the settings."""


def with_table(text: str) -> str:
    """Return the document with the model's table between the markers."""
    head, found_begin, rest = text.partition(BEGIN)
    _, found_end, tail = rest.partition(END)
    assert found_begin, f"{DOCUMENT} has lost its marker {BEGIN}"
    assert found_end, f"{DOCUMENT} has lost its marker {END}"
    return f"{head}{BEGIN}\n{settings_markdown()}\n{END}{tail}"


def settings_markdown() -> str:
    """Return the table of all settings, and of the keys of entries, without outer pipes."""
    rows = [_row("key", "type", "default", "meaning"), _row("---", "---", "---", "---")]
    rows += [_row(f"`{s.path}`", s.type, f"`{s.default}`", s.description) for s in settings()]
    for place, record in ENTRIES.items():
        rows += _keys(place, record)
    return "\n".join(rows) + "\n"


def _keys(place: str, record: type[msgspec.Struct]) -> Iterator[str]:
    for field in cast(inspect.StructType, inspect.type_info(record)).fields:
        kind, description = unwrap(field.type)
        default = "required" if field.required else f"`{yaml_text(field.default)}`"
        yield _row(f"`{place}.{field.name}`", type_text(kind), default, description)


def _row(*cells: str) -> str:
    return " | ".join(cell.replace("|", chr(92) + "|") for cell in cells)


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
