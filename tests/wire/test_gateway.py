"""Cells that ask a gateway over sockets: one limit, one budget, one tape, and the results that they have without it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import Cell, make_plan
from actors.studies.experiments.shared_oracle import asking_of, limits_of, use_of_model
from prism.errors import ConfigError
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings
from tests.wire.gateways import gateway, journals, of_one_seed, planned, run_cell, run_cells

CHECKS = 2
"""The calls that the check of a server makes."""
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


def test_asking_once_is_part_of_a_cells_address_and_the_gateway_is_not(tmp_path: Path) -> None:
    host = "http://127.0.0.1:9"
    alone, limited = planned(tmp_path, host), planned(tmp_path, host, "{max_usd: 3, max_concurrency: 2}")
    shared = planned(tmp_path, host, "{ask_once: true}")
    keys = [[cell.key for cell in plan.cells] for plan in (alone, limited, shared)]
    assert keys[0] == keys[1]
    assert not set(keys[0]) & set(keys[2])


def test_limits_are_those_of_the_file_or_the_largest_of_a_condition(tmp_path: Path) -> None:
    found = limits_of(asking_of(planned(tmp_path, "http://127.0.0.1:9", "{max_calls: 7}")))
    assert (found.max_concurrency, found.max_calls, found.max_usd, found.ask_once) == (8, 7, None, False)


def test_a_budget_in_dollars_needs_prices(tmp_path: Path) -> None:
    plan = planned(tmp_path, "http://127.0.0.1:9", "{max_usd: 3}")
    base = yaml.safe_load((tmp_path / "base.yaml").read_text())
    base["llm"].pop("prices")
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
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


def summary(cell: Cell, out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((cell_path(out, cell) / "summary.json").read_text())
    return found


def test_a_wait_for_a_place_is_no_part_of_a_deadline(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.03))) as server:
        plan = planned(tmp_path, server.url, "{max_concurrency: 1}")
        cell = plan.cells[0]
        hasty = msgspec.structs.replace(cell.config, oracle=msgspec.structs.replace(cell.config.oracle, deadline_s=0.3))
        cell = msgspec.structs.replace(cell, config=hasty)
        with gateway(plan, tmp_path / "tape") as place:
            assert run_cell(cell, tmp_path, place).problem == ""
        assert server.statistics().peak_in_flight == 1
    found = summary(cell, tmp_path)
    assert found["fallbacks_by_reason"] == {}
    assert found["latency_s_p95"] > 0.09, "questions did wait for each other"


def test_a_server_that_is_down_is_named_by_its_own_address(tmp_path: Path) -> None:
    with ModelServer() as server:
        url = server.url
    plan = planned(tmp_path, url)
    with gateway(plan, tmp_path / "tape") as place:
        problem = run_cell(plan.cells[0], tmp_path, place).problem
    assert problem.startswith(f"no Ollama server answers at {url}; start it")


def test_a_key_that_the_server_repeats_is_on_no_tape_and_in_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRISM_LLM_API_KEY", "another secret key")
    with ModelServer(ServerSettings(key="a secret key")) as server:
        plan = planned(tmp_path, server.url, backend="openai")
        with gateway(plan, tmp_path / "tape") as place:
            problem = run_cell(plan.cells[0], tmp_path, place).problem
    assert problem == f"{server.url} refuses the key in $PRISM_LLM_API_KEY; set another one"
    assert b"another secret" not in (tmp_path / "tape").read_bytes()
