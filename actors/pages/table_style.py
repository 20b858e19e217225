"""The style rules of tables, for reports and for the local page, and the room that a table needs.

A box that is too narrow for a table shows each row as a list: the first cell above, and below it each other cell beside
the name of its column. So no page has to be scrolled sideways to read a table, on a phone or in a third of a desk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ROOMS: Final = (340, 440, 556, 760, 1140)
"""The widths, in pixels, below which tables become lists; each table has one of them, or none."""
LETTER, GAP = 7.9, 14
"""The widest usual letter of a table and the space behind a cell, in pixels."""
TEXT_LETTERS, PROSE_LETTERS = 12, 24
"""The letters of a line in a cell that has several: of a name, and of sentences."""
PROSE: Final = 40
"""The letters from which on a text is read as a sentence."""

_RULES = """
.scroll { overflow-x: auto; max-width: 100%; container-type: inline-size; }
.scroll table { border-collapse: collapse; width: auto; min-width: min(100%, 20em); font-size: 14px; line-height: 1.4;
  font-variant-numeric: tabular-nums; margin: 6px 0 12px; }
.scroll caption { text-align: left; color: var(--quiet); padding-bottom: 4px; }
.scroll :is(th, td) { padding: 4px 14px 4px 0; text-align: right; white-space: nowrap; vertical-align: top;
  border-bottom: 1px solid var(--panel); font-weight: 400; color: inherit; }
.scroll thead th { color: var(--quiet); border-bottom-color: var(--line); vertical-align: bottom; white-space: normal;
  overflow-wrap: break-word; }
.scroll :is(th, td).text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.scroll .named tbody th { min-width: 6.5em; }
"""
_LISTED = """
@container (max-width: {width}px) {{
  .room-{room}, .room-{room} :is(tbody, tr, th, td) {{ display: block; }}
  .room-{room} thead {{ display: none; }}
  .room-{room} caption {{ display: block; }}
  .room-{room} tbody tr {{ padding: 6px 0; border-bottom: 1px solid var(--line); }}
  .room-{room} tbody :is(th, td, th.text, td.text) {{ border: 0; padding: 1px 0; text-align: left; white-space: normal;
    overflow-wrap: anywhere; }}
  .room-{room} tbody th {{ font-weight: 620; }}
  .room-{room} tbody th::before {{ content: attr(data-column) " "; color: var(--quiet); font-weight: 400; }}
  .room-{room} tbody td {{ display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); column-gap: 12px; }}
  .room-{room} tbody td::before {{ content: attr(data-column); color: var(--quiet); }}
}}
"""


def tables_css() -> str:
    """Return the style rules of tables."""
    return _RULES + "".join(_LISTED.format(width=room - 1, room=room) for room in ROOMS)


def room_for(columns: Iterable[tuple[str, Iterable[str], bool]]) -> int | None:
    """Return the width below which a table is a list, one of `ROOMS`; None for a table that fits anywhere.

    Args:
        columns: of each column its name, its cells, and whether these are texts, which may have several lines.
    """
    needed = 0.0
    for name, cells, is_text in columns:
        letters = max(map(len, cells), default=0)
        if is_text:
            letters = min(letters, PROSE_LETTERS if letters >= PROSE else TEXT_LETTERS)
        needed += LETTER * max(letters, *map(len, name.split()), 0) + GAP
    return next((room for room in ROOMS if needed <= room), ROOMS[-1]) if needed > ROOMS[0] else None
