"""Real signals to real runs whose server is away: they end in seconds, with whole ticks, and go on from there."""

import json
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

from actors.store.oracle_log import ANSWERS
from tests.command import Prism, begin, end
from tests.durability.process_runs import whole_ticks
from tests.patience import HANG_S, wait_until
from tests.standin import Fault, FaultPlan, ModelServer, ModelServerProcess, ServerSettings
from tests.wire.support import CHAT, Sections, configure, over

pytestmark = pytest.mark.slow
SOON_S = 20.0
"""Far less than the patience of a run, a probe's deadline or a call's time, and more than a busy machine takes."""
ANSWERED, LOG = Path("run", ANSWERS), Path("run/log.jsonl")
PATIENT: Sections = {
    "oracle": {"deadline_s": 600.0, "outage_patience_s": 3600.0},
    "population": {"deliberation_minutes": 0.0},
    "llm": {**CHAT, "timeout_s": HANG_S},
    "run": {"tick_s": 0.05, "checkpoint_every_ticks": 5},
}


def has(file: Path, size: int, holds: bytes = b"") -> bool:
    """Return whether a file of the run has this size and this content."""
    return file.exists() and file.stat().st_size >= size and holds in file.read_bytes()


def stop(process: subprocess.Popen[str], kind: signal.Signals) -> str:
    """Send the signal; return the last line of the run, which has ended soon."""
    begun = monotonic()
    process.send_signal(kind)
    err = end(process, 128 + kind).err
    assert monotonic() - begun < SOON_S
    return err.splitlines()[-1]


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_killed_server_is_away_ends_the_run_at_a_whole_tick_and_it_goes_on_from_there(
    kind: signal.Signals, prism: Prism, tmp_path: Path
) -> None:
    with ModelServerProcess() as server:
        undisturbed = prism("run", configure(server.url, **{**PATIENT, "run": {}}), "-q", "--out", "undisturbed").out
        process = begin("run", configure(server.url, **PATIENT), "--out", "run", "--quiet", cwd=tmp_path)
        try:
            wait_until(lambda: has(ANSWERED, 4000), process)
            server.stop()
            wait_until(lambda: has(LOG, 0, b"oracle_away"), process)
            line = stop(process, kind)
        finally:
            process.kill()
        ticks, damage = whole_ticks(Path("run"))
        assert (damage, ticks >= 5) == (None, True)
        assert line.startswith(
            f"prism: stopped by {kind.name} after {ticks:,} whole ticks, while the oracle was away ("
        )
        assert list(Path("run").glob("checkpoint-*.bin"))
        stopped = json.loads(Path("run/manifest.json").read_text())["stopped"]
        assert (stopped["tick"], stopped["reason"]) == (ticks, kind.name)
        (row,) = prism("runs", "run").out.splitlines()[1:]
        assert row.split()[2:4] == ["stopped", "yes"]
        assert f"by {kind.name} (connection_error)" in row
        server.start()
        assert prism("resume", "run", "--quiet") == (0, undisturbed, "")


@pytest.mark.usefixtures("prism")
@pytest.mark.parametrize("timeout_s", [2.0, 12.0])
def test_a_signal_while_a_server_hangs_ends_the_run_soon_and_does_not_wait_for_a_probe(
    timeout_s: float, tmp_path: Path
) -> None:
    hangs = ServerSettings(faults=FaultPlan(at=dict.fromkeys(range(60, 100_000), Fault.HANG)))
    with ModelServer(hangs) as server:
        name = configure(server.url, **over(PATIENT, {"llm": {"timeout_s": timeout_s}}))
        process = begin("run", name, "--out", "run", "--quiet", cwd=tmp_path)
        try:
            wait_until(lambda: has(ANSWERED, 3000) and (timeout_s > 10.0 or has(LOG, 0, b"oracle_away")), process)
            size = -1
            while ANSWERED.stat().st_size != size:  # until no answer has come for a second
                size = ANSWERED.stat().st_size
                sleep(1.0)
            line = stop(process, signal.SIGINT)
        finally:
            process.kill()
    ticks, damage = whole_ticks(Path("run"))
    assert (damage, f"after {ticks:,} whole ticks, while the oracle was away (" in line) == (None, True)
