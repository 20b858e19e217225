"""The distances of an oracle's choices from what simpler deciders would have chosen, as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.record.shadow import ShadowSummary
from prism.divergence import EMBEDDED, FIRST_OPTION, RULE, Distance, Divergence, Ratio

NOTHING_TO_ASK = "none: no rule settled a turn on which the oracle could be asked"
_PLAIN: Any = {"title_justify": "left", "title_style": "bold", "box": None, "padding": (0, 1)}
NAMES = {FIRST_OPTION: "first option", RULE: "rule", EMBEDDED: "embedded choice"}


def divergence_table(divergences: Iterable[Divergence], note: str = "") -> RenderableType | None:
    """Return the distances in bits with their 95% intervals; None where the oracle has chosen nothing.

    Args:
        note: a remark on the distance from the embedded choice; may be empty.
    """
    told = [each for each in divergences if each.questions]
    if not told:
        return None
    table = _table("distance of the oracle's choices, in bits (0 same, 1 nothing in common)", told, FIRST_OPTION)
    notes = [Text(f"  {note}", style="dim")] if note and _has_embedded(told) else []
    return Group(table, *(notes or _ratios(told, EMBEDDED)))  # where the note says chance, ratios are chance, too


def shadow_table(shadow: ShadowSummary) -> RenderableType:
    """Return the distances of an oracle from rules, and the outcomes of the questions."""
    told = [each for each in shadow.divergence if each.questions]
    outcomes = ", ".join(f"{name} {count:,}" for name, count in shadow.outcomes.items()) or _none_of(shadow.share)
    agreed = sum(each.agreement * each.questions for each in told) / max(1, sum(each.questions for each in told))
    line = Text(f"  shadow questions: {outcomes}" + (f"; as the rule did: {agreed:.1%}" if told else ""))
    table = [_table("distance of the oracle from rules, on shadow questions, in bits", told, RULE)] if told else []
    return Group(*table, *_ratios(told, RULE), line)


def _ratios(told: Sequence[Divergence], against: str) -> list[RenderableType]:
    """Return for each option the oracle's rate divided by that of another decider; empty without figures."""
    title = f"how often the oracle takes an option, over the {NAMES[against]}"
    table = Table(title=title, **_PLAIN)
    for name in ("trigger", "option"):
        table.add_column(name)
    for name in ("oracle", against, "ratio [95%]"):
        table.add_column(name, justify="right", no_wrap=True)
    for each, name in zip(told, names_of(told), strict=True):
        for option, ratio in each.ratios.get(against, {}).items():
            shares = (each.choices[who].get(option, 0.0) / each.questions for who in ("oracle", against))
            table.add_row(name, option, *(f"{share:.2%}" for share in shares), shown_ratio(ratio))
    return [table] if table.row_count else []


def _none_of(share: float) -> str:
    return NOTHING_TO_ASK if share == 1.0 else f"{NOTHING_TO_ASK}, in a share of {share:g} of such turns"


def _table(title: str, told: Sequence[Divergence], alternative: str) -> Table:
    table = Table(title=title, **_PLAIN)
    table.add_column("trigger", min_width=18)
    table.add_column("questions", justify="right")
    shows = (alternative, EMBEDDED)
    for name in shows:
        table.add_column(f"from {NAMES[name]}", justify="right")
    for each, name in zip(told, names_of(told), strict=True):
        table.add_row(name, f"{each.questions:,}", *(shown(each.against.get(against)) for against in shows))
    return table


def _has_embedded(told: Iterable[Divergence]) -> bool:
    return any(EMBEDDED in each.against for each in told)


def names_of(divergences: Sequence[Divergence]) -> list[str]:
    """Return the name of each entry: its trigger, and its state if the trigger has questions in several states."""
    states = Counter(each.trigger for each in divergences)
    return [each.trigger if states[each.trigger] == 1 else f"{each.trigger} ({each.state})" for each in divergences]


def shown_ratio(ratio: Ratio) -> str:
    """Return a ratio of rates with its interval."""
    return f"{ratio.ratio:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def shown(distance: Distance | None) -> str:
    """Return a distance with its interval; a dash if there is none."""
    return "-" if distance is None else f"{distance.bits:.3f} [{distance.low:.3f}, {distance.high:.3f}]"
