"""The settings as data, for `prism init` and for docs/settings.md."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterator
from functools import cache
from itertools import groupby
from typing import Final, cast

import msgspec
import yaml
from msgspec import inspect

from prism.config.config import Config
from prism.expectations import item_type_of, type_text

FIRST_SETTINGS: Final = (
    "simulation.seed",
    "simulation.rounds",
    "population.size",
    "population.ambiguity",
    "population.graph.kind",
    "population.graph.degree",
    "feed.algorithm",
    "feed.size",
    "feed.out_of_network",
    "oracle.backend",
    "llm.model",
    "run.question",
)
"""The settings that a first study of people changes."""

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


def starter_yaml(only: Container[str] | None = None, header: str = STARTER_HEADER) -> str:
    """Return a YAML file with settings at their defaults, each below a comment with its meaning and range.

    Args:
        only: the dotted paths of the settings; None for all.
        header: the comment at the top.
    """
    lines = _comment(header, "")
    opened: tuple[str, ...] = ()
    chosen = [setting for setting in settings() if only is None or setting.path in only]
    for section, members in groupby(chosen, key=lambda setting: setting.section):
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


def _settings_of(section: inspect.StructType, defaults: msgspec.Struct, prefix: str) -> Iterator[Setting]:
    inner = []
    for field in section.fields:
        path, value = f"{prefix}{field.name}", getattr(defaults, field.name)
        kind, description = unwrap(field.type)
        if isinstance(kind, inspect.StructType):
            inner.append((kind, value, f"{path}."))
            continue
        if not prefix:  # the settings of a user's domain, which only that domain can describe
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


def unwrap(kind: inspect.Type) -> tuple[inspect.Type, str]:
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
    lines = [line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, width) or [""]]
    return [(prefix + line).rstrip() for line in lines]
