"""Experiments whose cells ask a gateway: one limit, one budget, one tape, also after kills and on another model."""

import json
import os
import signal
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import make_plan
from actors.studies.experiments.shared_oracle import asking_of, limits_of, use_of_model
from prism.errors import ConfigError
from tests.command import Ended, Prism, begin, end
from tests.patience import wait_until
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings
from tests.standin.planted import planted
from tests.wire.gateways import gateway, journals, of_one_seed, planned, records, run_cell, run_cells
from tests.wire.support import CHAT, CHECKS, settings, write

CHECKED = 1
"""The calls of all checks through a gateway: equal ones are asked once, and are no part of a budget."""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["openai", pytest.param("ollama", marks=pytest.mark.slow)])
def test_a_cell_has_the_journal_that_it_has_without_a_gateway(tmp_path: Path, backend: str) -> None:
    with ModelServer(ServerSettings(key="a secret key") if backend == "openai" else None) as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PRISM_LLM_API_KEY", "a secret key")
            plan = planned(tmp_path, server.url, backend=backend)
            assert not any(done.problem for done in run_cells(plan, tmp_path / "direct", None))
            calls = server.statistics().calls
            with gateway(plan, tmp_path / "tape") as place:
                patch.delenv("PRISM_LLM_API_KEY")  # the gateway has it
                assert [done.problem for done in run_cells(plan, tmp_path / "through", place)] == [""] * 2
                counted = place.statistics()
        assert journals(plan, tmp_path / "through") == journals(plan, tmp_path / "direct")
        assert counted is not None
        assert counted.totals.calls + CHECKED == server.statistics().calls - calls == calls - 2 * CHECKS + CHECKED
        ids = [exchange.request_id for exchange in server.requests]
        assert sum(name.count("-") == 5 for name in ids) == 2 * (calls - 2 * CHECKS)
    for path in (tmp_path / "through").rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()
        assert path.is_dir() or place.place.address.encode() not in path.read_bytes()
    assert b"secret" not in (tmp_path / "tape").read_bytes()


@pytest.mark.slow
def test_a_tape_repeats_an_experiment_without_a_server_in_any_order(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(live=True, faults=FaultPlan(at={5: Fault.NOT_JSON, 9: Fault.CUT}))) as server:
        plan = planned(tmp_path, server.url, "{ask_once: true}")
        with gateway(plan, tmp_path / "tape") as place, ThreadPoolExecutor(2) as threads:
            done = list(threads.map(lambda cell: run_cell(cell, tmp_path / "first", place), of_one_seed(plan)))
        assert [each.problem for each in done] == [""] * 2
    with gateway(plan, tmp_path / "tape", is_replay=True) as place:
        for cell in reversed(of_one_seed(plan)):
            assert run_cell(cell, tmp_path / "again", place).problem == ""
    assert journals(plan, tmp_path / "again") == journals(plan, tmp_path / "first")


def test_equal_questions_of_cells_are_asked_once(tmp_path: Path) -> None:
    with ModelServer() as server:
        plan = planned(tmp_path, server.url, "{ask_once: true}", temperature=0.0)
        with gateway(plan, tmp_path / "tape") as place:
            assert [done.problem for done in run_cells(plan, tmp_path, place)] == [""] * 2
            use = use_of_model(plan, tmp_path, place.statistics())
        questions = [exchange for exchange in server.calls if exchange.request_id]
    bodies = {repr(exchange.body) for exchange in questions}
    assert len(bodies) == len(questions) > 0
    assert use is not None
    assert use.from_tape > 0
    assert (use.calls, use.failed) == (len(questions), 0)
    assert use.usd == pytest.approx((use.prompt_tokens * 100 + use.completion_tokens * 1000) / 1e6)
    assert [each.fallbacks for each in use.conditions] == [0, 0]


def test_limits_are_those_of_the_file_or_of_a_condition_and_only_asking_once_is_part_of_a_cells_address(
    tmp_path: Path,
) -> None:
    host, limits = "http://127.0.0.1:9", ("{}", "{max_usd: 3, max_concurrency: 2}", "{ask_once: true}")
    alone, limited, shared = ({cell.key for cell in planned(tmp_path, host, each).cells} for each in limits)
    assert (alone == limited, alone & shared) == (True, set())
    found = limits_of(asking_of(planned(tmp_path, host, "{max_calls: 7}")))
    assert (found.max_concurrency, found.max_calls, found.max_usd, found.ask_once) == (8, 7, None, False)
    plan = planned(tmp_path, host, "{max_usd: 3}")
    base = yaml.safe_load((tmp_path / "base.yaml").read_text())
    base["llm"].pop("prices")
    write(base, str(tmp_path / "base.yaml"))
    with pytest.raises(ConfigError, match=r"oracle.max_usd: expected llm.prices.input and llm.prices.output"):
        limits_of(asking_of(make_plan(plan.path)))


