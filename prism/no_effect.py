"""The parts of a configuration that have no effect, or another effect than they say, in one run and in many.

A delay that the end of the round cuts short or an attribute that nothing reads is allowed, and hardly ever intended.
Domains report their own parts; `actors.runs.summary` reports the others, after a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, Literal

import msgspec

from prism.config import Config
from prism.config.interventions import CHANGEABLE, planned, with_settings
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.statechart import Statechart
from prism.statechart.lint import reached
from prism.wording import counted

ROUND_ENDS: Final = "round_ends"
"""The trigger by which the end of a round leads agents out of a state."""
TIMEOUT: Final = "timeout"
"""The trigger that comes where the last one led nowhere."""


class NoEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a configuration without an effect; `place`: a state of the chart, or the key of the setting."""

    kind: Literal["state", "row", "delay", "attribute", "measure", "intervention"]
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class NotAsConfigured(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that did not become true in a run, with the shares asked for and realised, 0 to 1, if it is a share."""

    place: str
    message: str
    configured: float | None = None
    realised: float | None = None

    def __str__(self) -> str:
        if self.configured is None or self.realised is None:
            return f"{self.place}: {self.message}"
        return f"{self.place}: {self.realised:.1%}, not {self.configured:.1%}: {self.message}"


_NUMBER: Final = re.compile(r"\d[\d,.]*")
REMARKS_MAX: Final = 12
"""The most remarks on many runs that are shown."""
NAMES_MAX: Final = 4
"""The most conditions that a remark names."""


def told(found: Iterable[NoEffect]) -> tuple[str, ...]:
    return tuple(f"without effect: {each}" for each in found)


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """Return what was not as configured in a run, and what had no effect, a line each."""
    changed, idle = _parts(summary)
    return [*(f"not as configured: {each}" for each in changed), *told(idle)]


def remarks_on_many(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the same of many runs, with how often they were found; those that differ only in numbers are one line.

    Args:
        runs: `{condition: the fields of summary.json of its runs}`.
    """
    # The share that comes out depends on the condition; a part without effect hardly ever does.
    found: dict[tuple[str, ...], list[tuple[str, NotAsConfigured | NoEffect]]] = {}
    for name, summaries in runs.items():
        for changed, idle in map(_parts, summaries):
            for unlike in changed:
                condition = name if unlike.realised is not None else ""
                found.setdefault((unlike.place, _NUMBER.sub("", unlike.message), condition), []).append((name, unlike))
            for part in idle:
                found.setdefault((part.place, part.kind), []).append((name, part))
    lines = []
    for parts in found.values():
        names = [*dict.fromkeys(name for name, _ in parts)]
        named = ", ".join([*names[:NAMES_MAX], *(["..."] if len(names) > NAMES_MAX else [])])
        of = counted(sum(len(runs[name]) for name in names), "run")
        where = f"in {len(parts):,} of {of}{f' ({named})' if len(runs) > 1 else ''}"
        first = parts[0][1]
        if isinstance(first, NoEffect):
            lines.append(f"without effect {where}: {first}")
            continue
        shares = [each.realised for _, each in parts if isinstance(each, NotAsConfigured) and each.realised is not None]
        mean = msgspec.structs.replace(first, realised=fmean(shares) if shares else None)
        is_one = len({part.message for _, part in parts}) == 1
        lines.append(f"not as configured {where}{'' if is_one else ', for example'}: {mean}")
    more = len(lines) - REMARKS_MAX
    return lines if more <= 0 else [*lines[:REMARKS_MAX], f"and {counted(more, 'more remark')} of this kind"]


def _parts(summary: Mapping[str, Any]) -> tuple[list[NotAsConfigured], list[NoEffect]]:
    try:
        changed = msgspec.convert(summary.get("not_as_configured", []), list[NotAsConfigured])
        return changed, msgspec.convert(summary.get("no_effect", []), list[NoEffect])
    except msgspec.ValidationError:
        return [], []


def unreached(chart: Statechart[Any]) -> Iterator[NoEffect]:
    """Yield the states to which no rows lead from the initial state."""
    ways = {
        state: {target for trigger in chart.valid_triggers(state) for target in chart.valid_targets(state, trigger)}
        for state in type(chart.initial)
        if state in chart.states
    }
    entered = reached(chart.initial, ways) | {chart.initial}
    for state in ways:
        if state not in entered:
            message = f"no rows lead here from {chart.initial}, so nobody enters it"
            yield NoEffect(kind="state", place=state.value, message=message)


def idle_interventions(config: Config) -> Iterator[NoEffect]:
    """Yield interventions that set settings to the values that they have already."""
    places = {id(each): f"{INTERVENTIONS}[{index}]" for index, each in enumerate(config.interventions)}
    known = CHANGEABLE.get(config.simulation.domain, {})  # empty for a user's domain, whose settings only it knows
    for tick, each in planned(config.interventions, config.simulation.ticks_per_round):
        before, settings = config, each.set or {}
        if known and settings:
            config = with_settings(config, settings)
            if config == before:
                message = f"set at tick {tick:,} changes nothing: what it asks for is so already"
                yield NoEffect(kind="intervention", place=places[id(each)], message=message)
