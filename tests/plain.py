"""The world of `configs/friends.yaml`, in which few ticks hold many events: for tests that need such a world."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from prism.config import Config
from tests.paths import ROOT

Sections = dict[str, Any]
"""The sections of a configuration, by name."""


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Sections:
    """Return the settings of both; where both have one, that above."""
    merged = dict(below)
    for name, value in above.items():
        # `intentions.base` is one setting, a mapping.
        is_section = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping) and name != "base"
        merged[name] = _over(merged[name], value) if is_section else value
    return merged


_FRIENDS: Final = yaml.safe_load((ROOT / "configs" / "friends.yaml").read_text(encoding="utf-8"))
PLAIN: Final[Sections] = {
    "population": {name: value for name, value in _FRIENDS["population"].items() if name != "size"},
    "feed": _FRIENDS["feed"],
}


def plain(sections: Mapping[str, Any]) -> Sections:
    """Return these settings over those of the plain world."""
    return _over(PLAIN, sections)


def plain_config(**sections: Any) -> Config:
    """Return the configuration of these settings over those of the plain world."""
    return Config(**plain(sections))


def plain_text(text: str) -> str:
    return yaml.safe_dump(plain(yaml.safe_load(text)), sort_keys=False)
