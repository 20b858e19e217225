"""The distances of an oracle's choices from what simpler deciders would have chosen, as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from prism.divergence import EMBEDDED, FIRST_OPTION, Distance, Divergence

NAMES = {FIRST_OPTION: "first option", EMBEDDED: "embedded choice"}
ONLY_CHANCE = "the oracle is the embedded choice itself: its distance from it is chance"


def divergence_table(divergences: Iterable[Divergence], *, is_embedded: bool) -> RenderableType | None:
    """Return the distances in bits with their 95% intervals; None where the oracle has chosen nothing.

    Args:
        is_embedded: whether the embedded choice was the oracle.
    """
    told = [each for each in divergences if each.questions]
    if not told:
        return None
    title = "distance of the oracle's choices, in bits (0 same, 1 nothing in common)"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
    table.add_column("trigger", min_width=18)
    table.add_column("questions", justify="right")
    for name in NAMES.values():
        table.add_column(f"from {name}", justify="right")
    for each, name in zip(told, names_of(told), strict=True):
        table.add_row(name, f"{each.questions:,}", *(shown(each.against.get(against)) for against in NAMES))
    has_embedded = any(EMBEDDED in each.against for each in told)
    note = [Text(f"  {ONLY_CHANCE}", style="dim")] if is_embedded and has_embedded else []
    return Group(table, *note)


def names_of(divergences: Sequence[Divergence]) -> list[str]:
    """Return the name of each: its trigger, with the state where a trigger has questions in several."""
    states = Counter(each.trigger for each in divergences)
    return [each.trigger if states[each.trigger] == 1 else f"{each.trigger} ({each.state})" for each in divergences]


def shown(distance: Distance | None) -> str:
    """Return a distance with its interval; a dash for none."""
    return "-" if distance is None else f"{distance.bits:.3f} [{distance.low:.3f}, {distance.high:.3f}]"
