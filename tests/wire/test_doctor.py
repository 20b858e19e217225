"""The way in which a server is asked, and what it costs: told before a run, at its start, and in its files."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.runs.forecast import FACTOR, example_of, forecast
from actors.runtime.simulation import Simulation
from prism.config import Config, load_config
from prism.llm import schema_of
from prism.models import PolicyDecision, StateUpdateDecision, ValidationResult
from tests.catalogue import catalogue
from tests.command import Prism
from tests.own_domains import path_restored, write_study
from tests.plain import plain
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import CHAT, CHECKS, ECONOMY, FALLS_BACK, Sections, asking, from_tape, over, run, summary, write

PRICES = {"input": 100.0, "output": 1000.0}
PEOPLE: Sections = plain(
    {
        "simulation": {"rounds": 4, "ticks_per_round": 24, "seed": 3},
        "population": {"size": 60, "activity": {"mean": 0.9}, "ambiguity": 0.3},
        "run": {"checkpoint_every_ticks": 10},
    }
)
INFLATION: Sections = over(ECONOMY, {"economy": {"initial": {"inflation": 7.5}}})


def configured(host: str, sections: Sections, llm: Sections | None = None, **oracle: object) -> str:
    """Return the name of a configuration that asks the server for chats, with prices."""
    priced = {"llm": {**CHAT, "method": "json", "prices": PRICES, **(llm or {})}, "oracle": oracle}
    return write(over(asking(host), sections, priced))


def rows(printed: str) -> dict[str, str]:
    """Return what stands beside each name."""
    lines = (re.match(r" ?(\S+(?: \S+)*) {2,}(.*?) *$", line) for line in printed.splitlines())
    return {found[1]: found[2] for found in lines if found}


def test_an_economy_is_asked_for_a_policy_as_in_a_run_and_says_how_that_went(prism: Prism) -> None:
    for fails, code in ((0, 0), (1, 0), (2, 5)):
        at = dict.fromkeys(range(CHECKS + 1, CHECKS + 1 + fails), Fault.NOT_JSON)
        with ModelServer(ServerSettings(faults=FaultPlan(at=at))) as server:
            ended = prism("doctor", configured(server.url, INFLATION))
            first = str(server.calls[CHECKS].body)
        found = rows(ended.out)
        assert (ended.code, ended.err if code == 0 else "") == (code, "")
        assert "economic policy advisor" in first
        assert "7.5" in first, "the economy is the one that was configured"
        if code == 0:
            assert re.fullmatch(r"answered '\w.*'", found["policy"]), found["policy"]
            latency = r"\d\.\d{3} s" + ", at the second attempt" * fails
            assert re.fullmatch(latency, found["policy latency"]), found["policy latency"]
    there = f"prism: ollama 0.40.12 at {server.url} is there, but llama3.2 gives no usable answer to an economy's "
    assert ended.err.startswith(f"{there}question: invalid_response: ")
    assert ended.err.endswith("; a run would end there\n")
    assert len(ended.err.splitlines()) == 1


MODEL = """\
from prism.llm import ChatRequest, Message
from prism.statechart import Oracle
from tests.domains import GreenWave, TrafficDomain


class Asks(Oracle):
    def __init__(self, model):
        self.model = model

    async def ask(self, agent, current_state, trigger, options, context=None):
        names = [str(option) for option in options]
        asked = Message(role="user", content=f"The light is {current_state}; which of {names}?")
        schema = {"type": "object", "properties": {"state": {"enum": names}}, "required": ["state"]}
        await self.model.complete(ChatRequest(messages=(asked,), schema=schema))
        return options[0]


class Own(TrafficDomain):
    def oracle(self, model=None):
        return GreenWave() if model is None else Asks(model)


def build():
    return Own()
