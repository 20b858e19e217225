"""The settings as data, for docs/settings.md, designs, checks and editors."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from prism.config.config import Config
from prism.config.section import is_section, sections_of
from prism.expectations import join, type_text


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
    return tuple(
        _setting(join(path, field.name), field)
        for path, section in sections_of(Config).items()
        if path  # what is at the top belongs to a user's domain, which only that domain can describe, or is a list
        for field in msgspec.structs.fields(section)
        if not is_section(field.type)
    )


def schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration's file, with which an editor completes and checks it."""
    whole = msgspec.json.schema(Config)
    for definition in whole["$defs"].values():
        definition["description"] = definition["description"].partition("\n")[0]
        for name, kind in definition["properties"].items():
            if "$ref" in kind:  # an empty section keeps its defaults
                definition["properties"][name] = {"anyOf": [{"$ref": kind["$ref"]}, {"type": "null"}]}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **whole}


def _setting(path: str, field: msgspec.structs.FieldInfo) -> Setting:
    kind = inspect.type_info(field.type)
    about = (kind.extra_json_schema or {}).get("description", "") if isinstance(kind, inspect.Metadata) else ""
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True)
    default = text.removesuffix("...\n").strip()
    return Setting(path=path, type=type_text(kind), default=default, description=about)
