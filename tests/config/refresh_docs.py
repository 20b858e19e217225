"""Rewrite the tables in docs/configuration.md after the model changed: `python -m tests.config.refresh_docs`."""

from __future__ import annotations

from itertools import groupby
from typing import cast

import msgspec
from msgspec import inspect

from prism.config import AttributeConfig, InterventionConfig, PublishConfig, settings
from prism.config.describe import unwrap, yaml_text
from prism.expectations import type_text
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


def settings_markdown() -> str:
    """Return the tables of docs/configuration.md: a heading, a sentence and a table for each section."""
    blocks = []
    for section, members in groupby(settings(), key=lambda setting: setting.section):
        listed = tuple(members)
        rows = [_row(f"`{s.name}`", s.type, f"`{s.default}`", s.description) for s in listed]
        head = [_row("key", "type", "default", "meaning"), _row("---", "---", "---", "---")]
        blocks.append("\n".join([f"### {section}", "", listed[0].section_description, "", *head, *rows]))
        if section == "population":
            blocks.append(
                _keys_markdown(
                    AttributeConfig,
                    "population.attributes.NAME",
                    "The declaration of one attribute of people. Examples and rules: [attributes.md](attributes.md).",
                )
            )
    about = "One intervention of the list. Examples and rules: [interventions.md](interventions.md)."
    blocks.append(_keys_markdown(InterventionConfig, "interventions", about))
    about = "A post that an intervention publishes."
    blocks.append(_keys_markdown(PublishConfig, "interventions: publish", about))
    return "\n\n".join(blocks) + "\n"


def _keys_markdown(record: type[msgspec.Struct], title: str, about: str) -> str:
    """Return the table of the keys of a record that stands in a list, or under a name that users give."""
    info = cast(inspect.StructType, inspect.type_info(record))
    rows = []
    for field in info.fields:
        kind, description = unwrap(field.type)
        default = "required" if field.required else f"`{yaml_text(field.default)}`"
        rows.append(_row(f"`{field.name}`", type_text(kind), default, description))
    head = [_row("key of an entry", "type", "default", "meaning"), _row("---", "---", "---", "---")]
    return "\n".join([f"### {title}", "", about, "", *head, *rows])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
