"""What other futures and other questions tell of a study: the causes of outcomes, and the audit of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from actors.core.errors import RunDirectoryError
from actors.pages.page import Chart, Node, Section, Table, grid, missing, table_of, tag
from actors.pages.words import pages_number, span
from actors.plots.rows import Row, rows
from actors.plots.theme import TEXT
from actors.studies.audit.record import read_audit
from actors.studies.causes.record import Cause, Causes, Kept, answered_words, chance_words, number, signed, tried_words
from prism.audit.shift import LEAST
from prism.audit.words import examined, findings_or_none, interval
from prism.palette import BLUE
from prism.wording import counted


def cause_parts(kept: Kept, ticks: int) -> list[Node]:
    """Return an element for each outcome whose causes a run keeps: words and pictures. `ticks`: of the run by now."""
    parts: list[Node] = []
    for place, found in enumerate(kept.found):
        inside: list[Node] = [tag("p", _summary(found))]
        if found.ticks != ticks:
            inside.append(
                missing(f"It was worked out after {counted(found.ticks, 'tick')}; the run has {ticks:,} now.")
            )
        inside += [grid([_effects(found)], f"cause-{place}")] if found.causes else []
        tried = map(tried_words, found.tried)
        inside.append(tag("ul", *(tag("li", text) for text in (*tried, *answered_words(found), *found.notes))))
        heading = tag("h3", f"What made {found.of}", class_="sub")
        parts.append(tag("div", heading, *inside, id=anchor(found.of), class_="cause"))
    return [*parts, *map(missing, kept.problems)]


def anchor(of: str) -> str:
    return f"cause-of-{quote(of, safe='')}"


def _summary(found: Causes) -> str:
    head = f"It is {number(found.value)} after {counted(found.ticks, 'tick')}."
    if not found.causes:
        return f"{head} Nothing that was undone changes it." if found.tried else head
    first = found.causes[0]
    chance = f"; {chance_words(first)}" if first.other_draws is not None else ""
    return f"{head} The largest effect: {_called(first)}, {signed(first.effect)}{chance}."


def _called(cause: Cause) -> str:
    if cause.kind == "decisions":
        who = cause.what.removesuffix(f": {cause.was}, not {cause.would_be}")
        return f"the decision of {who} in tick {cause.tick:,}: {cause.was}, not {cause.would_be}"
    begin = {"people": "", "ties": "the tie: ", "posts": "the post of "}.get(cause.kind, f"{cause.kind}: ")
    return f"{begin}{cause.what}"


def _effects(found: Causes) -> Chart:
    """Return the largest effects, each beside its mean under other draws."""

    def added(value: float) -> str:
        return f"{'+' if value > 0 else ''}{pages_number(value)}"

    bars, cells = list[Row](), list[tuple[Any, ...]]()
    for place, each in enumerate((*found.causes, *found.smaller), start=1):
        drawn, beside = each.other_draws, ("", "")
        bar = Row(f"{place}. {_called(each)}", color=TEXT, bar=each.effect)
        if drawn is not None:
            beside = added(drawn.mean), span(drawn.low, drawn.high)
            bar = bar._replace(mean=drawn.mean, low=drawn.low, high=drawn.high)
        bars += [bar] if place <= len(found.causes) else []
        cells.append((str(place), each.kind, each.what, each.tick, added(each.effect), number(each.value), *beside))
    is_drawn = any(each.other_draws is not None for each in found.causes)
    dots = " A dot is its mean effect under other draws, with a 95% interval; if that holds 0, it may be luck alone."
    columns = ("", "kind", "what", "tick", "effect", "without it", "under other draws", "95% interval")
    names = [("in the run", BLUE, "square"), *([("under other draws", TEXT, "circle")] if is_drawn else [])]
    reading = f"A bar is what a thing has added in this run.{dots if is_drawn else ''}"
    picture = rows(bars, f"added to {found.of}", "The largest effects", reading, names=names)
    return Chart(picture, Table(columns, cells))


def audit_section(study: Path, digests: Sequence[str] | None = None) -> Section | None:
    """Return what `prism audit` has found; None without. `digests`: of the study's runs as they are now, if known."""
    try:
        found = read_audit(study)
    except RunDirectoryError as error:
        return Section("audit", "Audit", [missing(str(error))])
    if found is None:
        return None
    parts: list[Node] = [tag("p", found.paragraph)]
    if digests is not None and {*digests} != {*found.digests}:
        parts.append(missing("The runs have changed since the audit: prism audit makes it again."))
    told = (*findings_or_none(found), *examined(found), *found.notes)
    parts.append(tag("ul", *(tag("li", each) for each in told)))
    shifts = [
        (f"{of.what}: {each.option}", f"{each.before:.1%}", f"{each.after:.1%}", interval(each.points), of.finding)
        for of in found.shifts
        for each in of.options
    ]
    if shifts:
        heads = ("another", "share", "then", "points, with 95%", "answers")
        caption = f"Shifts when asked in another way; one matters from {LEAST:g} points on"
        parts.append(table_of(Table(heads, shifts), caption))
    verdicts = list[tuple[str, ...]]()
    for claim in found.claims:
        verdicts.append((claim.claim, "as the study has it", f"{claim.effect:.4g}", "", "", "", claim.verdict))
        for each in claim.carried:
            numbers = (each.change.value, each.change.low, each.change.high)
            change = ("-" if number is None else f"{round(number, 9) + 0.0:.3g}" for number in numbers)
            verdicts.append(("", each.way, f"{each.effect.value:.4g}", *change, each.verdict))
    if verdicts:
        columns = ("claim", "another", "effect", "change", "95% from", "to", "verdict")
        parts.append(table_of(Table(columns, verdicts), "What is left of each claim"))
    return Section("audit", "Audit", parts)
