"""The style of pages: colours of the theme, tables that become lists where they do not fit, rules of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from prism.palette import DARK, LIGHT


def theme_css() -> str:
    """Return the style rules that define the variables: light, and dark where the reader's system asks for it.

    `data-theme="light"` or `"dark"` on the root element overrides the system. Paper is always light.
    """
    light, dark = _variables("light", LIGHT), _variables("dark", DARK)
    return (
        f":root {{ {light} }}\n"
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}\n'
    )


def _variables(scheme: str, colors: Mapping[str, str]) -> str:
    return " ".join([f"color-scheme: {scheme};", *(f"--{name}: {color};" for name, color in colors.items())])


ROOMS: Final = ((8, 1000), (6, 760), (4, 556), (3, 440))
"""`(columns, width)`: a table with so many columns is a list in a box that is narrower, in pixels."""

_TABLES = """
.scroll { overflow-x: auto; max-width: 100%; container-type: inline-size; }
.scroll table { border-collapse: collapse; width: auto; min-width: min(100%, 20em); font-size: 14px; line-height: 1.4;
  font-variant-numeric: tabular-nums; margin: 6px 0 12px; }
.scroll caption { text-align: left; color: var(--quiet); padding-bottom: 4px; }
.scroll :is(th, td) { padding: 4px 14px 4px 0; text-align: right; white-space: nowrap; vertical-align: top;
  border-bottom: 1px solid var(--panel); font-weight: 400; color: inherit; }
.scroll thead th { color: var(--quiet); border-bottom-color: var(--line); vertical-align: bottom; white-space: normal;
  overflow-wrap: break-word; }
.scroll :is(th, td).text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.scroll tbody th.text { overflow-wrap: break-word; }
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
  .room-{room} tbody :is(th, td):empty {{ display: none; }}
}}
"""


GRID = """
.charts { display: flex; flex-wrap: wrap; gap: 34px 28px; align-items: flex-start; }
.card { margin: 0; min-width: 0; flex: 1 1 min(340px, 100%); }
.card.wide { flex-basis: 100%; }
.frame svg { width: 100%; height: auto; max-width: 580px; }
"""
"""The rules of the rows of charts, each of which is full."""
_RULES = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; }
header, main, footer, nav { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 40px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 8px; font-weight: 650; letter-spacing: -0.01em; }
h2 { font-size: 22px; line-height: 1.25; margin: 56px 0 18px; padding-top: 14px; border-top: 1px solid var(--line);
  font-weight: 650; }
h3 { font-size: 16px; line-height: 1.3; margin: 0 0 8px; font-weight: 620; }
p { margin: 0 0 12px; max-width: 46em; }
h1, h2, h3, p, li, dd, figcaption { overflow-wrap: anywhere; }
.question { font-size: 21px; line-height: 1.4; margin: 14px 0 18px; max-width: 36em; }
.answer { font-size: 21px; line-height: 1.45; margin: 14px 0; max-width: 40em; overflow-wrap: anywhere; }
.answer .quiet { display: block; font-size: 14px; }
.limits { max-width: 60em; overflow-wrap: anywhere; margin-bottom: 18px; }
.quiet, .lead { color: var(--quiet); }
.lead { margin-bottom: 18px; }
h3.sub { margin: 34px 0 10px; font-size: 18px; }
.notice { border-left: 4px solid #d55e00; background: var(--panel); padding: 10px 14px; margin: 0 0 12px;
  max-width: none; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 10px 0; margin: 0; list-style: none; font-size: 15px; }
nav a { display: inline-block; padding: 3px 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(116px, 1fr)); gap: 14px 22px;
  margin: 20px 0 14px; }
.figures div { border-top: 2px solid var(--line); padding-top: 7px; }
.figures dt { color: var(--quiet); font-size: 14px; line-height: 1.35; }
.figures dd { margin: 0; font-size: 21px; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures .small { font-size: 15px; line-height: 1.45; }
.charts + .charts, .charts + p, div + h3 { margin-top: 34px; }
@media (min-width: 1221px) {
  .card.broad .scroll { width: min(100vw - 60px, 1600px); max-width: none; position: relative; left: 50%;
    transform: translateX(-50%); }
}
.card svg { display: block; }
figcaption { color: var(--text); font-size: 15px; line-height: 1.45; margin-top: 6px; max-width: 46em; }
details { margin-top: 6px; font-size: 14px; }
summary { color: var(--link); cursor: pointer; display: inline-block; padding: 3px 0; }
.scroll:focus-visible, summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
pre { background: var(--panel); padding: 12px 14px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 14px;
  line-height: 1.5; margin: 0 0 14px; }
code, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.92em; }
footer { padding: 40px 20px 60px; color: var(--quiet); font-size: 14px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
svg text { paint-order: stroke; stroke: var(--ground); stroke-linejoin: round; stroke-width: 3px;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
@media (max-width: 759px) { .card.wide .scroll { border: 1px solid var(--line); padding: 4px; } }
@media (max-width: 480px) {
  header, main, footer, nav { padding-left: 16px; padding-right: 16px; }
  header { padding-top: 24px; }
  h1 { font-size: 25px; }
  .question, .answer { font-size: 18px; }
  .figures { grid-template-columns: 1fr 1fr; gap: 12px 18px; }
}
@media print {
  body { font-size: 10.5pt; }
  header, main, footer { max-width: none; padding: 0; }
  nav, summary { display: none; }
  h2 { margin-top: 26px; }
  h2, h3 { break-after: avoid; }
  .charts { gap: 22px; }
  .card { flex-basis: 45%; }
  .card, tr, .figures { break-inside: avoid; }
  .scroll { overflow: visible; }
  .card.wide svg { max-width: 100%; height: auto; }
  .scroll table { font-size: 8.5pt; }
  a { color: inherit; text-decoration: none; }
}
"""


def report_css() -> str:
    listed = (_LISTED.format(width=room - 1, room=room) for _, room in ROOMS)
    return "".join((theme_css(), GRID, _TABLES, *listed, _RULES))