@pytest.mark.slow
def test_a_spent_budget_stops_cells_without_fallbacks_and_a_larger_one_lets_them_go_on(tmp_path: Path) -> None:
    with ModelServer() as server:
        whole = planned(tmp_path, server.url)
        run_cells(whole, tmp_path / "whole", None)
        before = server.statistics().calls
        few = planned(tmp_path, server.url, "{max_calls: 20}")
        with gateway(few, tmp_path / "tape") as place:
            stopped = run_cells(few, tmp_path / "out", place)
        assert {done.problem.partition("; ")[0] for done in stopped if done.problem} == {
            "the budget of the experiment is spent: 20 of oracle.max_calls 20"
        }
        assert server.statistics().calls - before == CHECKED + 20
        with gateway(whole, tmp_path / "tape") as place:
            assert [done.problem for done in run_cells(whole, tmp_path / "out", place)] == [""] * 2
            counted = place.statistics()
        assert counted is not None
        assert counted.totals.calls == before - 2 * CHECKS, "nothing is asked twice"
        assert server.statistics().calls - before == before - 2 * CHECKS + CHECKED
    assert journals(whole, tmp_path / "out") == journals(whole, tmp_path / "whole")


def test_a_wait_for_a_place_is_no_part_of_a_deadline(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.03))) as server:
        plan = planned(tmp_path, server.url, "{max_concurrency: 1}")
        cell = plan.cells[0]
        hasty = msgspec.structs.replace(cell.config, oracle=msgspec.structs.replace(cell.config.oracle, deadline_s=0.3))
        cell = msgspec.structs.replace(cell, config=hasty)
        with gateway(plan, tmp_path / "tape") as place:
            assert run_cell(cell, tmp_path, place).problem == ""
        assert server.statistics().peak_in_flight == 1
    found: dict[str, Any] = json.loads((cell_path(tmp_path, cell) / "summary.json").read_text())
    assert found["fallbacks_by_reason"] == {}
    assert found["latency_s_p95"] > 0.09, "questions did wait for each other"


def test_a_server_that_is_down_or_refuses_the_key_is_named_by_its_own_address_and_the_key_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def problem_of(url: str, backend: str) -> str:
        plan = planned(tmp_path, url, backend=backend)
        with gateway(plan, tmp_path / f"tape-{backend}") as place:
            return run_cell(plan.cells[0], tmp_path, place).problem

    with ModelServer() as gone:
        pass
    assert problem_of(gone.url, "ollama").startswith(f"no Ollama server answers at {gone.url}; start it")
    monkeypatch.setenv("PRISM_LLM_API_KEY", "another secret key")
    with ModelServer(ServerSettings(key="a secret key")) as server:
        told = problem_of(server.url, "openai")
    assert told == f"{server.url} refuses the key in $PRISM_LLM_API_KEY; set another one"
    assert b"another secret" not in (tmp_path / "tape-openai").read_bytes()


PLACES = 4
CALLS = ServerSettings(slots=64, latency=Latency(mean_s=0.03))


def begun(directory: Path, out: str, *more: str) -> subprocess.Popen[str]:
    return begin("experiment", "e.yaml", "--out", out, "--quiet", *more, cwd=directory, stdout=subprocess.DEVNULL)


def all_journals(out: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in out.glob("cells/*/journal.prism")}


def holder(file: Path, *, but: int) -> int | None:
    """Return the process that has a file open, other than one of them."""
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if entry.readlink() == file and int(entry.parts[2]) != but:
                return int(entry.parts[2])
        except OSError:
            continue
    return None


def killed(file: Path, driver: int) -> bool:
    """Kill the process that has a file open; return whether there was one."""
    found = holder(file.resolve(), but=driver)
    if found is not None:
        os.kill(found, signal.SIGKILL)
    return found is not None


