"""A run of the shipped configuration against a model server that fails in many ways, observed as long as you like.

The run is configs/soak.yaml as it is: 10,000 people, a tick every three seconds. Only the
server's address and the port of the metrics are its own. The server is that of the tests: one call in twenty fails,
and now and then it is gone, silent, busy, limits the rate or is slow, for 5 to 60 seconds. `--help` of this command
lists the options; FAULTS and SPELLS in deploy/soak/__main__.py have the shares and times.

A young world takes more memory every round, until people remember as many posts as they can. So the soak begins with
a hundred rounds without a server, as fast as they go, and the run that is observed is a fork of them. With
`--resume-at` it is stopped by a SIGTERM at these minutes, and resumed.

Run and server are processes of their own. Every second the run's memory, descriptors and threads are read from /proc,
its tasks, ticks, phase and counts from its metrics. Prometheus observes it with the shipped rules if it is installed.
At the end the run gets a SIGTERM, its files are verified, and a report is written: soak.md, soak.csv, soak.json, and
soak.png if the extra `plots` is installed. Exit code 4: the memory rises in the second half after the warm-up, by more
than chance (`deploy.soak.trend`) and by more than a mebibyte an hour. Exit code 1: the run ended early, left damaged
files, or an alert fired that no failing server explains.

    python -m deploy.soak --minutes 20 [--set key=value] [--out runs/soak-report]
"""

from __future__ import annotations

import argparse
import csv
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import msgspec

from actors import read_config
from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from deploy.prometheus_process import Prometheus, free_port, prometheus
from deploy.scrape import Scrape
from deploy.soak.memory import memory_of
from deploy.soak.report import CSV, Observation, Outcome, draw, judge
from prism.config import Config
from tests.standin import Fault, FaultPlan, Latency, ModelServerProcess, ServerSettings, Spell, SpellKind

CONFIG = Path(__file__).parents[2] / "configs" / "soak.yaml"
SEED = 1
FAULTS = ("reset=0.012", "error=0.012", "busy=0.012", "not_json=0.012", "hang=0.002")
"""One call in twenty. A call that hangs costs `llm.timeout_s`, a minute, and the clock waits for it."""
SPELLS = ("outage=300:10-30", "silence=600:10-30", "busy=240:5-20", "limit=240:5-20", "slow=600:30-60")
"""In every five minutes one outage of 10 to 30 seconds, and so on."""
EXIT_FAILED, EXIT_RISING, EXIT_UNAVAILABLE, EXIT_TERMINATED = 1, 4, 5, 143
SAMPLE_S = 1.0
STOP_S = 300.0
"""The longest time for the end of the run: its last tick may wait for a call that hangs, and that takes two minutes."""

PRISM = (sys.executable, "-m", "actors.cli")


def model_server(faults: Sequence[str], spells: Sequence[str]) -> ModelServerProcess:
    """Return a server in a process of its own that fails as told."""
    shares = {Fault(name): float(share) for name, _, share in (each.partition("=") for each in faults)}
    settings = ServerSettings(
        slots=16,
        latency=Latency(mean_s=0.5, p99_s=2.5, seed=SEED),
        faults=FaultPlan(shares=shares, seed=SEED),
        spells=tuple(map(_spell, spells)),
    )
    return ModelServerProcess(settings)


def _spell(text: str) -> Spell:
    """Return the spell of NAME=EVERY:LEAST-MOST."""
    name, _, times = text.partition("=")
    every, _, lasts = times.partition(":")
    least, _, most = lasts.partition("-")
    return Spell(
        kind=SpellKind(name), every_s=float(every), least_s=float(least), most_s=float(most or least), seed=SEED
    )


def populate(out: Path, rounds: int, settings: Sequence[str]) -> None:
    """Make a run of so many rounds with the embedded oracle, without a pace, waits for the medium and metrics."""
    print(f"soak: {rounds} rounds for a world that is not young any more", flush=True)
    fast = ("oracle.backend=choice", "run.tick_s=0", "run.sync=false", "metrics.enabled=false")
    length = f"simulation.rounds={rounds}"
    command = [*PRISM, "run", str(CONFIG), "--quiet", "--out", str(out), *overrides((*settings, *fast, length))]
    subprocess.run(command, check=True)


def branch_off(out: Path, host: str, port: int, options: argparse.Namespace) -> None:
    """Write the run that is observed, in a process that ends before it begins: a fork takes memory of its own."""
    given = f"llm.host={host}", f"metrics.port={port}"
    before, shipped = _before(options), read_config(CONFIG, options.settings)
    back = (
        f"oracle.backend={shipped.oracle.backend}",
        f"run.tick_s={shipped.run.tick_s}",
        f"run.sync={shipped.run.sync}".lower(),
        f"metrics.enabled={shipped.metrics.enabled}".lower(),
        f"simulation.rounds={shipped.simulation.rounds}",
    )
    ticks = summary_of(before)["ticks"]
    command = [*PRISM, "fork", str(before), "--at", str(ticks), "--prepare", "--quiet", "--out", str(out)]
    subprocess.run([*command, *overrides((*back, *given))], check=True)


@contextmanager
def simulation(out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Return a context with a process that goes on with the run."""
    with (
        out.with_suffix(".err").open("ab") as errors,
        # Ctrl-C is for this process, which then stops the run.
        subprocess.Popen(
            [*PRISM, "resume", "--quiet", str(out)], stderr=errors, stdout=errors, start_new_session=True
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def overrides(settings: Iterable[str]) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


def changed(run: Path) -> list[str]:
    """Return the settings in which the run's configuration differs from the shipped one."""
    ran, shipped = flat(read_config(run / "config.yaml", environment={})), flat(read_config(CONFIG, environment={}))
    return [f"{key}={value}" for key, value in ran.items() if shipped[key] != value]


def flat(config: Config) -> dict[str, object]:
    """Return `{section.key: value}`, as deep as settings are nested."""
    found: dict[str, object] = {}

    def add(prefix: str, values: dict[str, Any]) -> None:
        for key, value in values.items():
            if isinstance(value, dict):
                add(f"{prefix}{key}.", value)
            else:
                found[f"{prefix}{key}"] = value

    add("", msgspec.to_builtins(config))
    return found


def address_of(run: Path, process: subprocess.Popen[bytes]) -> str:
    while not (run / ADDRESS).exists():
        if process.poll() is not None:
            sys.exit(run.with_suffix(".err").read_text(encoding="utf-8") or "soak: the run has not begun")
        sleep(0.1)
    return msgspec.json.decode((run / ADDRESS).read_bytes(), type=Address).url


def wait_until_under_way(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until the run goes on with its ticks, and does not wait for its server; or until it has ended."""
    while process.poll() is None:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{url}/readyz", timeout=30, trust_env=False).text.startswith("running"):
                return
        sleep(0.1)


def observe(
    process: subprocess.Popen[bytes], number: int, url: str, begun: float, end_s: float
) -> Iterator[Observation]:
    """Yield an observation of the run once a second, until the time is over or the run has ended.

    Args:
        begun: the start of the soak; end_s: the seconds from then on.
    """
    started = monotonic()
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        for second in range(1, round((begun + end_s - started) / SAMPLE_S) + 1):
            sleep(max(0.0, started + second * SAMPLE_S - monotonic()))
            try:
                page = client.get("/metrics").text
                yield _observation(process.pid, number, Scrape.parse(page, monotonic() - begun))
            except (OSError, httpx.HTTPError) as error:
                if not _has_ended(process):
                    raise
                print(f"soak: the run has ended: {error}", file=sys.stderr)
                return


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the run has ended, or does so soon: its metrics go first."""
    try:
        process.wait(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _observation(pid: int, number: int, scrape: Scrape) -> Observation:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    phases = scrape.by("prism_run_phase", "phase")
    return Observation(
        at_s=round(scrape.moment_s, 3),
        process=number,
        phase=max(phases, key=lambda phase: phases[phase], default=""),
        **msgspec.structs.asdict(memory_of(pid)),
        descriptors=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(status["Threads"]),
        tasks=scrape.value("prism_event_loop_tasks"),
        ticks=int(scrape.value("prism_ticks_total")),
        tick_seconds_total=scrape.value("prism_tick_duration_seconds_sum"),
        calls=int(scrape.value("prism_llm_request_duration_seconds_count")),
        retries=int(scrape.value("prism_oracle_retries_total")),
        fallbacks=int(scrape.value("prism_fallbacks_total")),
        in_flight=int(scrape.value("prism_llm_requests_in_flight")),
        limit=int(scrape.value("prism_llm_concurrency_limit")),
        waiting=int(scrape.value("prism_oracle_queue_depth")),
        lag_s=scrape.value("prism_event_loop_lag_seconds_max"),
        journal_bytes=int(scrape.value("prism_journal_bytes_total")),
    )


def soak(options: argparse.Namespace) -> tuple[list[Observation], Outcome]:
    """Return the observations of a run and its end, after it was stopped and verified."""
    run: Path = options.out / "run"
    alerts, code, port, observations = None, EXIT_TERMINATED, free_port(), list[Observation]()
    if options.before is None:
        populate(_before(options), options.rounds_before, options.settings)
    with ExitStack() as stack:
        server = stack.enter_context(model_server(options.fault or FAULTS, options.spell or SPELLS))
        branch_off(run, server.url, port, options)
        observer: Prometheus | None = None
        if shutil.which("prometheus"):
            observer = stack.enter_context(prometheus(_made(options.out / "prometheus"), [f"127.0.0.1:{port}"]))
        file = stack.enter_context((options.out / CSV).open("w", encoding="utf-8", newline=""))
        rows = csv.writer(file)
        rows.writerow(Observation.__struct_fields__)
        # 1. Each process of the run is observed until its time is over, and stopped by a SIGTERM.
        begun, number, absent = None, 0, 0
        ends_s = [60 * minute for minute in (*sorted(options.resume_at), options.minutes)]
        while ends_s and code == EXIT_TERMINATED:
            end_s = ends_s.pop(0)
            with simulation(run) as process:
                url = address_of(run, process)
                wait_until_under_way(process, url)
                begun = monotonic() if begun is None else begun
                number += 1
                try:
                    for each in observe(process, number, url, begun, end_s):
                        observations.append(each)
                        rows.writerow(msgspec.structs.astuple(each))
                        file.flush()  # an interrupted soak leaves its data
                        if int(each.at_s) % 60 == 0:
                            print(f"{each.at_s / 60:4.0f} min  {each.ticks:,} ticks, {each.phase}", flush=True)
                except KeyboardInterrupt:
                    print("soak: stopped; the report is about what was observed", file=sys.stderr)
                    ends_s = []
                # In an outage the tick under way could not end, and there would be no summary.
                wait_until_under_way(process, url)
                process.send_signal(signal.SIGTERM)
                code = process.wait(timeout=STOP_S)
            if code == EXIT_UNAVAILABLE and monotonic() < begun + end_s:  # an outage came as it began: once more
                ends_s, code, absent = [end_s, *ends_s], EXIT_TERMINATED, absent + 1
        # 2. Prometheus remembers the alerts of all the time.
        if observer is not None and begun is not None:
            alerts = observer.ever_fired(f"{int(monotonic() - begun) + 60}s")
        counts = server.end()
    verified = subprocess.run([*PRISM, "verify", "--quick", str(run)], check=False)
    return observations, Outcome(
        changed(run),
        code,
        absent,
        is_whole=verified.returncode == 0,
        alerts=alerts,
        counts=counts,
        before=summary_of(_before(options)),
        summary=summary_of(run),
    )


def _before(options: argparse.Namespace) -> Path:
    before: Path = options.before or options.out / "before"
    return before


def summary_of(run: Path) -> dict[str, Any]:
    path = run / "summary.json"
    return dict(msgspec.json.decode(path.read_bytes())) if path.exists() else {}


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20.0, help="how long to watch (%(default)g)")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="over the configuration",
    )
    parser.add_argument("--fault", action="append", metavar="NAME=SHARE", help=f"instead of {' '.join(FAULTS)}")
    parser.add_argument("--spell", action="append", metavar="NAME=TIMES", help=f"instead of {' '.join(SPELLS)}")
    parser.add_argument("--rounds-before", type=int, default=100, help="rounds of the world before (%(default)d)")
    parser.add_argument("--before", type=Path, metavar="RUN", help="fork this run, which another soak has made before")
    parser.add_argument(
        "--resume-at",
        type=float,
        action="append",
        default=[],
        metavar="MINUTE",
        help="stop and resume it; may be repeated",
    )
    parser.add_argument("--warm-up", type=float, default=0.25, help="share of the time left out (%(default)g)")
    parser.add_argument("--out", type=Path, default=Path("runs/soak-report"), help="a new directory (%(default)s)")
    options = parser.parse_args()
    try:
        options.out.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{options.out} exists already")
    return options


def main() -> None:
    options: Any = _options()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs begin with SIGINT ignored
    observations, outcome = soak(options)
    report = judge(observations, outcome, options)
    (options.out / "soak.md").write_text(report.text, encoding="utf-8")
    (options.out / "soak.json").write_bytes(msgspec.json.format(msgspec.json.encode(report.facts), indent=2))
    draw(observations, options.out / "soak.png", options.warm_up)
    print(report.text)
    if outcome.code != EXIT_TERMINATED or not outcome.is_whole or report.facts.unexpected_alerts:
        sys.exit(EXIT_FAILED)
    if report.memory_rises:
        sys.exit(EXIT_RISING)


if __name__ == "__main__":
    main()
