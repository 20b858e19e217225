"""A run of the shipped configuration against a model server that fails in many ways, observed as long as you like.

The run is configs/soak.yaml as it is: 10,000 people, a tick every three seconds. Only the server's address and the port
of the metrics are its own. The server is that of the tests: one call in twenty fails, and now and then it is gone,
silent, busy, limits the rate or is slow, for 5 to 60 seconds.

A young world takes more memory every round, until people remember as many posts as they can. So the soak begins with
a hundred rounds without a server, as fast as they go, and the run that is observed is a fork of them.

Run and server are processes of their own. Every second the run's metrics are read. Prometheus observes it with the
shipped rules if it is installed. At the end the run gets a SIGTERM, its files are verified, and a report is written:
soak.md, beside soak.csv. Exit code 4: the memory rises in the second half, by more than chance and by more than a
mebibyte an hour. Exit code 1: the run ended early, left damaged files, or an alert fired that no failing server
explains.

    python -m deploy.soak --minutes 20 [--set key=value] [--out runs/soak-report]
"""

from __future__ import annotations

import argparse
import csv
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, NamedTuple

import httpx
import msgspec
import numpy as np
from numpy.typing import NDArray
from statsmodels.regression.linear_model import GLSAR
from statsmodels.tools.tools import add_constant

from actors import read_config
from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from actors.store.manifest import read_summary
from deploy.prometheus_process import Prometheus, Scrape, free_port, prometheus
from prism.config.yaml_text import flat
from tests.standin import Fault, FaultPlan, Latency, ModelServerProcess, ServerSettings, Spell, SpellKind

MIB, KIB = 2**20, 2**10
LEAK_MIB: Final = 1.0
"""The memory leaks if it rises by more: room that fills takes a few pages now and then."""
WARM_UP: Final = 0.25
"""The share of the time that is left out."""
BLOCKS_MIN, BLOCKS_MAX = 20, 30
"""Blocks of samples, by whose means a slope is estimated: with fewer, the likeness of neighbours is not known."""
MEMORY = "resident memory, MiB"
EXIT_FAILED, EXIT_RISING = 1, 4

Floats = NDArray[np.float64]


class Slope(NamedTuple):
    """The values of a column after the warm-up, and the slope of the second half with its 95% interval."""

    first: float
    least: float
    most: float
    last: float
    slope: float
    low: float
    high: float


class Samples:
    """The samples of a soak, in a CSV file alone. An interrupted soak keeps the samples that it has written.

    Args:
        columns: their names with their units, `MEMORY` among them; the time stands before them.
        totals: the columns whose growth from one sample to the next must stay on a level.
    """

    def __init__(self, path: Path, columns: Collection[str], totals: Collection[str] = ()) -> None:
        self._path, self._totals = path, totals
        self._write(("at", *columns))

    def add(self, at: float, values: Iterable[float]) -> None:
        self._write((at, *values))

    def columns(self) -> dict[str, Floats]:
        with self._path.open(encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file)
        return dict(zip(names, np.array(rows, np.float64).reshape(-1, len(names)).T, strict=True))

    def slopes(self, per: float) -> dict[str, Slope]:
        """Return the slope of every column.

        Args:
            per: the time of a slope.

        Raises:
            ValueError: there are too few samples.
        """
        columns, found = self.columns(), dict[str, Slope]()
        times = columns.pop("at")
        warm, late = (times >= times[:1] + share * (times[-1:] - times[:1]) for share in (WARM_UP, 0.5))
        for name, column in columns.items():
            is_total = name in self._totals
            values = np.diff(column, prepend=0) / np.diff(times, prepend=0) if is_total else column
            slope = (per * each for each in trend(times[late], values[late]))
            of = values[warm]
            found[name] = Slope(*(float(each) for each in (of[0], of.min(), of.max(), of[-1])), *slope)
        return found

    def _write(self, row: Sequence[object]) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(row)


def trend(times: Floats, values: Floats) -> tuple[float, float, float]:
    """Return the slope of values over times, and the ends of its 95% interval.

    Memory drifts slowly, so neighbouring samples are almost equal, and the usual standard error of a slope would call
    every random movement a trend: errors are taken to resemble the one before (Cochrane & Orcutt, 1949).

    Raises:
        ValueError: there are fewer than 20.
    """
    if len(values) < BLOCKS_MIN:
        raise ValueError(f"a trend needs {BLOCKS_MIN} samples or more, got {len(values)}")
    if np.ptp(values) <= 1e-9 * abs(values).max():  # a level, but for rounding
        return 0.0, 0.0, 0.0
    count = min(BLOCKS_MAX, len(values))
    at, of = (np.array([block.mean() for block in np.array_split(each, count)]) for each in (times, values))
    fitted = GLSAR(of, add_constant(at), rho=1).iterative_fit(maxiter=10)
    low, high = fitted.conf_int()[1]
    return float(fitted.params[1]), float(low), float(high)


