"""Rewrite the tables in docs/configuration.md after the model changed: `python -m tests.config.refresh_docs`."""

from __future__ import annotations

from itertools import groupby
from typing import cast

import msgspec
from msgspec import inspect

from prism.config import FIRST_SETTINGS, AttributeConfig, InterventionConfig, PublishConfig, settings
from prism.config.describe import unwrap, yaml_text
from prism.expectations import type_text
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "configuration.md"
FIRST_BEGIN = "<!-- first settings: written by `python -m tests.config.refresh_docs`, do not edit below -->\n"
FIRST_END = "<!-- first settings: end -->"
BEGIN = "<!-- settings: written by `python -m tests.config.refresh_docs`, do not edit below -->\n"
END = "<!-- settings: end -->"


def with_tables(text: str) -> str:
    """Return the document with the model's tables between the markers."""
    text = _between(text, FIRST_BEGIN, first_markdown(), FIRST_END)
    return _between(text, BEGIN, settings_markdown(), END)


def _between(text: str, begin: str, tables: str, end: str) -> str:
    head, found_begin, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    assert found_begin, f"{DOCUMENT} has lost its marker {begin}"
    assert found_end, f"{DOCUMENT} has lost its marker {end}"
    return f"{head}{begin}\n{tables}\n{end}{tail}"


def first_markdown() -> str:
    """Return the table of the settings that a first study changes."""
    first = [setting for setting in settings() if setting.path in FIRST_SETTINGS]
    rows = [_row(f"`{s.path}`", s.type, f"`{s.default}`", s.description) for s in first]
    return "\n".join([_row("setting", "type", "default", "meaning"), _row("---", "---", "---", "---"), *rows]) + "\n"


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
                    "One attribute of people. Rules and examples: [Attributes](people.md#attributes).",
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
