"""The way in which a server is asked, and what it costs: told before a run, at its start, and in its files."""

import json
import re
from pathlib import Path

import pytest

from actors.runs.forecast import FACTOR, forecast
from prism.config import load_config
from tests.command import Prism
from tests.plain import plain
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import CHAT, CHECKS, ECONOMY, Sections, asking, from_tape, over, summary, write

PRICES = {"input": 100.0, "output": 1000.0}
PEOPLE: Sections = plain(
    {
        "simulation": {"rounds": 4, "ticks_per_round": 24, "seed": 3},
        "population": {"size": 60, "activity": {"mean": 0.9}, "ambiguity": 0.3},
        "run": {"checkpoint_every_ticks": 10},
    }
)


def configured(host: str, sections: Sections, llm: Sections | None = None, **oracle: object) -> str:
    """Return the name of a configuration that asks the server for chats, with prices."""
    priced = {"llm": {**CHAT, "method": "json", "prices": PRICES, **(llm or {})}, "oracle": oracle}
    return write(over(asking(host), sections, priced))


def rows(printed: str) -> dict[str, str]:
    """Return what stands beside each name."""
    lines = (re.match(r" ?(\S+(?: \S+)*) {2,}(.*?) *$", line) for line in printed.splitlines())
    return {found[1]: found[2] for found in lines if found}


