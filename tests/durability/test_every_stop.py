"""Every way in which a run stops: resumed, it is the run that nothing stopped, and counts nothing twice."""

import json
import signal
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.runtime.simulation import Simulation
from actors.store.journal import JOURNAL
from actors.store.rounds import ROUNDS
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Oracle
from tests.actors.oracles import ScriptedOracle, SlowOracle, failing
from tests.actors.social_runs import SMALL, with_oracle
from tests.command import Prism, begin, end
from tests.durability.process_runs import whole_ticks
from tests.patience import HANG_S, wait_until
from tests.plain import plain_text
from tests.schedules import run_scheduled
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings

PEOPLE = plain_text("""
simulation: {ticks: 34, ticks_per_round: 12, seed: 5}
population: {size: 12, graph: {degree: 3}, posts_per_session: 0.5, ambiguity: 1.0, activity: {mean: 0.9, sigma: 0.1}}
feed: {size: 2}
run: {checkpoint_every_ticks: 8, sync: false}
""")
NATIONS = """
simulation: {domain: economy, rounds: 16, ticks_per_round: 1, seed: 5}
run: {checkpoint_every_ticks: 3, sync: false}
"""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MODEL = """
oracle: {{backend: ollama, max_concurrency: 4}}
llm: {{host: "{host}", num_ctx: 4096, systemone: "off", timeout_s: 120.0, prices: {{input: 100.0, output: 100.0}}}}
"""


def capped(prism: Prism, cap: str, whole: dict[str, Any], *more: str) -> int:
    """Stop a run at a third of what the whole run uses, resume it up to two thirds, and return the last exit code."""
    llm = whole["llm"] or {}
    used = {
        "calls": whole["oracle_calls"],
        "tokens": llm.get("prompt_tokens", 0) + llm.get("completion_tokens", 0),
        "usd": llm.get("cost_usd") or 0.0,
    }[cap]
    third = used / 3 if cap == "usd" else used // 3
    assert prism("run", "c.yaml", "--out", "run", "--quiet", "--set", f"oracle.max_{cap}={third}", *more).code == 4
    assert prism("resume", "run", "--quiet").code == 2, "at the same cap it would only stop again"
    raised = prism("resume", "run", "--quiet", "--accept-settings", "--set", f"oracle.max_{cap}={2 * third}")
    assert raised.code == 4, raised.err
    return prism("resume", "run", "--quiet", "--accept-settings", "--set", f"oracle.max_{cap}=null").code


def signalled(prism: Prism, kind: signal.Signals) -> int:
    """Send a signal to a run in another process, resume it, and return the exit code."""
    with begin("run", "c.yaml", "--out", "run", "-q", "--set", "run.tick_s=0.03", cwd=Path.cwd()) as process:
        wait_until(lambda: Path("run", JOURNAL).exists() and whole_ticks(Path("run"))[0] >= 3, process)
        process.send_signal(kind)
        end(process, 128 + kind)
    return prism("resume", "run", "--quiet").code


def left_alone(prism: Prism, server: ModelServer) -> int:
    """Let the server be away for good within the run, come back, resume the run, and return the exit code."""
    first = max(call.call or 0 for call in server.calls) + 12
    away = FaultPlan(at=dict.fromkeys(range(first, first + 1000), Fault.RESET))
    server.settings = ServerSettings(faults=away)
    ended = prism("run", "c.yaml", "--out", "run", "--quiet", "--set", "oracle.on_outage=stop")
    assert ended.code == 5, ended.err
    server.settings = ServerSettings()
    return prism("resume", "run", "--quiet").code


@pytest.mark.slow
@pytest.mark.timeout(10 * HANG_S)  # eight ways to stop, each with several runs
@pytest.mark.parametrize(("domain", "has_model"), [(PEOPLE, True), (NATIONS, False), (NATIONS, True), (PEOPLE, False)])
def test_a_run_resumed_after_any_stop_is_the_run_that_nothing_stopped(
    domain: str, has_model: bool, prism: Prism, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer()) if has_model else None
        model = "" if server is None else MODEL.format(host=server.url)
        (tmp_path / "c.yaml").write_text(domain + model)
        assert prism("run", "c.yaml", "--out", "whole", "--quiet").code == 0
        whole = json.loads(Path("whole", "summary.json").read_text())
        ways: dict[str, Callable[[], int]] = {
            "calls": lambda: capped(prism, "calls", whole),
            **{kind.name: partial(signalled, prism, kind) for kind in (STOPPING[:1] if has_model else STOPPING)},
        }
        if server is not None:
            ways["tokens"] = lambda: capped(prism, "tokens", whole)
            ways["usd"] = lambda: capped(prism, "usd", whole, "--set", "oracle.max_concurrency=1")
            ways["outage"] = lambda: left_alone(prism, server)
        for way, stop in ways.items():
            assert stop() == 0, way
            found = json.loads(Path("run", "summary.json").read_text())
            for name in ("digest", "fallbacks_by_reason", "decisions_by_source", "oracle_questions"):
                assert (way, found[name]) == (way, whole[name])
            assert Path("run", ROUNDS).read_bytes() == Path("whole", ROUNDS).read_bytes(), way
            Path("run").rename(f"stopped by {way}")


async def snapshots(schedule: int, concurrency: int, broken: Oracle[Any] | None = None) -> int:
    """Return how many questions were open at the checkpoints between all ticks of a run, whose counts were right."""
    config = with_oracle(SMALL, max_concurrency=concurrency)
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
    slow = SlowOracle(broken or domain.oracle(), schedule, 0.05)
    simulation, open_questions = Simulation(config, domain, slow), 0

    async def look() -> None:
        nonlocal open_questions
        state, _ = await simulation.checkpoint()
        undecided = len(state.engine.asked) - len(state.engine.decided)
        assert state.oracle.answered == state.counters.questions - undecided
        assert state.oracle.calls + state.oracle.fallbacks.get("breaker_open", 0) == state.oracle.answered
        if broken is not None:
            assert sum(state.oracle.fallbacks.values()) == state.oracle.answered
        open_questions += undecided

    await simulation.run(between=look)
    return open_questions


@pytest.mark.everyday(1)
@pytest.mark.parametrize("concurrency", [1, 64])
def test_calls_and_answers_of_open_questions_are_left_to_the_run_that_asks_them_again(concurrency: int) -> None:
    seen = [run_scheduled(seed, partial(snapshots, seed, concurrency)) for seed in range(3)]
    assert min(seen) > 10
    broken = ScriptedOracle(failing(ValueError("broken")))  # of which all answers are fallbacks
    assert run_scheduled(1, partial(snapshots, 1, 64, broken)) > 10


def test_a_resume_that_cannot_begin_because_its_model_is_not_there_changes_nothing(
    prism: Prism, tmp_path: Path
) -> None:
    begun = tmp_path / "run"
    (tmp_path / "c.yaml").write_text(PEOPLE)
    assert prism("run", "c.yaml", "-q", "--out", "run", "--ticks", "30").code == 0
    for name, before, after in (
        ("config.yaml", "backend: choice", "backend: ollama"),
        ("manifest.json", '"accepted": {}', '"accepted": {"oracle.backend": "ollama"}'),
    ):
        text = (begun / name).read_text()
        assert before in text
        (begun / name).write_text(text.replace(before, after))
    (begun / "run.lock").unlink()
    files = {path.name: path.read_bytes() for path in begun.iterdir()}
    changes = ("--ticks", "34", "--set", "llm.host=http://127.0.0.1:9", "--accept-settings")
    assert prism("resume", "run", *changes).code == 5
    assert {name: (begun / name).read_bytes() for name in files} == files
