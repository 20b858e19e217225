"""The settings as data, for docs/settings.md, designs and checks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cache
from typing import cast

import msgspec
import yaml
from msgspec import inspect

from prism.config.config import Config
from prism.expectations import item_type_of, type_text


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
