"""The settings as data, for docs/settings.md, designs and checks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

import msgspec
import yaml
from msgspec import inspect

from prism.config.config import Config
from prism.expectations import type_text


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting.

    Args:
        path: the dotted path, as in `--set`.
        type: the type and range in words: `int >= 1`, `one of: a, b`, `text or none`.
        default: the default as YAML on one line.
        description: the meaning of the setting.
    """

    path: str
    type: str
    default: str
    description: str


@cache
def settings() -> tuple[Setting, ...]:
    """Return every setting: a section's own settings first, then those of the sections inside it."""
    return tuple(_settings_of(cast(inspect.StructType, inspect.type_info(Config)), Config(), ""))


def _settings_of(section: inspect.StructType, defaults: msgspec.Struct, prefix: str) -> Iterator[Setting]:
    inner = []
    for field in section.fields:
        path, value, kind, about = f"{prefix}{field.name}", getattr(defaults, field.name), field.type, ""
        if isinstance(kind, inspect.Metadata):
            about = str((kind.extra_json_schema or {}).get("description", ""))
            kind = kind.type
        if isinstance(kind, inspect.StructType):
            inner.append((kind, value, f"{path}."))
        elif prefix:  # the others are of a user's domain, which only that domain can describe
            plain = list(value) if isinstance(value, tuple) else value
            text = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True)
            default = text.removesuffix("...\n").strip()
            yield Setting(path=path, type=type_text(kind), default=default, description=about)
    for kind, value, inner_prefix in inner:
        yield from _settings_of(kind, value, inner_prefix)
