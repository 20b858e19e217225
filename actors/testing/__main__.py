"""The server by hand: `python -m actors.testing --port 11434 --slots 4 --latency 0.05 --fault hang=0.1`."""

import argparse
import json
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from actors.testing.faults import MEANINGS, Fault, FaultPlan
from actors.testing.latency import Latency
from actors.testing.server import ModelServer
from actors.testing.settings import Dialect, ServerSettings, SystemOne

_FAULTS = "\n".join(f"  {fault:13} {meaning}" for fault, meaning in MEANINGS.items())
_EPILOG = f"""faults, of POST /api/chat, /api/generate, /v1/chat/completions and /v1/systemone alone:
{_FAULTS}

example:
  python -m actors.testing --slots 4 --latency 1 --p99 8 --fault hang=0.05 --fault busy=0.05 --fault-at 3=reset
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, then print the counts as a line of JSON."""
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
    except ValueError as error:
        sys.exit(f"actors.testing: {error}")
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    with ModelServer(settings, host=options.host, port=options.port) as server:
        sys.stdout.write(f"listening on {server.url}\n")
        sys.stdout.flush()
        ended.wait()
        counts = server.statistics()
        if options.log:
            lines = [exchange.line() + "\n" for exchange in server.requests]
            Path(options.log).write_text("".join(lines), encoding="utf-8")
    sys.stdout.write(json.dumps(asdict(counts)) + "\n")


def _settings(options: argparse.Namespace) -> ServerSettings:
    return ServerSettings(
        models=tuple(options.model or ServerSettings().models),
        slots=options.slots,
        max_queue=options.max_queue,
        load_s=options.load,
        latency=Latency(mean_s=options.latency, p99_s=options.p99, slope=options.slope, seed=options.seed),
        faults=FaultPlan(
            shares=dict(options.fault),
            at=dict(options.fault_at),
            seed=options.seed,
            burst=options.burst,
            drip_s=options.drip,
        ),
        systemone=options.systemone,
        dialect=options.dialect,
        key=options.key,
        live=options.live,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m actors.testing",
        description="A stand-in for Ollama's HTTP server, and for an OpenAI-compatible one, that fails as told.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=11434, help="port, 0 for a free one (%(default)s)")
    parser.add_argument("--model", action="append", help="a model it has; repeat for more (llama3.2)")
    parser.add_argument("--slots", type=int, default=4, help="calls run at once, OLLAMA_NUM_PARALLEL (%(default)s)")
    parser.add_argument("--max-queue", type=int, default=512, help="calls that wait; more get 503 (%(default)s)")
    parser.add_argument("--load", type=float, default=0.0, metavar="S", help="seconds to load a model (%(default)s)")
    parser.add_argument("--latency", type=float, default=0.0, metavar="S", help="mean seconds a call (%(default)s)")
    parser.add_argument("--p99", type=float, metavar="S", help="makes the latency log-normal with this 99th percentile")
    parser.add_argument(
        "--slope", type=float, default=0.0, help="latency x (1 + slope x other busy slots) (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of latencies and faults (%(default)s)")
    parser.add_argument(
        "--fault", type=_share, action="append", default=[], metavar="NAME=SHARE", help="share of calls"
    )
    parser.add_argument("--fault-at", type=_at, action="append", default=[], metavar="N=NAME", help="the N-th call")
    parser.add_argument("--burst", type=int, default=3, help="503s in a row for a busy fault (%(default)s)")
    parser.add_argument("--drip", type=float, default=0.01, metavar="S", help="seconds a byte of a drip (%(default)s)")
    parser.add_argument(
        "--systemone", type=SystemOne, default=SystemOne.ON, choices=list(SystemOne), help="%(default)s"
    )
    parser.add_argument(
        "--dialect", type=Dialect, default=Dialect.JSON_SCHEMA, choices=list(Dialect), help="%(default)s"
    )
    parser.add_argument("--key", help="bearer key that /v1/* asks for")
    parser.add_argument("--live", action="store_true", help="answer differently every time")
    parser.add_argument("--log", metavar="FILE", help="at the end, write the requests here, a line of JSON each")
    return parser


def _share(text: str) -> tuple[Fault, float]:
    name, _, share = text.partition("=")
    try:
        return _fault(name), float(share)
    except ValueError:
        message = f"{text!r} is not NAME=SHARE, as in hang=0.1"
        raise argparse.ArgumentTypeError(message) from None


def _at(text: str) -> tuple[int, Fault]:
    number, _, name = text.partition("=")
    try:
        return int(number), _fault(name)
    except ValueError:
        message = f"{text!r} is not N=NAME, as in 3=reset"
        raise argparse.ArgumentTypeError(message) from None


def _fault(name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        message = f"{name!r} is no fault; there are {', '.join(Fault)}"
        raise argparse.ArgumentTypeError(message) from None


if __name__ == "__main__":
    main()
