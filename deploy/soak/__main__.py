"""A run of the shipped configuration against a model server that fails in many ways, observed as long as you like.

The run is configs/soak.yaml as it is: 10,000 people, a tick every three seconds. Only the server's address and the port
of the metrics are its own. The server is that of the tests: one call in twenty fails, and now and then it is gone,
silent, busy, limits the rate or is slow, for 5 to 60 seconds. FAULTS and SPELLS have the shares and times.

A young world takes more memory every round, until people remember as many posts as they can. So the soak begins with
a hundred rounds without a server, as fast as they go, and the run that is observed is a fork of them.

Run and server are processes of their own. Every second the run's memory and descriptors are read from /proc, its tasks,
ticks and counts from its metrics. Prometheus observes it with the shipped rules if it is installed. At the end the run
gets a SIGTERM, its files are verified, and a report is written: soak.md, beside soak.csv. Exit code 4: the memory rises
in the second half, by more than chance and by more than a mebibyte an hour. Exit code 1: the run ended early, left
damaged files, or an alert fired that no failing server explains.

    python -m deploy.soak --minutes 20 [--set key=value] [--out runs/soak-report]
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import msgspec

from actors import read_config
from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from actors.store.manifest import read_summary
from deploy.prometheus_process import Prometheus, free_port, prometheus
from deploy.scrape import Scrape
from deploy.soak.report import (
    MIB,
    OF_MEMORY,
    Memory,
    Quantity,
    Table,
    counts,
    end,
    is_leak,
    memory_of,
    slopes_of,
    text_of,
)
from prism.config.yaml_text import flat
from tests.standin import Fault, FaultPlan, Latency, ModelServerProcess, ServerSettings, Spell, SpellKind

CONFIG = Path(__file__).parents[2] / "configs" / "soak.yaml"
SEED = 1
FAULTS = ("reset=0.012", "error=0.012", "busy=0.012", "not_json=0.012", "hang=0.002")
"""One call in twenty. A call that hangs costs `llm.timeout_s`, a minute, and the clock waits for it."""
SPELLS = ("outage=300:10-30", "silence=600:10-30", "busy=240:5-20", "limit=240:5-20", "slow=600:30-60")
"""In every five minutes one outage of 10 to 30 seconds, and so on."""
FAST = {"oracle.backend": "choice", "run.tick_s": 0, "run.sync": False, "metrics.enabled": False}
"""The settings of the rounds before."""
SERVER_ALERTS = frozenset({"PrismWaitingForOracle", "PrismOracleSaturated", "PrismConcurrencyAtFloor"})
"""Alerts that a server which is away or slow may cause. All others are about the run or its machine."""
EXIT_TERMINATED, HOUR_S, STARTS_MAX = 143, 3600, 5
STOP_S = 300.0
"""The longest time for the end of the run: its last tick may wait for a call that hangs, and that takes two minutes."""
PRISM = (sys.executable, "-m", "actors.cli")


class Observation(Memory, frozen=True, kw_only=True):
    """The run at one moment.

    Args:
        at_s: since the soak began.
        tasks: of the event loop; NaN if there are too many agents to count them.
        waiting: questions in the queue.
        lag_s: the longest lag of the event loop in the minute before.
    """

    at_s: float
    is_waiting: bool
    descriptors: int
    tasks: float
    ticks: int
    calls: int
    retries: int
    fallbacks: int
    in_flight: int
    waiting: int
    lag_s: float
    journal_bytes: int


QUANTITIES = (
    *OF_MEMORY,
    Quantity("descriptors", "", lambda each: each.descriptors),
    Quantity("questions in the queue", "", lambda each: each.waiting),
    Quantity("longest lag of the event loop", "ms", lambda each: 1000 * each.lag_s),
)


def model_server(faults: Sequence[str], spells: Sequence[str]) -> ModelServerProcess:
    """Return a server in a process of its own that fails as told: FAULT=SHARE, and SPELL=EVERY:LEAST-MOST."""
    shares = {Fault(name): float(share) for name, _, share in (each.partition("=") for each in faults)}
    found = []
    for text in spells:
        name, _, times = text.partition("=")
        every, _, lasts = times.partition(":")
        least, _, most = lasts.partition("-")
        kept = {"every_s": float(every), "least_s": float(least), "most_s": float(most or least)}
        found.append(Spell(kind=SpellKind(name), seed=SEED, **kept))
    settings = ServerSettings(
        slots=16,
        latency=Latency(mean_s=0.5, p99_s=2.5, seed=SEED),
        faults=FaultPlan(shares=shares, seed=SEED),
        spells=tuple(found),
    )
    return ModelServerProcess(settings)


def prism(*arguments: str, settings: dict[str, Any], more: Sequence[str] = ()) -> None:
    given = [*more, *(f"{key}={msgspec.json.encode(value).decode()}" for key, value in settings.items())]
    subprocess.run([*PRISM, *arguments, "--quiet", *(part for each in given for part in ("--set", each))], check=True)


def prepare(options: argparse.Namespace, host: str, port: int) -> int:
    """Make the rounds before, fork the run that is observed from them, and return their ticks.

    Both are processes that end before the run begins: a fork takes memory of its own.
    """
    rounds, before = options.rounds_before, options.out / "before"
    print(f"soak: {rounds} rounds for a world that is not young any more", flush=True)
    fast = {**FAST, "simulation.rounds": rounds}
    prism("run", str(CONFIG), "--out", str(before), settings=fast, more=options.settings)
    shipped = dict(flat(msgspec.to_builtins(read_config(CONFIG, options.settings))))
    settings = {**{key: shipped[key] for key in fast}, "llm.host": host, "metrics.port": port}
    ticks = int(read_summary(before)["ticks"])
    prism("fork", str(before), "--at", str(ticks), "--prepare", "--out", str(options.out / "run"), settings=settings)
    return ticks


@contextmanager
def under_way(run: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, int]]:
    """Resume the run in a process for the block; yield the process, the address of its metrics, and the starts so far.

    An outage during the start of a process ends the process; then another one is started.
    """
    for starts in range(1, STARTS_MAX + 1):
        with run.with_suffix(".err").open("ab") as errors:  # Ctrl-C is for this process, which then stops the run
            command = [*PRISM, "resume", "--quiet", str(run)]
            process = subprocess.Popen(command, stderr=errors, stdout=errors, start_new_session=True)
        with process:
            try:
                while process.poll() is None and not (run / ADDRESS).exists():
                    sleep(0.1)
                url = ""
                with suppress(FileNotFoundError):
                    url = msgspec.json.decode((run / ADDRESS).read_bytes(), type=Address).url
                if goes_on(process, url):
                    yield process, url, starts
                    return
            finally:
                process.kill()
    sys.exit(run.with_suffix(".err").read_text(encoding="utf-8") or "soak: the run has not begun")


def goes_on(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until the run goes on with its ticks, and does not wait for its server; return False if it has ended."""
    while process.poll() is None:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{url}/readyz", timeout=30, trust_env=False).text.startswith("running"):
                return True
        sleep(0.1)
    return False


