"""Servers that fail, are away or hang: what a run makes of it, also of a real signal meanwhile."""

import signal
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep

import pytest

from actors.store.oracle_log import ANSWERS
from tests.command import Prism, begin, end
from tests.durability.process_runs import whole_ticks
from tests.llm.support import GIVES_UP_S
from tests.patience import HANG_S, wait_until
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ModelServerProcess, ServerSettings
from tests.wire.support import CHAT, Sections, config, configure, over, run, summary

SOME = dict.fromkeys(Fault, 0.1 / len(Fault))
MANY = dict.fromkeys((Fault.HANG, Fault.ERROR, Fault.RESET, Fault.WRONG_STATE, Fault.EMPTY), 0.05)
GIVING_UP = {"deadline_s": 2.0, "on_outage": "fallback", "max_attempts": 1}


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "shares", "oracle"), [("openai", SOME, {}), ("ollama", MANY, GIVING_UP)])
async def test_all_faults_together_cost_few_choices_and_a_replay_has_the_same_fallbacks(
    backend: str, shares: Mapping[Fault, float], oracle: Sections, tmp_path: Path
) -> None:
    asked: Sections = {"oracle": {"backend": backend, "tape": "record", **oracle}}
    asked["llm"] = CHAT if oracle else {**CHAT, "timeout_s": GIVES_UP_S}
    with ModelServer() as server:
        spoilt = ServerSettings(latency=Latency(mean_s=0.03, p99_s=0.15), faults=FaultPlan(shares=shares))
        chosen = config(server.url, **asked)
        recorded = await run(chosen, tmp_path, ready=lambda _: setattr(server, "settings", spoilt))
    tape = {"oracle": {"tape": "replay", "tape_path": str(tmp_path / "tape.sqlite")}}
    replayed = await run(config(server.url, **over(asked, tape)), tmp_path)
    happened = recorded.fallbacks_by_reason
    if oracle:
        assert {"deadline", "server_error", "connection_error", "invalid_response"} <= happened.keys()
    else:
        assert recorded.fallback_share <= 0.01
        assert recorded.oracle_calls > recorded.oracle_questions
    assert (replayed.fallbacks_by_reason, replayed.digest) == (happened, recorded.digest)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.RESET])
def test_a_server_that_stays_away_stops_the_run_and_a_resumed_one_ends_as_if_undisturbed(
    fault: Fault, prism: Prism
) -> None:
    with ModelServer() as server:
        name = configure(server.url, oracle={"outage_patience_s": 2.0, "tape": "record"}, llm=CHAT)
        undisturbed = prism("run", name, "--quiet", "--out", "undisturbed")
        away = dict.fromkeys(range(len(server.calls) + 60, 10_000), fault)
        server.settings = ServerSettings(faults=FaultPlan(at=away))
        ended = prism("run", name, "--quiet", "--out", "run")
        assert (ended.code, ended.out) == (5, "")
        assert "the oracle has not answered for" in ended.err
        server.settings = ServerSettings()
        assert prism("resume", "run", "--quiet") == undisturbed
    assert summary()["fallbacks_by_reason"] == {}


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
