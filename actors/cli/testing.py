"""`prism testing`: a server to try a configuration against where there is no model."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import click

from actors.cli.command import Group, count_option, option
from actors.cli.render import show, table
from actors.display.console import echo
from actors.logs.output import output
from actors.testing import Exchange, Fault, FaultPlan, Latency, ModelServer, ModelServerError, ServerSettings

DEFAULT = ServerSettings()
OLLAMA_PORT = 11434


def _pairs(example: str, read: Callable[[str, str], tuple[Any, Any]]) -> Callable[..., dict[Any, Any]]:
    """Return what reads an option of pairs such as `example`."""

    def parse(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[Any, Any]:
        found = {}
        for text in given:
            first, _, second = text.partition("=")
            try:
                key, value = read(first, second)
            except ValueError:
                raise click.BadParameter(f"{text!r} is not {example}; faults are {', '.join(Fault)}") from None
            found[key] = value
        return found

    return parse


@click.group(cls=Group)
def testing() -> None:
    """Serve a stand-in for a language model, to try a run with.

    It answers, waits and fails as told: see `prism testing serve --help`.
    """


@testing.command()
@option("--host", default="127.0.0.1", help="Address to listen on; whoever can reach it may ask.")
@count_option(
    "--port",
    least=0,
    most=65_535,
    metavar=None,
    default=OLLAMA_PORT,
    help="Port to listen on, by default Ollama's own; 0 for any that is free.",
)
@option(
    "--model",
    "models",
    multiple=True,
    default=DEFAULT.models,
    metavar="NAME",
    help="Name of a model that is offered; any other gets a 404. May be repeated.",
)
@option("--latency", type=click.FloatRange(0, 3600), default=0.0, metavar="S", help="Seconds a call takes, on average.")
@option(
    "--faults",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Share of the calls that fails, an equal part in each way; 0.05 is one call in twenty.",
)
@option(
    "--fault",
    "shares",
    multiple=True,
    callback=_pairs("NAME=SHARE, as in hang=0.1", lambda name, share: (Fault(name), float(share))),
    metavar="NAME=SHARE",
    help="Share of the calls that fails in this way, as in --fault hang=0.1, whatever --faults says. May be repeated. "
    f"The ways are {', '.join(Fault)}: docs/language-models.md.",
)
@option(
    "--fault-at",
    "at",
    multiple=True,
    callback=_pairs("N=NAME, as in 3=reset", lambda number, name: (int(number), Fault(name))),
    metavar="N=NAME",
    help="Let the N-th call fail in this way, as in --fault-at 3=reset. May be repeated.",
)
@option(
    "--log",
    type=click.File("a", encoding="utf-8", lazy=False),
    metavar="FILE",
    help="Append each request to FILE once it has ended, a line of JSON each.",
)
def serve(**given: Any) -> None:
    """Serve a stand-in for a model, which fails as told.

    It speaks Ollama's API and OpenAI's. It has no model: it answers each question within the schema that comes with it,
    with made-up values, and the same question in the same way. Ctrl-C ends it and prints what it was asked.
    """
    begun, log = monotonic(), given["log"]
    shares = dict.fromkeys(Fault, given["faults"] / len(Fault)) if given["faults"] else {}

    def note(exchange: Exchange) -> None:
        log.write(f"{exchange.line()}\n")
        log.flush()

    try:
        settings = ServerSettings(
            models=given["models"],
            latency=Latency(mean_s=given["latency"]),
            faults=FaultPlan(shares={**shares, **given["shares"]}, at=given["at"]),
            keeps=0,  # the caller cannot read them from here
        )
        host, port = given["host"], given["port"]
        with ModelServer(settings, host=host, port=port, on_exchange=note if log else None) as server:
            echo(f"listening on {server.url}", err=output.as_json)
            if not output.is_quiet:
                model = server.settings.models[0]
                chosen = "" if model in DEFAULT.models else f" --set llm.model={model}"
                echo(
                    "try it from another terminal:\n"
                    "  prism init --example ollama\n"
                    f"  prism run ollama/prism.yaml --set llm.host={server.url}{chosen}\n"
                    "Ctrl-C ends it and prints what it was asked."
                )
            with suppress(KeyboardInterrupt):
                signal.pause()
    except ModelServerError as error:
        raise click.ClickException(str(error)) from None
    counts = server.statistics()
    statuses = [f"{status}: {count:,}" for status, count in sorted(counts.statuses.items())]
    silent = counts.requests - sum(counts.statuses.values())
    rows = {
        "calls": f"{counts.calls:,} in {monotonic() - begun:,.1f} s",
        "failed as told": f"{sum(counts.faults.values()):,}",
        **{f"  {fault}": f"{counts.faults[fault]:,}" for fault in Fault if fault in counts.faults},
        "given up by the client": f"{counts.abandoned:,}",
        "requests by status": ", ".join([*statuses, *([f"none: {silent:,}"] if silent else [])]) or "none",
        "in slots at once": f"{counts.peak_busy:,} at most",
    }
    show(counts, lambda: ["", table(("", ""), [*rows.items()])])
