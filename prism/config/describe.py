"""The settings as data, for `prism init` and for docs/configuration.md."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import cast

import msgspec
import yaml
from msgspec import inspect

from prism.config.attributes import AttributeConfig
from prism.config.config import Config
from prism.config.interventions import InterventionConfig, PublishConfig
from prism.expectations import item_type_of, type_text

STARTER_WIDTH = 120
STARTER_HEADER = """\
Every setting of a PRISM run, at its default. Delete what you do not change: an absent key keeps its default.
`null` is how YAML writes none."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting.

    Args:
        path: the dotted path, as in `--set`.
        type: the type and range in words: `int >= 1`, `one of: a, b`, `text or none`.
        item_type: the same for one item, if the setting is a list.
        default: the default as YAML text.
        description: the meaning of the setting.
        section_description: the subject of its section.
    """

    path: str
    type: str
    item_type: str | None
    default: str
    description: str
    section_description: str

    @property
    def section(self) -> str:
        """The dotted path of its section."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@cache
def settings() -> tuple[Setting, ...]:
    """Return every setting: a section's own settings first, then those of the sections inside it."""
    return tuple(_settings_of(cast(inspect.StructType, inspect.type_info(Config)), Config(), ""))


def starter_yaml() -> str:
    """Return a YAML file with every setting at its default, below a comment with its meaning and range."""
    lines = _comment(STARTER_HEADER, "")
    opened: tuple[str, ...] = ()
    for section, members in groupby(settings(), key=lambda setting: setting.section):
        listed, parts = tuple(members), tuple(section.split("."))
        outer, indent = "  " * (len(parts) - 1), "  " * len(parts)
        # A section with no settings of its own is opened by the first section inside it.
        for depth in range(len(parts) - 1):
            if parts[: depth + 1] != opened[: depth + 1]:
                lines += ["", f"{'  ' * depth}{parts[depth]}:"]
        opened = parts
        lines += ["", *_comment(listed[0].section_description, outer), f"{outer}{parts[-1]}:"]
        for setting in listed:
            lines += _comment(f"{setting.description} ({setting.type})", indent)
            lines.append(f"{indent}{setting.name}: {setting.default}")
    return "\n".join(lines) + "\n"


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
        kind, description = _unwrap(field.type)
        default = "required" if field.required else f"`{yaml_text(field.default)}`"
        rows.append(_row(f"`{field.name}`", type_text(kind), default, description))
    head = [_row("key of an entry", "type", "default", "meaning"), _row("---", "---", "---", "---")]
    return "\n".join([f"### {title}", "", about, "", *head, *rows])


def _settings_of(section: inspect.StructType, defaults: msgspec.Struct, prefix: str) -> Iterator[Setting]:
    inner = []
    for field in section.fields:
        path, value = f"{prefix}{field.name}", getattr(defaults, field.name)
        kind, description = _unwrap(field.type)
        if isinstance(kind, inspect.StructType):
            inner.append((kind, value, f"{path}."))
            continue
        if not prefix:  # the settings of a domain of its own, which only that domain can describe
            continue
        item = item_type_of(kind)
        yield Setting(
            path=path,
            type=type_text(kind),
            item_type=None if item is None else type_text(item),
            default=yaml_text(value),
            description=description,
            section_description=textwrap.dedent(section.cls.__doc__ or "").strip(),
        )
    for kind, value, inner_prefix in inner:
        yield from _settings_of(kind, value, inner_prefix)


def _unwrap(kind: inspect.Type) -> tuple[inspect.Type, str]:
    """Return the bare type of a field, and its description."""
    if not isinstance(kind, inspect.Metadata):
        return kind, ""
    return kind.type, str((kind.extra_json_schema or {}).get("description", ""))


def yaml_text(value: object) -> str:
    """Return a value as YAML on one line."""
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True)
    return text.removesuffix("...\n").strip()


def _comment(text: str, indent: str) -> list[str]:
    prefix = f"{indent}# "
    width = STARTER_WIDTH - len(prefix)
    return [prefix + line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, width)]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
