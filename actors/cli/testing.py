"""`prism testing`: a server to try a configuration against where there is no model."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, NamedTuple

import click
import msgspec

from actors.cli.help_sections import SectionedCommand
from actors.display.console import echo
from actors.testing import (
    MEANINGS,
    QUIRKS,
    SPELLS,
    Dialect,
    Exchange,
    Fault,
    FaultPlan,
    Latency,
    Logprobs,
    ModelServer,
    ModelServerError,
    ServerSettings,
    Spell,
    SpellKind,
    Statistics,
    SystemOne,
    evenly,
)

DEFAULT = ServerSettings()
OLLAMA_PORT = 11434


class SpellTimes(NamedTuple):
    """The option --spell: the kind of the spells, and their seconds."""

    kind: SpellKind
    every_s: float
    least_s: float
    most_s: float


class FiniteRange(click.FloatRange):
    """A range of numbers without infinity and NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that an option has."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"expected a finite number, got {value}", param, ctx)
        return number


SECONDS = FiniteRange(min=0)


def _faults(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[Fault, float]:
    shares: dict[Fault, float] = {}
    for text in given:
        name, _, share = text.partition("=")
        try:
            shares[_fault(name)] = float(share)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not NAME=SHARE, as in hang=0.1") from None
    return shares


def _faults_at(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[int, Fault]:
    at: dict[int, Fault] = {}
    for text in given:
        number, _, name = text.partition("=")
        try:
            at[int(number)] = _fault(name)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not N=NAME, as in 3=reset") from None
    return at


def _spells(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> tuple[SpellTimes, ...]:
    return tuple(_spell(text) for text in given)


def _spell(text: str) -> SpellTimes:
    name, _, times = text.partition("=")
    every, _, lasts = times.partition(":")
    least, _, most = lasts.partition("-")
    try:
        kind = SpellKind(name)
    except ValueError:
        raise click.BadParameter(f"{name!r} is no spell; there are {', '.join(SpellKind)}") from None
    try:
        return SpellTimes(kind, float(every), float(least), float(most or least))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not NAME=EVERY:LEAST-MOST, as in outage=300:10-30") from None


def _fault(name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        raise click.BadParameter(f"{name!r} is no fault; there are {', '.join(Fault)}") from None


SERVE_SECTIONS = {
    "Speed and limits": (
        *("--latency", "--p99", "--slope", "--load", "--slots", "--max-queue", "--rate", "--retry-after"),
        "--max-connections",
    ),
    "Faults": ("--faults", "--fault", "--fault-at", "--burst", "--drip", "--spell", "--seed"),
    "Kind of server": ("--systemone", "--dialect", "--quirk", "--logprobs", "--key", "--live"),
}
"""The options of `prism testing serve` below titles."""


@click.group()
def testing() -> None:
    """Serve a stand-in for a language model, to try a run with.

    It answers, waits and fails as told: see `prism testing serve --help`.
    """


@testing.command(cls=SectionedCommand, sections=SERVE_SECTIONS)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; whoever can reach it may ask."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=OLLAMA_PORT,
    show_default=True,
    help="Port to listen on, by default Ollama's own; 0 for any that is free.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    default=DEFAULT.models,
    show_default=True,
    metavar="NAME",
    help="Name of a model that is offered; any other gets a 404. May be repeated.",
)
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    default=DEFAULT.slots,
    show_default=True,
    help="Calls that run at once; the rest waits in a queue. Ollama calls it OLLAMA_NUM_PARALLEL.",
)
@click.option(
    "--max-queue",
    type=click.IntRange(min=0),
    default=DEFAULT.max_queue,
    show_default=True,
    help="Calls that wait for a slot; further ones get a 503. Ollama calls it OLLAMA_MAX_QUEUE.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Calls that it takes a second; further ones get a 429.  [default: any number]",
)
@click.option("--retry-after", is_flag=True, help="Say in each 429 when a call is taken again, in whole seconds.")
@click.option(
    "--max-connections",
    type=click.IntRange(min=1),
    default=DEFAULT.max_connections,
    show_default=True,
    help="Connections that are open at once; further ones get a 503 and are closed.",
)
@click.option(
    "--load", type=SECONDS, default=0.0, show_default=True, metavar="S", help="Seconds that loading a model takes."
)
@click.option(
    "--latency", type=SECONDS, default=0.0, show_default=True, metavar="S", help="Seconds a call takes, on average."
)
@click.option(
    "--p99",
    type=SECONDS,
    metavar="S",
    help="Make latencies log-normal, with this 99th percentile in seconds: 1 to 15 times --latency.",
)
@click.option(
    "--slope",
    type=SECONDS,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="How much longer a call takes for each other call, as a share.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of latencies and faults.")
@click.option(
    "--faults",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of the calls that fails, an equal part in each way; 0.05 is one call in twenty.",
)
@click.option(
    "--fault",
    "shares",
    multiple=True,
    callback=_faults,
    metavar="NAME=SHARE",
    help="Share of the calls that fails in this way, as in --fault hang=0.1, whatever --faults says. May be repeated.",
)
@click.option(
    "--fault-at",
    "at",
    multiple=True,
    callback=_faults_at,
    metavar="N=NAME",
    help="Let the N-th call fail in this way, as in --fault-at 3=reset. May be repeated.",
)
@click.option(
    "--burst",
    type=click.IntRange(min=1),
    default=DEFAULT.faults.burst,
    show_default=True,
    help="503s in a row of one `busy` fault.",
)
@click.option(
    "--drip",
    type=SECONDS,
    default=DEFAULT.faults.drip_s,
    show_default=True,
    metavar="S",
    help="Seconds between two bytes of a `drip` fault.",
)
@click.option(
    "--spell",
    "spells",
    multiple=True,
    callback=_spells,
    metavar="NAME=EVERY:LEAST-MOST",
    help="Behave in another way for LEAST to MOST seconds, once in EVERY seconds, as in --spell outage=300:10-30. "
    "May be repeated for other spells.",
)
@click.option(
    "--systemone",
    type=click.Choice([each.value for each in SystemOne]),
    default=DEFAULT.systemone.value,
    show_default=True,
    help="Whether /v1/systemone answers with a probability for each option; off: a 404, unsuited: a 400.",
)
@click.option(
    "--dialect",
    type=click.Choice([each.value for each in Dialect]),
    default=DEFAULT.dialect.value,
    show_default=True,
    help="The response_format that /v1/chat/completions takes; ignored: any, and follows none.",
)
@click.option(
    "--quirk",
    "quirks",
    multiple=True,
    type=click.Choice(list(QUIRKS)),
    metavar="NAME",
    help="Differ from the protocol in this way, as `prism testing quirks` lists them. May be repeated.",
)
@click.option(
    "--logprobs",
    type=click.Choice([each.value for each in Logprobs]),
    default=DEFAULT.logprobs.value,
    show_default=True,
    help="Probabilities of tokens: as llama.cpp (grammar), vLLM (choice) or OpenAI (plain); raw: with letters missing.",
)
@click.option("--key", metavar="KEY", help="Bearer key that /v1/* asks for; a request without it gets a 401.")
@click.option("--live", is_flag=True, help="Answer the same question differently every time.")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append each request to FILE once it has ended, a line of JSON each.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts at the end as one line of JSON.")
def serve(**given: Any) -> None:
    """Serve a stand-in for a model, which fails as told.

    It speaks Ollama's API and OpenAI's. It has no model: it answers each question within the schema that comes with it,
    with made-up values, and the same question in the same way. Latencies and faults follow from --seed and the number
    of the call. Ctrl-C ends it and prints what it was asked.

    \b
      prism testing serve --faults 0.05          one call in twenty fails, in every way there is
      prism testing serve --latency 1 --p99 8    as slow as a model
      prism testing serve --fault hang=0.01      one call in a hundred is never answered
      prism testing serve --spell outage=60:10   once a minute it is gone for ten seconds
    """
    begun = monotonic()
    try:
        with ExitStack() as stack:
            on_exchange = stack.enter_context(_log(given["log"])) if given["log"] else None
            server = ModelServer(_settings(given), host=given["host"], port=given["port"], on_exchange=on_exchange)
            stack.enter_context(server)
            echo(f"listening on {server.url}")
            if not given["as_json"]:
                echo(_hint(server))
            _wait_for_signal()
    except ModelServerError as error:
        raise click.ClickException(str(error)) from None
    counts = server.statistics()
    echo(msgspec.json.encode(counts).decode() if given["as_json"] else _report(counts, monotonic() - begun))


@testing.command()
def faults() -> None:
    """List the faults of the server, with their meaning.

    `prism testing serve` makes them as told by --faults, --fault and --fault-at. They happen to questions, never
    to requests for the list of models.
    """
    width = max(map(len, Fault))
    for fault, meaning in MEANINGS.items():
        echo(f"{fault:{width}}  {meaning}")


@testing.command()
def spells() -> None:
    """List the spells of the server, with their meaning: ways in which it behaves for a time.

    `prism testing serve --spell NAME=EVERY:LEAST-MOST` has one in every period of EVERY seconds, at a time and of a
    length that follow from --seed. Faults happen to single calls, spells to all questions of a time; in an outage
    the server is gone for every request.
    """
    width = max(map(len, SpellKind))
    for spell, meaning in SPELLS.items():
        echo(f"{spell:{width}}  {meaning}")


@testing.command()
def quirks() -> None:
    """List the quirks of the server: ways in which real servers differ from their protocol.

    `prism testing serve --quirk NAME` has one, in every exchange. The second column is the protocol that it is about.
    """
    width = max(map(len, QUIRKS))
    for quirk in QUIRKS.values():
        echo(f"{quirk.name:{width}}  {quirk.api:6}  {quirk.sentence}")


def _settings(given: dict[str, Any]) -> ServerSettings:
    seed = given["seed"]
    return ServerSettings(
        models=given["models"],
        slots=given["slots"],
        max_queue=given["max_queue"],
        max_connections=given["max_connections"],
        rate_per_s=given["rate"],
        says_when=given["retry_after"],
        load_s=given["load"],
        latency=Latency(mean_s=given["latency"], p99_s=given["p99"], slope=given["slope"], seed=seed),
        faults=FaultPlan(
            shares={**(evenly(given["faults"]) if given["faults"] else {}), **given["shares"]},
            at=given["at"],
            seed=seed,
            burst=given["burst"],
            drip_s=given["drip"],
        ),
        spells=tuple(
            Spell(kind=times.kind, every_s=times.every_s, least_s=times.least_s, most_s=times.most_s, seed=seed)
            for times in given["spells"]
        ),
        systemone=SystemOne(given["systemone"]),
        dialect=Dialect(given["dialect"]),
        quirks=given["quirks"],
        logprobs=Logprobs(given["logprobs"]),
        key=given["key"],
        live=given["live"],
        keeps=0,  # the caller cannot read them from here
    )


@contextmanager
def _log(path: Path) -> Iterator[Any]:
    try:
        file = path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise click.ClickException(f"--log: {path}: cannot be written: {error.strerror}") from None

    def write(exchange: Exchange) -> None:
        file.write(exchange.line() + "\n")

    with file:
        yield write


def _hint(server: ModelServer) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.host)  # noqa: S104 - compared with, not listened on
    url = server.url if host is None else f"http://{host}:{server.port}"
    model = server.settings.models[0]
    settings = f"--set llm.host={url}" + ("" if model in DEFAULT.models else f" --set llm.model={model}")
    return (
        "try it from another terminal:\n"
        "  prism init --example ollama\n"
        f"  prism run ollama/prism.yaml {settings}\n"
        "Ctrl-C ends it and prints what it was asked."
    )


def _wait_for_signal() -> None:
    """Return at the first SIGINT or SIGTERM."""
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, end) for number in numbers]
    try:
        ended.wait()
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _report(counts: Statistics, seconds: float) -> str:
    statuses = [f"{status}: {count:,}" for status, count in sorted(counts.statuses.items())]
    silent = counts.requests - sum(counts.statuses.values())
    rows = {
        "calls": f"{counts.calls:,} in {seconds:,.1f} s",
        "failed as told": f"{sum(counts.faults.values()):,}",
        **{f"  {fault}": f"{counts.faults[fault]:,}" for fault in Fault if fault in counts.faults},
        **{f"in spells of {spell}": f"{counts.spells[spell]:,}" for spell in SpellKind if spell in counts.spells},
        **({"outages": f"{counts.outages:,}"} if counts.outages else {}),
        "given up by the client": f"{counts.abandoned:,}",
        "requests by status": ", ".join([*statuses, *([f"none: {silent:,}"] if silent else [])]) or "none",
        "at once": f"{counts.peak_busy:,} in slots, {counts.peak_waiting:,} waiting, at most",
        "connections": f"{counts.accepted_connections:,}, {counts.peak_connections:,} at once at most, "
        f"{counts.refused_connections:,} refused",
        "loads of a model": f"{counts.loads:,}",
    }
    width = max(map(len, rows))
    return "\n" + "\n".join(f"{name:{width}}  {value}" for name, value in rows.items())
