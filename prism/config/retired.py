"""Settings that earlier versions had, and what is written in their place."""

from __future__ import annotations

from collections.abc import Mapping

_LOOKAHEAD = "oracle.lookahead_ticks"
_GAP_PERSISTENCE = "economy.macro.gap_persistence"
RETIRED = frozenset({_LOOKAHEAD, _GAP_PERSISTENCE})
"""The dotted paths of settings that there are no more."""

_TICK_SECONDS = 60.0
_MINUTE_S = 60.0
_MOST = 1e15
"""The largest number that advice works with: an integer may be too large for a float."""


def advice_on(path: str, values: Mapping[str, object]) -> str:
    """Return the message about a retired setting: what to write in its place, with the equal value.

    Args:
        path: one of `RETIRED`.
        values: `{dotted path: value}` of the settings that were given, as they were written.
    """
    if path == _GAP_PERSISTENCE:
        return _lags_of_gap(values.get(path))
    if values.get("simulation.domain") == "economy":
        return "is no setting any more: an economy settles a quarter in its own tick; leave it out"
    ticks, seconds = values.get(path), values.get("simulation.tick_seconds", _TICK_SECONDS)
    new = "is no setting any more: people deliberate in simulated minutes; write population.deliberation_minutes"
    if not (_is_count(ticks) and _is_count(seconds)):
        return new
    return f"{new}: {ticks * seconds / _MINUTE_S:g}, which is {ticks:g} ticks of {seconds:g} s"  # type: ignore[operator]


def _lags_of_gap(persistence: object) -> str:
    new = "is no setting any more: the output gap has two lags; write economy.macro.gap_lags"
    return f"{new}: [{persistence:g}, 0] for this one alone" if _is_count(persistence) else new


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST
