"""Runs of one configuration taken together, and the settings in which configurations differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from actors.factory.input_files import INPUTS, KEPT
from actors.results.run_record import RunRecord
from prism.answers import setting_in_words
from prism.config.calibrated import NOT_COMPARED
from prism.config.yaml_text import flat
from prism.quoting import as_text

_KEPT_IN_JSON = re.compile(rf'{INPUTS}/(?P<sha256>[0-9a-f]{{64}})(?:/(?P<name>(?:\\.|[^/"\\])+))?')
"""As `KEPT`, in a text of JSON: there the quotes in a name are escaped, and the quote after it ends it."""


class RunGroup(NamedTuple):
    """Runs of one configuration with different seeds."""

    label: str  # the settings that tell it from the other groups; empty if there is no other
    runs: tuple[RunRecord, ...]  # at least one, in the order in which they were given

    @property
    def first(self) -> RunRecord:
        """The run that is shown where a single run must represent the group."""
        return self.runs[0]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that differs between runs, with its value in each run as text."""

    key: str
    values: list[str]


def settings_in_words(config: dict[str, Any]) -> dict[str, str]:
    """Return `{dotted key: value as text}` of all settings."""
    return {key: as_text(value) for key, value in flat(config)}


def differing(settings: Sequence[dict[str, str]], missing: str = "") -> list[Difference]:
    """Return the settings that differ between runs.

    Args:
        settings: `{dotted key: value as text}` of each run.
        missing: the text for a setting that a run does not have.
    """
    rows = {key: [each.get(key, missing) for each in settings] for key in dict.fromkeys(chain(*settings))}
    return [Difference(key=key, values=plain_values(values)) for key, values in rows.items() if len({*values}) > 1]


def plain_values(values: Sequence[str]) -> list[str]:
    """Return values with kept inputs by the names of their files; with the hash, where two would look the same."""
    kept = [(KEPT if KEPT.fullmatch(value) else _KEPT_IN_JSON, value) for value in values]
    plain = [name.sub(lambda found: found["name"] or found["sha256"][:8], value) for name, value in kept]
    if len({*plain}) == len({*values}):
        return plain
    return [name.sub(lambda found: f"{found['name'] or 'code'} ({found['sha256'][:8]})", value) for name, value in kept]


def groups_of(runs: Sequence[RunRecord]) -> tuple[list[RunGroup], list[Difference]]:
    """Return the groups of runs in the order of their first runs, and the settings in which they differ."""
    by_settings: dict[tuple[tuple[str, str], ...], list[RunRecord]] = {}
    for run in runs:
        told = settings_in_words(msgspec.to_builtins(run.config)).items()
        kept = tuple((key, value) for key, value in told if not key.startswith(NOT_COMPARED))
        by_settings.setdefault(kept, []).append(run)
    differences = differing([dict(each) for each in by_settings], "not set")
    groups = [
        RunGroup(_label(differences, place, len(by_settings)), tuple(each))
        for place, each in enumerate(by_settings.values())
    ]
    return groups, differences


def _label(differences: Sequence[Difference], place: int, groups: int) -> str:
    """Return a short name of a group: its settings that differ, if these are few and short."""
    if groups == 1:
        return ""
    named = [f"{setting_in_words(each.key)}: {each.values[place]}" for each in differences]
    label = ", ".join(named)
    return label if len(differences) <= 2 and len(label) <= 40 else f"configuration {place + 1}"
