"""`prism validate-world`: compares runs with stylised facts of the real world."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from rich.console import RenderableType
from rich.text import Text

from actors.cli.command import EXIT_THRESHOLD, command, flag, option
from actors.cli.options import PACKED_RUNS
from actors.cli.render import NONE, interval, line, show, table
from actors.factory.domains import show_of
from actors.results.observed import observed_configs, observed_economy, observed_feed, read_real, start_quarter
from prism.economy.backtest import Score, backtest, score
from prism.errors import InputError
from prism.quarter import Period
from prism.scorecard.facts import Agreement, Fact, macro_facts, social_facts

STYLES = {Agreement.MET: "green", Agreement.MISSED: "red", Agreement.UNKNOWN: "yellow"}
WITHOUT_FILES = "shapes, minutes to half and hours are not compared: give files of real figures with --against"


@command(name="validate-world")
@PACKED_RUNS
@option(
    "--against",
    "files",
    multiple=True,
    metavar="FILE",
    help="A CSV file of real figures (also .gz); may be given more than once. Its columns say what it is.",
)
@flag("--strict", help="End with exit code 4 if a fact is missed or cannot be judged.")
def validate_world(paths: tuple[Path, ...], files: tuple[str, ...], *, strict: bool) -> None:
    """Compare runs with figures of the real world.

    RUN is a run's directory. Several runs of one configuration with different seeds are taken together. Each line shows
    the real figure, that of the runs with its interval, how far apart the two distributions are, and whether the limit
    is met. docs/realism.md explains every fact, its source, and the files of real figures; docs/economy.md the second
    table of an economy. Without a file, a social run is compared with published figures alone.
    """
    configs = observed_configs(paths)
    config = configs[paths[0]]
    real = read_real(files, config)
    if "quarters" in show_of(config).pictures and not real.quarters:
        raise InputError("--against", "an economy is compared with quarterly figures, such as us-macro-quarterly.csv")
    rule = list[Score]()
    if real.quarters:
        economies = [observed_economy(path) for path in configs]
        facts = macro_facts(economies, real.quarters, real.source, start_quarter(config))
        # The errors of the policy rule over all quarters, then over each period with enough of them, each once.
        forecasts, periods = backtest(real.quarters, config.economy), config.economy.backtest.periods
        scores = [score(forecasts), *(score(forecasts, Period.parse(each)) for each in periods)]
        rule = [*{found.period: found for found in scores if found is not None}.values()]
    else:
        feeds = [observed_feed(path, each) for path, each in configs.items()]
        facts = social_facts(feeds, real.cascades, real.hours)
    record: dict[str, Any] = {"runs": paths, "against": files, "facts": facts}
    if real.quarters:
        record["rule"] = [{**asdict(each), "period": str(each.period)} for each in rule]

    def view() -> Iterator[RenderableType]:
        yield from _fact_parts(facts, paths)
        if rule:
            yield from _rule_parts(rule)
        if not files:
            yield from ("", line(WITHOUT_FILES, "dim"))

    show(record, view)
    if strict and any(fact.agreement != Agreement.MET for fact in facts):
        sys.exit(EXIT_THRESHOLD)


def _rule_parts(scores: Sequence[Score]) -> Iterator[RenderableType]:
    rows = (
        (
            *(str(one.period), one.quarters),
            Text(f"{one.rmse:.2f}", style="green" if one.rmse < one.no_change_rmse else "yellow"),
            *(f"{one.no_change_rmse:.2f}", f"{one.bias:+.2f}", _told(one.correlation, ".2f")),
            *(_told(one.direction_share, ".0%"), _told(one.commoner_direction_share, ".0%")),
        )
        for one in scores
    )
    columns = ("period", ">quarters", ">RMSE", ">no change", ">bias", ">corr.", ">side", ">commoner")
    yield ""
    yield table(columns, rows, "the policy rule against the real interest rate")
    beaten = sum(one.rmse < one.no_change_rmse for one in scores)
    yield ""
    yield line(f"one quarter ahead the rule is nearer than no change in {beaten} of {len(scores)} periods", "dim")
    yield line(
        "RMSE, no change, bias: errors of the rule, of the last rate, and the rule's mean error, in points; side: "
        "share of the moves whose direction the rule's rate told; commoner: what always naming the commoner "
        "direction would have told",
        "dim",
    )


def _told(value: float | None, form: str) -> str:
    return NONE if value is None else f"{value:{form}}"


def _fact_parts(facts: Iterable[Fact], paths: Sequence[Path]) -> Iterator[RenderableType]:
    rows, notes = [], dict[str, list[str]]()
    for fact in facts:
        name = fact.name.replace("_", " ")
        numbers = (_told(fact.real, ".3g"), _told(fact.simulated, ".3g"), interval(fact.low, fact.high, ".3g"))
        agrees = Text(fact.agreement, style=STYLES[fact.agreement])
        rows.append((name, *numbers, _told(fact.distance, ".2f"), fact.limit, agrees))
        note = f"{fact.source}{fact.note and '. '}{fact.note[:1].upper()}{fact.note[1:]}"
        notes.setdefault(note, []).append(name)
    yield line(f"{paths[0]}" if len(paths) == 1 else f"{len(paths)} runs, {paths[0]} and others", "bold")
    yield table(("fact", ">real", ">run", ">interval", ">distance", "limit", "agrees"), rows)
    yield ""
    # A note on most facts names no fact.
    most = max(map(len, notes.values()))
    for note, names in notes.items():
        yield line(note if len(names) == most > 1 else f"{', '.join(names)}: {note}", "dim")