def observe(process: subprocess.Popen[bytes], url: str, seconds: int) -> Iterator[Observation]:
    """Yield an observation of the run once a second, until the time is over or the run has ended."""
    begun = monotonic()
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        for second in range(1, seconds + 1):
            sleep(max(0.0, begun + second - monotonic()))
            try:
                page = Scrape.parse(client.get("/metrics").text, monotonic() - begun)
                yield Observation(
                    at_s=round(page.moment_s, 3),
                    is_waiting=page.value("prism_run_phase", phase="waiting_for_oracle") > 0,
                    **memory_of(process.pid),
                    descriptors=len(list(Path(f"/proc/{process.pid}/fd").iterdir())),
                    tasks=page.value("prism_event_loop_tasks"),
                    ticks=int(page.value("prism_ticks_total")),
                    calls=int(page.value("prism_llm_request_duration_seconds_count")),
                    retries=int(page.value("prism_oracle_retries_total")),
                    fallbacks=int(page.value("prism_fallbacks_total")),
                    in_flight=int(page.value("prism_llm_requests_in_flight")),
                    waiting=int(page.value("prism_oracle_queue_depth")),
                    lag_s=page.value("prism_event_loop_lag_seconds_max"),
                    journal_bytes=int(page.value("prism_journal_bytes_total")),
                )
            except (OSError, httpx.HTTPError) as error:
                with suppress(subprocess.TimeoutExpired):  # its metrics go before it does
                    process.wait(timeout=STOP_S)
                if process.poll() is None:
                    raise
                print(f"soak: the run has ended: {error}", file=sys.stderr)
                return