def is_leak(slopes: Mapping[str, Slope]) -> bool:
    memory = slopes[MEMORY]
    return memory.low > 0 and memory.slope > LEAK_MIB


def finish(file: Path, title: str, told: Sequence[str], slopes: Mapping[str, Slope], per: str, *, sound: bool) -> None:
    """Write and print the report in Markdown, and end the process with the exit code of its result.

    Args:
        told: what was run and what became of it, a line each.
        per: the time of a slope in words.
    """
    text = "\n".join(_text(title, told, slopes, per))
    file.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(EXIT_FAILED if not sound else EXIT_RISING if is_leak(slopes) else 0)


def _text(title: str, told: Sequence[str], slopes: Mapping[str, Slope], per: str) -> Iterator[str]:
    yield from (f"# {title}", "", *told, f"A warm-up of {WARM_UP:.0%} is left out.", "")
    yield f"| | first | least | most | last | slope {per}, second half | 95% interval |"
    yield "|---|---|---|---|---|---|---|"
    for name, (*levels, slope, low, high) in slopes.items():
        cells = [f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in levels]
        yield f"| {name} | {' | '.join(cells)} | {slope:+.3g} | {low:+.3g} to {high:+.3g} |"
    more = f"by more than chance and by more than {LEAK_MIB:g} MiB {per}.\n"
    yield f"\nIn the second half the memory {'RISES' if is_leak(slopes) else 'does not rise'} {more}"


def counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items()) or "none"


CONFIG = Path(__file__).parents[2] / "configs" / "soak.yaml"
SEED = 9
"""With this seed no spell begins in the first two minutes, so that the run can begin."""
SPELLS = (("outage", 300, 10, 30), ("silence", 600, 10, 30), ("busy", 240, 5, 20), ("limit", 240, 5, 20))
SERVER = ServerSettings(
    slots=16,
    latency=Latency(mean_s=0.5, p99_s=2.5, seed=SEED),
    # One call in twenty. A call that hangs costs `llm.timeout_s`, a minute, and the clock waits for it.
    faults=FaultPlan(
        shares={Fault.RESET: 0.012, Fault.ERROR: 0.012, Fault.BUSY: 0.012, Fault.NOT_JSON: 0.012, Fault.HANG: 0.002},
        seed=SEED,
    ),
    spells=tuple(
        Spell(kind=SpellKind(kind), every_s=every_s, least_s=least_s, most_s=most_s, seed=SEED)
        for kind, every_s, least_s, most_s in (*SPELLS, ("slow", 600, 30, 60))
    ),
)
FAST = {"oracle.backend": "choice", "run.tick_s": 0, "run.sync": False, "metrics.enabled": False}
"""The settings of the rounds before."""
SERVER_ALERTS = frozenset({"PrismWaitingForOracle", "PrismOracleSaturated", "PrismConcurrencyAtFloor"})
"""Alerts that a server which is away or slow may cause. All others are about the run or its machine."""
EXIT_TERMINATED, HOUR_S = 143, 3600
STOP_S = 300.0
"""The longest time for the end of the run: its last tick may wait for a call that hangs, and that takes two minutes."""
PRISM = (sys.executable, "-m", "actors.cli")
COLUMNS: Mapping[str, Callable[[Scrape], float]] = {
    MEMORY: lambda page: page.value("process_resident_memory_bytes") / MIB,
    "descriptors": lambda page: page.value("process_open_fds"),
    "questions in the queue": lambda page: page.value("prism_oracle_queue_depth"),
    "longest lag of the event loop, ms": lambda page: 1000 * page.value("prism_event_loop_lag_seconds_max"),
}


def prism(*arguments: str, settings: Mapping[str, Any], more: Sequence[str] = ()) -> None:
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


def until_it_runs(process: subprocess.Popen[bytes], run: Path) -> str:
    """Wait until the run goes on with its ticks, and does not wait for its server; return its address."""
    while process.poll() is None:
        with suppress(httpx.HTTPError, FileNotFoundError):
            url = msgspec.json.decode((run / ADDRESS).read_bytes(), type=Address).url
            if httpx.get(f"{url}/readyz", timeout=30, trust_env=False).text.startswith("running"):
                return url
        sleep(0.1)
    sys.exit(run.with_suffix(".err").read_text(encoding="utf-8") or "soak: the run has ended")


