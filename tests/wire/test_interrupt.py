"""Real signals to real runs whose server is away: they end in seconds, with whole ticks, and go on from there."""

import signal
from pathlib import Path
from time import monotonic, sleep

import pytest

from actors.store.oracle_log import ANSWERS
from tests.command import Prism, begin, end
from tests.durability.process_runs import whole_ticks
from tests.patience import HANG_S, wait_until
from tests.standin import Fault, FaultPlan, ModelServer, ModelServerProcess, ServerSettings
from tests.wire.support import CHAT, Sections, configure, over

SOON_S = 20.0
"""Far less than the patience of a run, a probe's deadline or a call's time, and more than a busy machine takes."""
PATIENT: Sections = {
    "oracle": {"deadline_s": 600.0, "outage_patience_s": 3600.0},
    "population": {"deliberation_minutes": 0.0},
    "llm": {**CHAT, "timeout_s": HANG_S},
    "run": {"tick_s": 0.05, "checkpoint_every_ticks": 5},
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "hangs_s"), [(signal.SIGINT, None), (signal.SIGTERM, None), (signal.SIGINT, 12.0)])
def test_a_signal_while_a_server_is_killed_or_hangs_ends_the_run_at_a_whole_tick_and_it_goes_on_from_there(
    kind: signal.Signals, hangs_s: float | None, prism: Prism, tmp_path: Path
) -> None:
    answered, log = Path("run", ANSWERS), Path("run/log.jsonl")
    with ModelServerProcess() if hangs_s is None else ModelServer() as server:
        undisturbed = prism("run", configure(server.url, **{**PATIENT, "run": {}}), "-q", "--out", "undisturbed").out
        if isinstance(server, ModelServer):
            hangs = dict.fromkeys(range(len(server.calls) + 60, 100_000), Fault.HANG)
            server.settings = ServerSettings(faults=FaultPlan(at=hangs))
        name = configure(server.url, **over(PATIENT, {"llm": {"timeout_s": hangs_s or HANG_S}}))
        process = begin("run", name, "--out", "run", "--quiet", cwd=tmp_path)
        try:
            wait_until(lambda: answered.exists() and answered.stat().st_size >= 3000, process)
            if hangs_s is None:
                server.stop()
            if hangs_s is None or hangs_s < 10.0:
                wait_until(lambda: log.exists() and "oracle_away" in log.read_text(), process)
            size = -1
            while answered.stat().st_size != size:  # until no answer has come for a second
                size = answered.stat().st_size
                sleep(1.0)
            begun = monotonic()
            process.send_signal(kind)
            line = end(process, 128 + kind).err.splitlines()[-1]
            assert monotonic() - begun < SOON_S
        finally:
            process.kill()
        ticks, damage = whole_ticks(Path("run"))
        assert damage is None
        assert f"prism: stopped by {kind.name} after {ticks:,} whole ticks, while the oracle was away (" in line
        if isinstance(server, ModelServer):
            server.settings = ServerSettings()
        else:
            server.start()
        assert prism("resume", "run", "--quiet") == (0, undisturbed, "")