def main() -> None:
    options: Any = _options()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs begin with SIGINT ignored
    run, port, table = options.out / "run", free_port(), Table(options.out / "soak.csv", Observation)
    with ExitStack() as stack:
        # 1. The run is observed until the time is over, and stopped by a SIGTERM.
        server = stack.enter_context(model_server(options.fault or FAULTS, options.spell or SPELLS))
        before = prepare(options, server.url, port)
        observer: Prometheus | None = None
        if shutil.which("prometheus"):
            (options.out / "prometheus").mkdir()
            observer = stack.enter_context(prometheus(options.out / "prometheus", [f"127.0.0.1:{port}"]))
        begun = monotonic()
        with under_way(run) as (process, url, starts):
            try:
                for each in observe(process, url, round(60 * options.minutes)):
                    table.add(each)
                    if int(each.at_s) % 60 == 0:
                        print(f"{each.at_s / 60:4.0f} min  {each.ticks:,} ticks", flush=True)
            except KeyboardInterrupt:
                print("soak: stopped; the report is about what was observed", file=sys.stderr)
            goes_on(process, url)  # in an outage the tick under way could not end, and there would be no summary
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=STOP_S)
        # 2. Prometheus remembers the alerts of all the time.
        fired = {} if observer is None else observer.ever_fired(f"{int(monotonic() - begun) + 60}s")
        served = server.end()
    is_whole = subprocess.run([*PRISM, "verify", "--quick", str(run)], check=False).returncode == 0
    # 3. The report.
    samples, summary = table.samples(), read_summary(run)
    slopes = slopes_of(samples, lambda each: each.at_s, QUANTITIES, per=HOUR_S, warm_up=options.warm_up)
    alerts = sorted({alert for alert, _ in fired})
    expected = SERVER_ALERTS if starts == 1 else SERVER_ALERTS | {"PrismRunEndedEarly"}
    unexpected = [each for each in alerts if each not in expected]
    names = ", ".join(f"{each}{' (UNEXPECTED)' if each in unexpected else ''}" for each in alerts) or "none"
    last = samples[-1]
    told = [
        f"configs/soak.yaml{''.join(f', {each}' for each in options.settings)}; {last.at_s / 60:.1f} minutes.",
        f"A fork of {options.rounds_before} rounds without a server.",
        f"{last.ticks - before:,} ticks, {last.calls:,} calls, {last.journal_bytes / MIB:,.0f} MiB of journal.",
        f"Calls with a fault: {counts({each.value: number for each, number in served.faults.items()})}.",
        f"Calls in a spell: {counts({each.value: number for each, number in served.spells.items()})}.",
        f"Outages: {served.outages}. Seconds that waited for the oracle: {sum(each.is_waiting for each in samples)}.",
        f"Asked again: {counts(summary.get('retries_by_reason', {}))}. Fallbacks: {last.fallbacks}.",
        f"Exit code {code}; files {'whole' if is_whole else 'DAMAGED'}.",
        "Prometheus is not installed, so no alerts were observed." if observer is None else f"Alerts: {names}.",
        f"{len(samples):,} observations; a warm-up of {options.warm_up:.0%} is left out.",
    ]
    is_sound = code == EXIT_TERMINATED and is_whole and not unexpected
    end(options.out / "soak.md", text_of("Soak", told, slopes, "an hour"), is_sound=is_sound, rises=is_leak(slopes))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Any = parser.add_argument
    many = {"action": "append", "default": []}
    add("--minutes", type=float, default=20.0, help="how long to watch (%(default)g)")
    add("--set", dest="settings", metavar="KEY=VALUE", help="over the configuration", **many)
    add("--fault", metavar="NAME=SHARE", help=f"instead of {' '.join(FAULTS)}", **many)
    add("--spell", metavar="NAME=TIMES", help=f"instead of {' '.join(SPELLS)}", **many)
    add("--rounds-before", type=int, default=100, help="rounds of the world before (%(default)d)")
    add("--warm-up", type=float, default=0.25, help="share of the time left out (%(default)g)")
    add("--out", type=Path, default=Path("runs/soak-report"), help="a new directory (%(default)s)")
    options = parser.parse_args()
    try:
        options.out.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{options.out} exists already")
    return options


if __name__ == "__main__":
    main()