"""


def test_a_domain_of_one_s_own_asks_its_first_question(prism: Prism, tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", MODEL)
    with ModelServer() as server, path_restored():
        study.write_config(f"oracle: {{backend: ollama}}\nllm: {{host: '{server.url}', systemone: 'off'}}\n")
        ended = prism("doctor", str(study.config))
    assert (ended.code, ended.err) == (0, "")
    assert rows(ended.out)["question"] == "answered 'red'"
    assert "calls" in rows(ended.out)
    assert sum("The light is amber; which of " in str(call.body) for call in server.calls) == 1


def test_a_replay_checks_the_tape_and_asks_nobody(prism: Prism) -> None:
    with ModelServer(ServerSettings(faults=FaultPlan(at={5: Fault.NOT_JSON, 6: Fault.ERROR}))) as server:
        name = configured(server.url, over(PEOPLE, {"simulation": {"rounds": 1}}), tape="record", **FALLS_BACK)
        assert prism("run", name, "-q", "--out", "run").code == 0
    ended = prism("doctor", name, *from_tape("run"))
    found = rows(ended.out)
    assert ended.code == 0, "the server is gone"
    assert found["oracle"] == "tape run/tape.sqlite, replayed: no server is asked"
    assert re.fullmatch(r"format 1; answers [1-9]\d*, failed calls 1", found["tape"]), found["tape"]
    assert found["fallbacks"] == "2", "the failed call, and the answer that could not be read"
    assert found["recorded from"] == "ollama 0.40.12"
    assert (found["model"], found["answered by"]) == ("llama3.2", "ollama")
    assert "note" not in found


SECRET = "a-very-secret-word"
TOKEN = {"request": {"headers": {"X-Token": "$MY_GATE"}}}


def test_a_run_shows_how_it_asks_replays_so_without_a_server_and_says_when_a_resume_asks_otherwise(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_GATE", SECRET)
    people = over(PEOPLE, {"simulation": {"rounds": 2, "ticks_per_round": 12}, "population": {"size": 20}})
    with ModelServer(ServerSettings(quirks=("no_schema",))) as server:
        name = configured(server.url, people, TOKEN, backend="openai", tape="record")
        ended = prism("run", name, "--out", "run", "--ticks", "12")
        assert ended.code == 0, ended.err
        assert server.statistics().statuses[400] == 1, "what was refused once is not sent again"
        assert "json_object, recorded; answers are kept to JSON" in ended.err.splitlines()[0]
        assert json.loads(Path("run/manifest.json").read_text())["dialect"] == "json_object"
        assert rows(prism("doctor", name).out)["answers by"] == "json_object"
        again = prism("run", name, "--out", "again", *from_tape("run"), "--ticks", "12")
        assert again.code == 0, again.err
        assert rows(prism("doctor", name, *from_tape("run")).out)["answered by"] == "json_object"
        assert summary("run")["digest"] == summary("again")["digest"]
        server.settings = ServerSettings()
        otherwise, as_before = (prism("resume", "run", "--ticks", ticks) for ticks in ("18", "24"))
    assert "asked otherwise than before the resume: json_schema, was json_object" in otherwise.err
    assert "otherwise" not in as_before.err
    for file in (path for each in ("run", "again") for path in Path(each).rglob("*.*")):
        assert SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in ended.out + ended.err


def test_a_variable_that_is_not_set_is_one_line_before_anything_is_asked(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_GATE", raising=False)
    name, setting = configured("http://127.0.0.1:9", PEOPLE, TOKEN), "llm.request.headers.X-Token"
    line = f"prism: {setting}: the environment variable MY_GATE is not set; set it, or leave {setting} out\n"
    for command in (("validate", name), ("run", name, "--out", "run"), ("doctor", name)):
        ended = prism(*command)
        assert (ended.code, ended.err) == (5, line)


def usd(llm: dict[str, Any]) -> float:
    return float(llm["prompt_tokens"] * PRICES["input"] + llm["completion_tokens"] * PRICES["output"]) / 1e6


@pytest.mark.everyday(1)
@pytest.mark.parametrize("is_killed", [False, True])
def test_calls_tokens_and_cost_are_those_of_all_lives_of_a_run(is_killed: bool, prism: Prism) -> None:
    faults = FaultPlan(at={7: Fault.NOT_JSON, 9: Fault.ERROR, 15: Fault.WRONG_STATE})
    with ModelServer(ServerSettings(faults=faults)) as server:
        name = configured(server.url, PEOPLE, max_calls=25, when_spent="stop", max_concurrency=1)
        assert prism("run", name, "--quiet", "--out", "run").code == 4
        first = summary()["llm"]
        if is_killed:  # without a checkpoint, all is known from the answers in oracle.log
            for checkpoint in Path("run").glob("checkpoint-*"):
                checkpoint.unlink()
        assert prism("resume", "run", "--quiet", "--accept-settings", "--set", "oracle.max_calls=100000").code == 0
        calls = server.statistics().calls
    whole = summary()["llm"]
    known = calls - 2 * CHECKS - sum(whole["calls"].values())
    assert 0 <= known <= (1 if is_killed else 0)  # a failed call whose question had no answer when the run stopped
    assert (whole["calls"]["invalid_response"], whole["calls"]["server_error"]) == (2, 1)
    assert whole["calls"]["ok"] > first["calls"]["ok"] > 0
    assert whole["wasted_tokens"] == first["wasted_tokens"] > 0
    assert whole["cost_usd"] > first["cost_usd"]
    assert [whole["cost_usd"], first["cost_usd"]] == pytest.approx([usd(whole), usd(first)])
    assert whole["cost_usd"] > whole["wasted_usd"] > 0


def test_a_cap_in_dollars_stops_the_run_with_a_checkpoint_and_holds_after_a_resume(prism: Prism) -> None:
    with ModelServer() as server:
        name = configured(server.url, PEOPLE, max_usd=0.2, max_concurrency=4)
        stopped = prism("run", name, "--out", "run")
        found = summary()
        assert (stopped.code, found["status"], found["stopped_by"]) == (4, "stopped", "spend_cap")
        assert "prism resume run --accept-settings --set oracle.max_usd=..." in stopped.err
        assert re.search(r"cost: \$0\.[23]\d", stopped.out)
        per_call = found["llm"]["cost_usd"] / sum(found["llm"]["calls"].values())
        assert 0.2 <= found["llm"]["cost_usd"] < 0.2 + 4 * 2 * per_call  # the calls under way end, too
        assert prism("verify", "run").code == 0
        refused = prism("resume", "run", "--quiet")
        assert (refused.code, "its spend cap is reached" in refused.err) == (2, True)
        assert prism("resume", "run", "--quiet", "--accept-settings", "--set", "oracle.max_usd=0.4").code == 4
        assert 0.4 <= summary()["llm"]["cost_usd"] < 0.4 + 4 * 2 * per_call


@pytest.mark.slow
@pytest.mark.parametrize("sections", [PEOPLE, ECONOMY], ids=["people", "nations"])
def test_a_forecast_is_right_within_its_factor(sections: Sections, prism: Prism) -> None:
    with ModelServer() as server:
        name = configured(server.url, sections)
        told = forecast(load_config(Path(name).read_text(), name, environment={}, overrides=()))
        assert prism("run", name, "--quiet", "--out", "run").code == 0
    llm = summary()["llm"]
    pairs: list[tuple[float, float]] = [
        (told.calls, sum(llm["calls"].values())),
        (told.prompt_tokens, llm["prompt_tokens"]),
    ]
    if sections is PEOPLE:  # what the test server says about a policy is shorter than what models say
        pairs += [(told.completion_tokens, llm["completion_tokens"]), (told.usd or 0.0, llm["cost_usd"])]
    assert [pair for pair in pairs if not pair[1] / FACTOR <= pair[0] <= pair[1] * FACTOR] == []


@pytest.mark.slow
def test_validate_and_doctor_foretell_what_a_run_asks(prism: Prism) -> None:
    with ModelServer() as server:
        name = configured(server.url, PEOPLE, max_usd=0.001)
        requests = len(server.requests)
        validated = prism("validate", name, "--forecast")
        assert (validated.code, len(server.requests)) == (0, requests)
        asked = prism("doctor", name)
    assert asked.code == 0
    for printed in (validated.out, asked.out):
        assert re.search(r"calls:? +about [\d,]+", printed)
        assert re.search(r"tokens:? +about [\d,]+ in, [\d,]+ out", printed)
        assert re.search(r"cost:? +about \$[\d.]+; the run stops at oracle.max_usd \$0.0010", printed)
        assert re.search(r"time:? +at least .*, at [\d.]+ s a call and up to 64 at once", printed)


@catalogue("model", [PolicyDecision, ValidationResult, StateUpdateDecision])
def test_the_answers_of_a_rehearsal_are_within_their_schemas(model: type[Any]) -> None:
    assert model(**example_of(schema_of(model)))


async def test_the_cost_so_far_is_shown_while_a_run_is_under_way(tmp_path: Path) -> None:
    shown: list[float] = []

    def note(simulation: Simulation) -> None:
        progress, snapshot = simulation.progress(), simulation.snapshot()
        assert progress.cost_usd == snapshot.cost_usd
        shown.append(snapshot.cost_usd)

    with ModelServer() as server:
        chosen = msgspec.convert(
            over(PEOPLE, asking(server.url), {"simulation": {"rounds": 1}, "llm": {**CHAT, "prices": PRICES}}), Config
        )
        found = await run(chosen, tmp_path, on_tick=note)
    assert found.llm is not None
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (0.0, found.llm.cost_usd)
    assert shown[-1] > 0.0