def test_an_economy_is_asked_for_a_policy_as_in_a_run_and_says_how_that_went(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MIN", "MAX"):
        monkeypatch.setattr(f"prism.llm.client.BACKOFF_{name}_S", 0.0)
    for fails, code in ((1, 0), (2, 5)):
        at = dict.fromkeys(range(CHECKS + 1, CHECKS + 1 + fails), Fault.NOT_JSON)
        with ModelServer(ServerSettings(faults=FaultPlan(at=at))) as server:
            sections = over(ECONOMY, {"economy": {"initial": {"inflation": 7.5}}})
            ended = prism("doctor", configured(server.url, sections))
            first = str(server.calls[CHECKS].body)
        assert ended.code == code
        assert "economic policy advisor" in first
        assert "7.5" in first, "the economy is the one that was configured"
        if code == 0:
            question = rows(ended.out)["question"]
            assert re.fullmatch(r"answered '\w.*' in \d\.\d{3} s, at the second attempt", question), question
    there = f"prism: ollama 0.40.12 at {server.url} is there, but llama3.2 gives no usable answer to the first "
    assert re.fullmatch(
        f"{re.escape(there)}question of the run: invalid_response: .*; a run would end there\n", ended.err
    )


SECRET = "a-very-secret-word"
TOKEN = {"request": {"headers": {"X-Token": "$MY_GATE"}}}


def test_a_run_shows_how_it_asks_replays_so_without_a_server_and_says_when_a_resume_asks_otherwise(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_GATE", SECRET)
    faults = FaultPlan(at={5: Fault.NOT_JSON, 6: Fault.ERROR})
    with ModelServer(ServerSettings(quirks=("no_schema",), faults=faults)) as server:
        once = {"on_outage": "fallback", "max_attempts": 1, "max_concurrency": 1, "max_fallback_share": 1.0}
        name = configured(server.url, PEOPLE, TOKEN, backend="openai", tape="record", **once)
        ended = prism("run", name, "--out", "run", "--ticks", "24")
        assert ended.code == 0, ended.err
        assert server.statistics().statuses[400] == 1, "what was refused once is not sent again"
        assert "json_object, recorded; answers are kept to JSON" in ended.err.splitlines()[0]
        assert json.loads(Path("run/manifest.json").read_text())["dialect"] == "json_object"
        assert rows(prism("doctor", name).out)["answers by"] == "json_object"
        requests = len(server.requests)
        again = prism("run", name, "--out", "again", *from_tape("run"), "--ticks", "24")
        assert again.code == 0, again.err
        told = prism("doctor", name, *from_tape("run"))
        assert (told.code, len(server.requests)) == (0, requests), "a replay asks nobody"
        assert summary("run")["digest"] == summary("again")["digest"]
        server.settings = ServerSettings()
        otherwise, as_before = (prism("resume", "run", "--ticks", ticks) for ticks in ("30", "36"))
    assert "asked otherwise than before the resume: json_schema, was json_object" in otherwise.err
    assert "otherwise" not in as_before.err
    found = rows(told.out)
    assert found["oracle"] == "tape run/tape.sqlite, replayed: no server is asked"
    assert re.fullmatch(r"format 1; answers [1-9]\d*, failed calls 1", found["tape"]), found["tape"]
    assert found["fallbacks"] == "2", "the failed call, and the answer that could not be read"
    assert (found["model"], found["recorded from"], found["answered by"]) == ("llama3.2", "openai", "json_object")
    for file in (path for each in ("run", "again") for path in Path(each).rglob("*.*")):
        assert SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in ended.out + ended.err


@pytest.mark.everyday(1)
@pytest.mark.parametrize("is_killed", [False, True])
def test_calls_retries_and_cost_are_those_of_all_lives_of_a_run_and_a_cap_in_dollars_holds(
    is_killed: bool, prism: Prism
) -> None:
    faults = FaultPlan(at={7: Fault.NOT_JSON, 9: Fault.ERROR, 15: Fault.WRONG_STATE, 40: Fault.ERROR})
    with ModelServer(ServerSettings(faults=faults)) as server:
        name = configured(server.url, PEOPLE, max_usd=1.0, max_concurrency=1)
        stopped = prism("run", name, "--out", "run")
        first = summary()
        assert (stopped.code, first["status"], first["stopped_by"]) == (4, "stopped", "spend_cap")
        assert "prism resume run --accept-settings --set oracle.max_usd=..." in stopped.err
        assert 1.0 <= first["llm"]["cost_usd"] < 1.2
        assert prism("verify", "run").code == 0
        refused = prism("resume", "run", "--quiet")
        assert (refused.code, "its spend cap is reached" in refused.err) == (2, True)
        if is_killed:  # without a checkpoint and a summary, all is known from the answers in oracle.log
            for file in (Path("run/summary.json"), *Path("run").glob("checkpoint-*")):
                file.unlink()
        more = ("--quiet", "--accept-settings", "--set", "oracle.max_usd=2.5")
        assert prism("resume", "run", *more).code == 4
        calls = server.statistics().calls
    found, whole, before = summary(), summary()["llm"], first["llm"]
    known = calls - 2 * CHECKS - sum(whole["calls"].values())
    assert 0 <= known <= (1 if is_killed else 0)  # a failed call whose question had no answer when the run stopped
    assert (whole["calls"]["invalid_response"], whole["calls"]["server_error"]) == (2, 2)
    assert found["retries_by_reason"] == {"invalid_response": 2, "server_error": 2}
    assert whole["wasted_tokens"] == before["wasted_tokens"] > 0
    usd = (whole["prompt_tokens"] * PRICES["input"] + whole["completion_tokens"] * PRICES["output"]) / 1e6
    assert whole["cost_usd"] == pytest.approx(usd)
    assert 2.7 > whole["cost_usd"] >= 2.5 > before["cost_usd"] > before["wasted_usd"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("sections", [PEOPLE, ECONOMY], ids=["people", "nations"])
def test_a_forecast_is_shown_and_right_within_its_factor(sections: Sections, prism: Prism) -> None:
    with ModelServer() as server:
        name = configured(server.url, sections, max_usd=0.001)
        for printed in (prism("validate", name, "--forecast"), prism("doctor", name)):
            assert printed.code == 0
            assert re.search(r"cost:? +about \$[\d.]+; the run stops at oracle.max_usd \$0.0010", printed.out)
        told = forecast(load_config(Path(name).read_text(), name, environment={}, overrides=()))
        assert prism("run", name, "--set", "oracle.max_usd=null", "--quiet", "--out", "run").code == 0
    llm = summary()["llm"]
    pairs: list[tuple[float, float]] = [
        (told.calls, sum(llm["calls"].values())),
        (told.prompt_tokens, llm["prompt_tokens"]),
    ]
    if sections is PEOPLE:  # what the test server says about a policy is shorter than what models say
        pairs += [(told.completion_tokens, llm["completion_tokens"]), (told.usd or 0, llm["cost_usd"])]
    assert [pair for pair in pairs if not pair[1] / FACTOR <= pair[0] <= pair[1] * FACTOR] == []
