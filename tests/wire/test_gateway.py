"""Experiments whose cells ask a gateway: one limit, one budget, one tape, also after kills and on another model."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.shared_oracle import use_of_model
from tests.command import Ended, Prism, begin, end
from tests.patience import wait_until
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings
from tests.standin.planted import planted
from tests.wire.gateways import gateway, planned, records, run_cell
from tests.wire.support import CHAT, CHECKS, settings, write

CHECKED = 1
"""The calls of all checks through a gateway: equal ones are asked once, and are no part of a budget."""


@pytest.mark.slow
def test_a_cell_has_the_journal_that_it_has_without_a_gateway(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(key="a secret key")) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRISM_LLM_API_KEY", "a secret key")
        plan = planned(tmp_path, server.url, backend="openai")
        cell = plan.cells[0]
        assert not run_cell(cell, tmp_path / "direct", None).problem
        calls = server.statistics().calls
        with gateway(plan, tmp_path / "tape") as place:
            patch.delenv("PRISM_LLM_API_KEY")  # the gateway has it
            assert not run_cell(cell, tmp_path / "through", place).problem
            counted = place.statistics()
        assert counted is not None
        assert counted.totals.calls + CHECKED == server.statistics().calls - calls == calls - CHECKS + CHECKED
        assert sum(each.request_id.count("-") == 5 for each in server.requests) == 2 * (calls - CHECKS)
    through, direct = (
        (cell_path(tmp_path / name, cell) / "journal.prism").read_bytes() for name in ("through", "direct")
    )
    assert through == direct
    for path in (tmp_path / "tape", *(tmp_path / "through").rglob("*.*")):
        assert path.is_dir() or not any(word in path.read_bytes() for word in (b"secret", place.place.address.encode()))


def test_equal_questions_of_cells_are_asked_once(tmp_path: Path) -> None:
    with ModelServer() as server:
        plan = planned(tmp_path, server.url, "{ask_once: true}", temperature=0.0)
        with gateway(plan, tmp_path / "tape") as place:
            assert [run_cell(cell, tmp_path, place).problem for cell in plan.cells[::2]] == [""] * 2
            use = use_of_model(plan, tmp_path, place.statistics())
        questions = [exchange for exchange in server.calls if exchange.request_id]
    assert len({repr(exchange.body) for exchange in questions}) == len(questions) > 0
    assert use is not None
    assert use.from_tape > 0
    assert (use.calls, use.failed) == (len(questions), 0)
    assert use.usd == pytest.approx((use.prompt_tokens * 100 + use.completion_tokens * 1000) / 1e6)


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
    def problem() -> str:
        with gateway(plan, tmp_path / "tape") as place:
            return run_cell(plan.cells[0], tmp_path, place).problem

    monkeypatch.setenv("PRISM_LLM_API_KEY", "another secret key")
    with ModelServer(ServerSettings(key="a secret key")) as server:
        plan = planned(tmp_path, server.url, backend="openai")
        assert problem() == f"{server.url} refuses the key in $PRISM_LLM_API_KEY; set another one"
    assert problem().startswith(f"no server answers at {server.url}; start it")
    assert b"another secret" not in (tmp_path / "tape").read_bytes()


PLACES = 4
CALLS = ServerSettings(slots=64, latency=Latency(mean_s=0.03))


def begun(directory: Path, out: str, *more: str) -> subprocess.Popen[str]:
    return begin("experiment", "e.yaml", "--out", out, "--quiet", *more, cwd=directory, stdout=subprocess.DEVNULL)


def results(out: Path) -> dict[str, bytes]:
    """Return the bytes of the table and of all journals of an experiment."""
    found = {path.parent.name: path.read_bytes() for path in out.glob("cells/*/journal.prism")}
    return {**found, "table": (out / "results.csv").read_bytes()}


def killed(file: Path, driver: int) -> bool:
    """Kill the process that has a file open, unless it is the driver; return whether there was one."""
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if entry.readlink() == file.resolve() and int(entry.parts[2]) != driver:
                os.kill(int(entry.parts[2]), signal.SIGKILL)
                return True
        except OSError:
            continue
    return False


def asked(server: ModelServer) -> Counter[str]:
    """Return how often each question of a run was put to the server: each start of a cell asks a test question, too."""
    ids = ((each.request_id.split("-")[:3], each.body) for each in server.calls if each.request_id)
    return Counter(repr((whose, body)) for whose, body in ids if whose[0] != "test")


def grows(tape: Path, driver: subprocess.Popen[str]) -> bool:
    """Wait until a tape has grown by some answers; return whether it has before the command ended."""
    first = len(records(tape)) if tape.exists() else 0
    wait_until(lambda: (tape.exists() and len(records(tape)) > first + 12) or driver.poll() is not None)
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
    assert results(out) == results(tmp_path / "whole")
    paid_twice = sum((again - whole - whole).values())
    assert paid_twice <= PLACES * struck["driver"], (paid_twice, struck)


@pytest.mark.slow
def test_a_tape_repeats_an_experiment_by_another_number_of_jobs_without_a_server(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(live=True, faults=FaultPlan(at={5: Fault.NOT_JSON, 9: Fault.CUT}))) as server:
        planned(tmp_path, server.url, "{ask_once: true}")
        end(begun(tmp_path, "first", "--jobs", "2"))
    end(begun(tmp_path, "again", "--jobs", "3", "--tape", "first"))
    assert results(tmp_path / "again") == results(tmp_path / "first")
    assert not (tmp_path / "again" / "tape.sqlite").exists()
    assert "nowhere: there is no such tape" in end(begun(tmp_path, "no", "--tape", "nowhere"), 5).err


@pytest.mark.slow
def test_a_second_command_is_refused_a_spent_budget_is_told_and_a_larger_one_lets_cells_go_on(tmp_path: Path) -> None:
    with ModelServer(CALLS) as server:
        planned(tmp_path, server.url, f"{{max_concurrency: {PLACES}, max_calls: 40}}")
        first = begun(tmp_path, "out", "--jobs", "2")
        wait_until((tmp_path / "out" / "tape.sqlite").exists, first)
        assert "process" in end(begun(tmp_path, "out"), code=2).err
        told = end(first, code=2).err
        assert server.statistics().calls == CHECKED + 40, "the check of the server is no part of the budget"
        assert server.statistics().peak_in_flight <= PLACES
        assert "the budget of the experiment is spent: 40 of oracle.max_calls 40" in told
        assert len(records(tmp_path / "out" / "tape.sqlite")) == 40
        planned(tmp_path, server.url)
        end(begun(tmp_path, "out", "--jobs", "2"))
        once = asked(server)
        end(begun(tmp_path, "whole", "--jobs", "2"))
        assert asked(server) == once + once, "nothing is asked twice"
    assert results(tmp_path / "out") == results(tmp_path / "whole")


EXPERIMENT = {
    "question": "Does another seed of posts bring more likes?",
    "base": "base.yaml",
    "design": {"conditions": {"few": {"feed.size": 3}, "many": {"feed.size": 8}}},
    "seeds": 2,
    "measures": {"likes": "likes"},
}
GUESS = {"by": "A. Author", "predictions": [{"measure": "likes", "contrast": ["many", "few"], "mean": 5.0, "sd": 4.0}]}


@pytest.mark.slow
def test_a_sealed_experiment_is_confirmed_on_a_model_of_another_server_if_all_else_is_as_sealed(
    prism: Prism, tmp_path: Path
) -> None:
    def score(*more: str, code: int = 0) -> Ended:
        # In a process of its own, as the gateway of an experiment expects.
        return end(begin("experiment", "score", "e.yaml", "guess.sealed.json", *more, cwd=tmp_path), code)

    newer = ("--model", "org/newer:2b")
    with (
        ModelServer(ServerSettings(reply=planted("sound"))) as server,
        ModelServer(ServerSettings(models=("org/newer:2b",), reply=planted("seldom"))) as other,
    ):
        short = {"rounds": 1, "ticks_per_round": 24}
        people = {"size": 50, "ambiguity": 0.8, "posts_per_session": 0.5}
        base = settings(server.url, simulation=short, population=people, llm={**CHAT, "temperature": 0.0})
        for name, content in (("base.yaml", base), ("e.yaml", EXPERIMENT), ("guess.yaml", GUESS)):
            write(content, name)
        assert prism("experiment", "seal", "e.yaml", "guess.yaml").code == 0
        end(begin("experiment", "e.yaml", cwd=tmp_path))
        sealed = json.loads(score("--json").out)
        assert sealed["notes"] == []
        assert "another model than the sealed one, got llama3.2" in score("--model", "llama3.2", code=3).err
        calls = len(server.calls)
        base["llm"]["host"] = other.url
        write(base, "base.yaml")
        assert "the server was changed after the sealing" in score(code=3).err
        ended = score(*newer)
        # All its calls go to the other server, and a second start makes none.
        assert len(server.calls) == calls
        assert {each.body["model"] for each in other.calls} == {"org/newer:2b"}
        asked_first = len(other.calls)
        found = json.loads(score(*newer, "--json").out)
        assert len(other.calls) == asked_first
    told = "onfirmed on org/newer:2b at another server: prompt, parsing, measures, seeds and conditions are as sealed"
    assert found["notes"] == [f"c{told}"]
    assert f"! c{told}" in " ".join(ended.out.split())
    assert found["scores"][0]["observed"] != sealed["scores"][0]["observed"]
    assert found["seal"] == sealed["seal"]
    assert prism("report", "experiments/e-org-newer-2b", "--out", "report.html").code == 0
    assert told in Path("report.html").read_text()
    base["llm"]["prompt"] = "list"
    write(base, "base.yaml")
    assert "the prompt was changed after the sealing" in score(*newer, code=3).err
