"""Runs of one configuration taken together, and the settings in which configurations differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from actors.results.run_record import RunRecord
from prism.answers import setting_in_words
from prism.config import Config

SEED = "simulation.seed"
NOT_COMPARED = ("metrics.", "run.", SEED, "simulation.domain_path")
"""Settings that do not make another configuration: they have no effect on results, or only by chance."""
NOT_SET = "not set"


class RunGroup(NamedTuple):
    """Runs of one configuration with different seeds.

    Args:
        label: the settings that tell it from the other groups; empty if there is no other.
        runs: at least one, in the order in which they were given.
    """

    label: str
    runs: tuple[RunRecord, ...]

    @property
    def first(self) -> RunRecord:
        """The run that is shown where a single run must represent the group."""
        return self.runs[0]


class Difference(NamedTuple):
    """A setting that is not the same in all groups: its key, and its value in each group, as JSON."""

    key: str
    values: tuple[str, ...]


def flat_settings(config: Config) -> dict[str, str]:
    """Return `{dotted key: value as JSON}` of all settings."""
    return {key: msgspec.json.encode(value).decode() for key, value in _flat(msgspec.to_builtins(config), "")}


def groups_of(runs: Sequence[RunRecord]) -> tuple[list[RunGroup], list[Difference]]:
    """Return the groups of runs in the order of their first runs, and the settings in which they differ."""
    by_settings: dict[tuple[tuple[str, str], ...], list[RunRecord]] = {}
    for run in runs:
        kept = tuple(
            (key, value) for key, value in flat_settings(run.config).items() if not key.startswith(NOT_COMPARED)
        )
        by_settings.setdefault(kept, []).append(run)
    settings = [dict(each) for each in by_settings]
    keys = dict.fromkeys(key for each in settings for key in each)
    differences = [
        Difference(key, tuple(each.get(key, NOT_SET) for each in settings))
        for key in keys
        if len({each.get(key) for each in settings}) > 1
    ]
    groups = [
        RunGroup(_label(differences, place, len(settings)), tuple(each))
        for place, each in enumerate(by_settings.values())
    ]
    return groups, differences


def _label(differences: Sequence[Difference], place: int, groups: int) -> str:
    """Return a short name of a group: its settings that differ, if these are few and short."""
    if groups == 1:
        return ""
    named = [f"{setting_in_words(each.key)}: {_plain(each.values[place])}" for each in differences]
    label = ", ".join(named)
    return label if len(differences) <= 2 and len(label) <= 40 else f"configuration {place + 1}"


def _plain(value: str) -> str:
    return value.strip('"')


def _flat(settings: dict[str, Any], section: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{section}{name}.")
        else:
            yield f"{section}{name}", value