def observe(process: subprocess.Popen[bytes], url: str, seconds: int) -> Iterator[Scrape]:
    """Yield the run's metrics once a second, until the time is over or the run has ended."""
    begun = monotonic()
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        for second in range(1, seconds + 1):
            sleep(max(0.0, begun + second - monotonic()))
            try:
                text = client.get("/metrics").text
            except httpx.HTTPError as error:
                with suppress(subprocess.TimeoutExpired):  # its metrics go before it does
                    process.wait(timeout=STOP_S)
                if process.poll() is None:
                    raise
                print(f"soak: the run has ended: {error}", file=sys.stderr)
                return
            yield Scrape.parse(text, round(monotonic() - begun, 3))


def main(arguments: Sequence[str] | None = None, server_settings: ServerSettings = SERVER) -> None:
    options: Any = _options(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs begin with SIGINT ignored
    run, port, samples = options.out / "run", free_port(), Samples(options.out / "soak.csv", COLUMNS)
    server, page, waited = ModelServerProcess(server_settings, port=free_port()), Scrape(0.0, {}), 0
    before = prepare(options, server.url, port)
    with ExitStack() as stack:
        # 1. The run is observed until the time is over, and stopped by a SIGTERM.
        stack.enter_context(server)
        observer: Prometheus | None = None
        if shutil.which("prometheus"):
            (options.out / "prometheus").mkdir()
            observer = stack.enter_context(prometheus(options.out / "prometheus", [f"127.0.0.1:{port}"]))
        begun = monotonic()
        errors = stack.enter_context(run.with_suffix(".err").open("ab"))
        command = [*PRISM, "resume", "--quiet", str(run)]  # Ctrl-C is for this process, which then stops the run
        process = subprocess.Popen(command, stderr=errors, stdout=errors, start_new_session=True)
        stack.callback(process.kill)
        url = until_it_runs(process, run)
        try:
            for page in observe(process, url, round(60 * options.minutes)):
                samples.add(page.moment_s, (value(page) for value in COLUMNS.values()))
                waited += page.value("prism_run_phase", phase="waiting_for_oracle") > 0
                if int(page.moment_s) % 60 == 0:
                    print(f"{page.moment_s / 60:4.0f} min  {page.value('prism_ticks_total'):,.0f} ticks", flush=True)
        except KeyboardInterrupt:
            print("soak: stopped; the report is about what was observed", file=sys.stderr)
        if process.poll() is None:
            until_it_runs(process, run)  # in an outage the tick under way could not end: there would be no summary
            process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=STOP_S)
        # 2. Prometheus remembers the alerts of all the time.
        fired = {} if observer is None else observer.ever_fired(f"{int(monotonic() - begun) + 60}s")
        served = server.end()
    is_whole = subprocess.run([*PRISM, "verify", "--quick", str(run)], check=False).returncode == 0
    # 3. The report.
    summary, alerts = read_summary(run), sorted({alert for alert, _ in fired})
    unexpected = [each for each in alerts if each not in SERVER_ALERTS]
    names = ", ".join(f"{each}{' (UNEXPECTED)' if each in unexpected else ''}" for each in alerts) or "none"
    ticks, calls = page.value("prism_ticks_total") - before, page.value("prism_llm_request_duration_seconds_count")
    fallbacks = page.value("prism_fallbacks_total")
    told = [
        f"configs/soak.yaml{''.join(f', {each}' for each in options.settings)}; {page.moment_s / 60:.1f} minutes.",
        f"A fork of {options.rounds_before} rounds without a server.",
        f"{ticks:,.0f} ticks, {calls:,.0f} calls, {page.value('prism_journal_bytes_total') / MIB:,.0f} MiB of journal.",
        f"Calls with a fault: {counts({each.value: number for each, number in served.faults.items()})}.",
        f"Calls in a spell: {counts({each.value: number for each, number in served.spells.items()})}.",
        f"Outages: {served.outages}. Seconds that waited for the oracle: {waited}.",
        f"Asked again: {counts(summary.get('retries_by_reason', {}))}. Fallbacks: {fallbacks:,.0f}.",
        f"Exit code {code}; files {'whole' if is_whole else 'DAMAGED'}.",
        "Prometheus is not installed, so no alerts were observed." if observer is None else f"Alerts: {names}.",
    ]
    is_sound = code == EXIT_TERMINATED and is_whole and not unexpected
    finish(options.out / "soak.md", "Soak", told, samples.slopes(HOUR_S), "an hour", sound=is_sound)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Any = parser.add_argument
    add("--minutes", type=float, default=20.0, help="how long to watch (%(default)g)")
    add("--set", dest="settings", metavar="KEY=VALUE", help="over the configuration", action="append", default=[])
    add("--rounds-before", type=int, default=100, help="rounds of the world before (%(default)d)")
    add("--out", type=Path, default=Path("runs/soak-report"), help="a new directory (%(default)s)")
    return new_directory(parser, parser.parse_args(arguments))


def new_directory(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    try:
        options.out.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{options.out} exists already")
    return options


if __name__ == "__main__":
    main()
