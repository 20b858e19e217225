"""A run of 10,000 people against a model server that fails one call in twenty, observed for as long as you like.

Both are processes of their own: the run cannot hide anything in this one. Every second its memory, descriptors and
threads are read from /proc, its tasks, its ticks and their duration from its metrics. Prometheus observes it with the
shipped rules if it is installed. At the end the run gets a SIGTERM, its files are verified, and a report is written:
soak.md, soak.csv, and soak.png if matplotlib is installed. Exit code 4: after the warm-up the memory rises, by more
than chance (`deploy.soak.trend`). Exit code 1: the run ended early, or left damaged files.

    python -m deploy.soak --minutes 20 [--agents 10000] [--faults 0.05] [--out runs/soak-report]
"""

from __future__ import annotations

import argparse
import csv
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import msgspec

from actors.cli.scrape import Scrape
from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from actors.testing import Fault, FaultPlan, Latency, ModelServerProcess, ServerSettings
from deploy.prometheus_process import Prometheus, prometheus
from deploy.soak.report import CSV, Observation, Outcome, draw, judge

CONFIG = Path(__file__).parents[2] / "configs" / "soak.yaml"
FAULTS = (Fault.HANG, Fault.RESET, Fault.ERROR, Fault.BUSY, Fault.NOT_JSON)
"""A fifth of the faults each: one that costs time, one that breaks the connection, two that the server admits to, and
an answer that cannot be read."""
SETTINGS = (
    "metrics.port=0",
    "run.tick_s=0.25",
    # A call that hangs takes eight ticks, and so does deliberation: or the clock would mostly wait for such calls.
    "llm.timeout_s=2",
    "oracle.lookahead_ticks=8",
    "oracle.deadline_s=10",
    "oracle.concurrency=fixed",
    "oracle.max_concurrency=16",
    "simulation.rounds=1000000",
)
EXIT_FAILED, EXIT_RISING, EXIT_TERMINATED = 1, 4, 143
SAMPLE_S = 1.0


def model_server(faults: float) -> ModelServerProcess:
    """Return a server in a process of its own that fails in this share of calls."""
    plan = FaultPlan(shares=dict.fromkeys(FAULTS, faults / len(FAULTS)), burst=1)
    return ModelServerProcess(ServerSettings(slots=16, latency=Latency(mean_s=0.05, p99_s=0.4), faults=plan))


@contextmanager
def simulation(out: Path, host: str, agents: int) -> Iterator[subprocess.Popen[bytes]]:
    """Return a context with the process of the run."""
    settings = (*SETTINGS, f"llm.host={host}", f"population.size={agents}")
    overrides = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "actors.cli", "run", str(CONFIG), "--quiet", "--out", str(out), *overrides]
    with (
        out.with_suffix(".err").open("wb") as errors,
        subprocess.Popen(command, stderr=errors, stdout=errors) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def address_of(run: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the run's metrics."""
    while not (run / ADDRESS).exists():
        if process.poll() is not None:
            sys.exit(run.with_suffix(".err").read_text(encoding="utf-8") or "soak: the run has not begun")
        sleep(0.1)
    return msgspec.json.decode((run / ADDRESS).read_bytes(), type=Address).url


def observe(process: subprocess.Popen[bytes], url: str, seconds: float) -> Iterator[Observation]:
    """Yield an observation of the run once a second, until the time is over or the run has ended."""
    begun = monotonic()
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        for number in range(1, int(seconds / SAMPLE_S) + 1):
            sleep(max(0.0, begun + number * SAMPLE_S - monotonic()))
            try:
                page = client.get("/metrics").text
                yield _observation(process.pid, Scrape.parse(page, monotonic() - begun))
            except (OSError, httpx.HTTPError) as error:
                if process.poll() is None:
                    raise
                print(f"soak: the run has ended: {error}", file=sys.stderr)
                return


def _observation(pid: int, scrape: Scrape) -> Observation:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    return Observation(
        at_s=round(scrape.moment_s, 3),
        rss_bytes=1024 * int(status["VmRSS"].split()[0]),
        descriptors=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(status["Threads"]),
        tasks=scrape.value("prism_event_loop_tasks"),
        ticks=int(scrape.value("prism_ticks_total")),
        tick_seconds_total=scrape.value("prism_tick_duration_seconds_sum"),
        calls=int(scrape.value("prism_llm_request_duration_seconds_count")),
        retries=int(scrape.value("prism_oracle_retries_total")),
        fallbacks=int(scrape.value("prism_fallbacks_total")),
        in_flight=int(scrape.value("prism_llm_requests_in_flight")),
        lag_s=scrape.value("prism_event_loop_lag_seconds_max"),
        journal_bytes=int(scrape.value("prism_journal_bytes_total")),
    )


def soak(options: argparse.Namespace) -> tuple[list[Observation], Outcome]:
    """Return the observations of a run and its end, after it was stopped and verified."""
    out: Path = options.out
    seconds, alerts = 60 * options.minutes, None
    with ExitStack() as stack:
        host = stack.enter_context(model_server(options.faults)).url
        process = stack.enter_context(simulation(out / "run", host, options.agents))
        url = address_of(out / "run", process)
        observer: Prometheus | None = None
        if shutil.which("prometheus"):
            observer = stack.enter_context(prometheus(_made(out / "prometheus"), [url.removeprefix("http://")]))
        observations = list(_kept(observe(process, url, seconds), out / CSV))
        if observer is not None:
            alerts = observer.ever_fired(f"{int(seconds) + 60}s")
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=180)
    verified = subprocess.run([sys.executable, "-m", "actors.cli", "verify", str(out / "run")], check=False)
    return observations, Outcome(code, is_whole=verified.returncode == 0, alerts=alerts)


def _kept(observations: Iterator[Observation], path: Path) -> Iterator[Observation]:
    """Yield each observation after writing it down, so that an interrupted soak leaves its data."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(Observation.__struct_fields__)
        for each in observations:
            rows.writerow(msgspec.structs.astuple(each))
            file.flush()
            yield each


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def main() -> None:
    """Soak, report, and exit with the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0, help="how long to watch (%(default)g)")
    parser.add_argument("--agents", type=int, default=10_000, help="people in the run (%(default)d)")
    parser.add_argument("--faults", type=float, default=0.05, help="share of calls that fail (%(default)g)")
    parser.add_argument("--warm-up", type=float, default=0.25, help="share of the time left out (%(default)g)")
    parser.add_argument("--out", type=Path, default=Path("runs/soak-report"), help="a new directory (%(default)s)")
    options: Any = parser.parse_args()
    try:
        options.out.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{options.out} exists already")
    observations, outcome = soak(options)
    report = judge(observations, outcome, options)
    (options.out / "soak.md").write_text(report.text, encoding="utf-8")
    draw(observations, options.out / "soak.png", options)
    print(report.text)
    if outcome.code != EXIT_TERMINATED or not outcome.is_whole:
        sys.exit(EXIT_FAILED)
    if report.memory_rises:
        sys.exit(EXIT_RISING)


if __name__ == "__main__":
    main()