def asked(server: ModelServer) -> Counter[str]:
    """Return how often each question of a run was put to the server: each start of a cell asks a test question, too."""
    ids = ((each.request_id.split("-")[:3], each.body) for each in server.calls if each.request_id)
    return Counter(repr((whose, body)) for whose, body in ids if whose[0] != "test")


def grows(tape: Path, driver: subprocess.Popen[str]) -> bool:
    """Wait until a tape has grown by some answers; return whether it has before the command ended."""
    first = len(records(tape)) if tape.exists() else 0

    def has_grown() -> bool:
        return tape.exists() and len(records(tape)) > first + 12

    wait_until(lambda: has_grown() or driver.poll() is not None)
    return driver.poll() is None


@pytest.mark.slow
def test_whatever_is_killed_nothing_is_lost_and_little_is_paid_for_twice(tmp_path: Path) -> None:
    with ModelServer(CALLS) as server:
        planned(tmp_path, server.url, f"{{max_concurrency: {PLACES}}}")
        end(begun(tmp_path, "whole", "--jobs", "2"))
        whole = asked(server)
        out, struck = tmp_path / "killed", Counter[str]()
        tape = out / "tape.sqlite"
        for _ in range(2):
            driver = begun(tmp_path, "killed", "--jobs", "2")
            if grows(tape, driver):
                running = (killed(path, driver.pid) for path in sorted(out.glob("cells/*/journal.prism")))
                struck["cell"] += next((True for each in running if each), False)
            if grows(tape, driver):
                struck["driver"] += 1
                driver.kill()
            driver.communicate()
        end(begun(tmp_path, "killed", "--jobs", "2"))
        again = asked(server)
    assert min(struck[name] for name in ("cell", "driver")) >= 1, struck
    assert all_journals(out) == all_journals(tmp_path / "whole")
    assert (out / "results.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()
    paid_twice = sum((again - whole - whole).values())
    assert paid_twice <= PLACES * struck["driver"], (paid_twice, struck)


@pytest.mark.slow
def test_a_tape_repeats_an_experiment_by_another_number_of_jobs(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(live=True)) as server:
        planned(tmp_path, server.url, "{ask_once: true}", temperature=0.0)
        end(begun(tmp_path, "first", "--jobs", "2"))
    end(begun(tmp_path, "again", "--jobs", "3", "--tape", "first"))
    assert all_journals(tmp_path / "again") == all_journals(tmp_path / "first")
    assert (tmp_path / "again" / "results.csv").read_bytes() == (tmp_path / "first" / "results.csv").read_bytes()
    assert not (tmp_path / "again" / "tape.sqlite").exists()
    missing = end(begun(tmp_path, "no", "--jobs", "1", "--tape", "nowhere"), 5).err
    assert "nowhere: there is no such tape" in missing


@pytest.mark.slow
def test_a_second_command_is_refused_and_a_spent_budget_is_told(tmp_path: Path) -> None:
    with ModelServer(CALLS) as server:
        planned(tmp_path, server.url, f"{{max_concurrency: {PLACES}, max_calls: 40}}")
        first = begun(tmp_path, "out", "--jobs", "2")
        wait_until((tmp_path / "out" / "tape.sqlite").exists, first)
        second = end(begun(tmp_path, "out"), code=2).err
        told = end(first, code=2).err
        assert server.statistics().calls == 1 + 40, "the check of the server is no part of the budget"
        assert server.statistics().peak_in_flight <= PLACES
    assert "process" in second
    assert "the budget of the experiment is spent: 40 of oracle.max_calls 40" in told
    assert len(records(tmp_path / "out" / "tape.sqlite")) == 40


EXPERIMENT = {
    "question": "Does another seed of posts bring more likes?",
    "base": "base.yaml",
    "design": {"conditions": {"few": {"feed.size": 3}, "many": {"feed.size": 8}}},
    "seeds": 2,
    "measures": {"likes": "likes"},
}
GUESS = {"by": "A. Author", "predictions": [{"measure": "likes", "contrast": ["many", "few"], "mean": 5.0, "sd": 4.0}]}


SEALED = ("e.yaml", "guess.sealed.json")


def test_all_but_the_model_must_be_as_sealed(prism: Prism, tmp_path: Path) -> None:
    write(EXPERIMENT, "e.yaml")
    write(GUESS, "guess.yaml")
    with ModelServer(ServerSettings(models=("llama3.2", "other"))) as server:
        short = {"simulation": {"rounds": 1, "ticks_per_round": 12}, "population": {"size": 40}}
        base = settings(server.url, **short, llm=CHAT)
        write(base, "base.yaml")
        assert prism("experiment", "seal", "e.yaml", "guess.yaml").code == 0
        parts = json.loads(Path("guess.sealed.json").read_text())["parts"]
        assert {"model", "prompt", "parsing", "measure likes", "condition few"} <= parts.keys()
        same = prism("experiment", "score", *SEALED, "--model", "llama3.2")
        assert (same.code, "another model than the sealed one, got llama3.2" in same.err) == (3, True)
        # In a process of its own, as the gateway of an experiment expects.
        found = json.loads(end(begin("experiment", "score", *SEALED, "--model", "other", "--json", cwd=tmp_path)).out)
        assert found["notes"] == ["confirmed on other: prompt, parsing, measures, seeds and conditions are as sealed"]
        assert found["scores"][0]["observed"] is not None
        assert {each.body["model"] for each in server.calls} == {"other"}
        assert Path("experiments/e-other/outcome.json").exists()
    base["llm"]["prompt"] = "list"
    write(base, "base.yaml")
    ended = prism("experiment", "score", *SEALED, "--model", "other")
    assert (ended.code, "the prompt was changed after the sealing" in ended.err) == (3, True)


def test_a_plan_that_asks_no_model_has_none_to_exchange(prism: Prism) -> None:
    write({"simulation": {"rounds": 1}}, "base.yaml")
    write(EXPERIMENT, "e.yaml")
    write(GUESS, "guess.yaml")
    assert prism("experiment", "seal", "e.yaml", "guess.yaml").code == 0
    ended = prism("experiment", "score", *SEALED, "--model", "other")
    assert (ended.code, "the plan asks no model" in ended.err) == (3, True)


@pytest.mark.slow
def test_a_sealed_experiment_is_confirmed_on_a_model_of_another_server(prism: Prism, tmp_path: Path) -> None:
    def score(*more: str) -> Ended:
        return end(begin("experiment", "score", *SEALED, *more, cwd=tmp_path))

    first, second = (
        ServerSettings(models=(name,), reply=planted(reply))
        for name, reply in (("llama3.2", "sound"), ("org/newer:2b", "seldom"))
    )
    with ModelServer(first) as server, ModelServer(second) as other:
        base = settings(
            server.url,
            simulation={"rounds": 1, "ticks_per_round": 24},
            population={"size": 50, "ambiguity": 0.8, "posts_per_session": 0.5},
            llm={**CHAT, "method": "json", "temperature": 0.0},
        )
        for name, content in (("base.yaml", base), ("e.yaml", EXPERIMENT), ("guess.yaml", GUESS)):
            write(content, name)
        assert prism("experiment", "seal", "e.yaml", "guess.yaml").code == 0
        end(begin("experiment", "e.yaml", cwd=tmp_path))
        sealed = json.loads(score("--json").out)
        assert sealed["notes"] == []
        calls = len(server.calls)
        base["llm"]["host"] = other.url
        write(base, "base.yaml")
        moved = prism("experiment", "score", *SEALED)
        assert (moved.code, "the server was changed after the sealing" in moved.err) == (3, True), moved.err
        ended = score("--model", "org/newer:2b")
        # All its calls go to the other server, and a second start makes none.
        assert len(server.calls) == calls
        assert {each.body["model"] for each in other.calls} == {"org/newer:2b"}
        asked_first = len(other.calls)
        found = json.loads(score("--model", "org/newer:2b", "--json").out)
        assert len(other.calls) == asked_first
    confirmed = (
        "confirmed on org/newer:2b at another server: prompt, parsing, measures, seeds and conditions are as sealed"
    )
    assert found["notes"] == [confirmed]
    assert f"! {confirmed}" in " ".join(ended.out.split())
    assert found["scores"][0]["observed"] != sealed["scores"][0]["observed"]
    assert found["seal"] == sealed["seal"]
    place = Path("experiments/e-org-newer-2b")
    assert json.loads((place / "outcome.json").read_text())["predictions"]["notes"] == [confirmed]
    assert prism("report", str(place), "--out", "report.html").code == 0
    assert confirmed.removeprefix("c") in Path("report.html").read_text()
