"""Servers that fail now and then, or are away for a while or for good: what a run makes of it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command import Prism
from tests.llm.support import GIVES_UP_S
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings
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
