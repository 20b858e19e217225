"""Economies whose nations, validator and engine are a model on a server: on tape, in an outage, and killed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.command import Prism
from tests.recorded import ticks_of
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.standin.server import made_up

TURNS = 20
FAILS_IN = 7
"""The turn whose second application gets no answer."""

NATIONS = ("Arvendia", "Borland", "Castellon", "Dravia", "Estmark")

ECONOMY = """
simulation: {{domain: economy, rounds: {turns}, ticks_per_round: 1, seed: 5, tick_seconds: 7889400}}
economy: {{macro: {{gap_shock: 0.82, inflation_shock: 1.01}}}}
oracle: {{backend: ollama, tape: {tape}}}
llm: {{host: "{host}", num_ctx: 4096, timeout_s: 120.0}}
"""


@pytest.fixture
def prism(quietly: Prism) -> Prism:
    return quietly


def write(directory: Path, host: str, tape: str = "record") -> None:
    (directory / "economy.yaml").write_text(ECONOMY.format(turns=TURNS, host=host, tape=tape))


def summary(run: str) -> dict[str, Any]:
    return json.loads((Path(run) / "summary.json").read_text())  # type: ignore[no-any-return]


@pytest.mark.slow
def test_an_economy_on_tape_is_the_same_economy_without_the_server_and_without_a_request(
    prism: Prism, tmp_path: Path
) -> None:
    with ModelServer() as server:
        write(tmp_path, server.url)
        assert prism("run", "economy.yaml", "--out", "live").code == 0
    requests = len(server.requests)
    tape = ("--set", "oracle.tape=replay", "--set", "oracle.tape_path=live/tape.sqlite")
    assert prism("run", "economy.yaml", *tape, "--out", "again").code == 0
    live, again = summary("live"), summary("again")
    assert again["digest"] == live["digest"], "whatever the durations were: none is in the journal"
    assert len(server.requests) == requests
    assert (again["oracle_calls"], again["llm"]) == (0, live["llm"])
    lines = [json.loads(line) for line in Path("live/log.jsonl").read_text().splitlines()]
    skipped = [line for line in lines if line["event"].startswith("SKIPPED Agent [")]
    assert len(skipped) == live["rejected"] > 0, "the model has ideas that are not economic"
    assert {line["level"] for line in skipped} == {"info"}
    assert live["decisions_by_source"]["llm"] == live["llm"]["calls"]["ok"] == 2 * 5 * TURNS + live["applied"]
    assert prism("replay", "live").out.strip() == live["digest"]
    assert len(server.requests) == requests


def test_at_debug_the_log_has_the_reasoning_the_prompt_and_the_answer_without_secrets(
    prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_PASSWORD", "Arvendia")  # a word in every prompt stands in for a secret
    with ModelServer() as server:
        write(tmp_path, server.url)
        assert prism("run", "economy.yaml", "--ticks", "1", "--log-level", "debug", "--out", "all").code == 0
        assert prism("run", "economy.yaml", "--ticks", "1", "--out", "usual").code == 0
    logged = Path("all/log.jsonl").read_text()
    events = [json.loads(line) for line in logged.splitlines()]
    kinds = Counter(event["event"].partition(" ")[0] for event in events if event["level"] == "debug")
    assert kinds["llm_reasoning_chain"] == kinds["llm_exchange"] > 5
    assert kinds["llm_prompt"] >= kinds["llm_exchange"]
    assert "[redacted]" in logged
    assert "Arvendia" not in logged
    assert '"debug"' not in Path("usual/log.jsonl").read_text()
    assert summary("all")["digest"] == summary("usual")["digest"]


@pytest.mark.slow
def test_the_failure_of_a_second_application_ends_the_run_with_the_turn_before_and_a_resumed_one_is_as_if_undisturbed(
    prism: Prism, tmp_path: Path
) -> None:
    with ModelServer() as server:
        write(tmp_path, server.url)
        prism("run", "economy.yaml", "--out", "undisturbed")
        fails, usual = second_application(server, FAILS_IN), asked(server)
    broken = FaultPlan(at={fails: Fault.ERROR})
    with ModelServer(ServerSettings(faults=broken)) as server:
        write(tmp_path, server.url)
        once = ("--set", "oracle.max_attempts=1", "--set", "oracle.on_outage=fallback")
        ended = prism("run", "economy.yaml", *once, "--out", "disturbed")
        assert (ended.code, ended.out) == (5, "")
        (line,) = [each for each in ended.err.splitlines() if each.startswith("prism: ")]
        assert f"got no answer to 'apply' in tick {FAILS_IN}: server_error (" in line
        assert f"; the run ends with the {FAILS_IN} ticks before it" in line
        assert len(turns("disturbed")) == FAILS_IN
        assert len(rounds("disturbed")) == FAILS_IN
        assert (tmp_path / "disturbed" / f"checkpoint-{FAILS_IN:012d}.bin").exists()
        assert turns("disturbed") == turns("undisturbed")[:FAILS_IN]
        assert prism("resume", "disturbed").code == 0
        assert (asked(server) - usual).total() == 1, "the failed call, and no answer that had come"
    assert turns("disturbed") == turns("undisturbed"), "every question, policy, judgement and rate"
    assert rounds("disturbed") == rounds("undisturbed")
    digest = summary("disturbed")["digest"]
    assert prism("replay", "disturbed").out.strip() == digest
    tape = ("--set", "oracle.tape=replay", "--set", "oracle.tape_path=disturbed/tape.sqlite")
    assert prism("run", "economy.yaml", *tape, "--out", "again").out.strip() == digest


def test_a_question_without_an_answer_is_asked_again_and_the_end_says_how_often(prism: Prism, tmp_path: Path) -> None:
    asked: list[str] = []

    def silent(messages: Messages, options: Mapping[str, object], form: object) -> str:
        asked.append(json.dumps(messages))
        distinct = [*dict.fromkeys(asked)]
        return "" if len(distinct) > 2 and asked[-1] == distinct[2] else made_up(messages, 0, form)

    with ModelServer(ServerSettings(reply=silent)) as server:
        write(tmp_path, server.url)
        ended = prism("run", "economy.yaml", "--out", "live")
        assert ended.code == 5
        times = asked.count([*dict.fromkeys(asked)][2])
        assert f"the answer is empty); it was asked {times} times; nothing was run" in ended.err
    assert times in {3, 4}  # an attempt that meets an outage is none


Messages = Sequence[Mapping[str, object]]


def second_application(server: ModelServer, turn: int) -> int:
    """The number of the call by which the second proposal of a turn is applied. Applications come one at a time."""
    asked = [str(call.body) for call in server.calls]
    begins = [number for number, text in enumerate(asked) if "economic policy advisor" in text][:: len(NATIONS)]
    applied = [number for number, text in enumerate(asked) if "economic simulation engine" in text]
    first, second, *_ = [number for number in applied if number > begins[turn]]
    assert second == first + 1
    return server.calls[second].call or 0


def asked(server: ModelServer) -> Counter[str]:
    """How often the server was asked for each proposal and each rate. Two equal judgements may be one on a tape."""
    texts = (json.dumps(call.body, sort_keys=True) for call in server.calls)
    return Counter(text for text in texts if "economic policy advisor" in text or "economic simulation engine" in text)


def turns(run: str) -> list[Any]:
    """What the journal has of each turn: questions and updates, without the time that answers took."""
    return [*ticks_of(Path(run))]


def rounds(run: str) -> list[str]:
    """The rows of the series."""
    return (Path(run) / "rounds.csv").read_text().splitlines()[1:]
