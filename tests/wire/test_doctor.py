"""`prism doctor` on a language model: the server that would be asked, or the tape that would be replayed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.command import Prism
from tests.own_domains import path_restored, write_study
from tests.plain import plain
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import FALLS_BACK

PEOPLE = plain(
    {
        "simulation": {"rounds": 1, "ticks_per_round": 24},
        "population": {"size": 60, "activity": {"mean": 0.9}, "ambiguity": 0.3},
    }
)


@pytest.fixture
def prism(command: Prism) -> Prism:
    return command


NATIONS = {
    "simulation": {"domain": "economy", "rounds": 4, "ticks_per_round": 1},
    "economy": {"initial": {"inflation": 7.5}},
}
CHECKS = 2
"""The calls that the check of a server makes, before anything of a domain is asked."""


def write_economy(path: Path, host: str) -> str:
    """A configuration of an economy that asks the server; its name."""
    oracle = {"backend": "ollama"}
    sections = {**NATIONS, "oracle": oracle, "llm": {"host": host, "systemone": "off"}}
    (path / "economy.yaml").write_text(yaml.safe_dump(sections))
    return "economy.yaml"


def write(path: Path, host: str, **oracle: object) -> str:
    """A configuration that asks the server, or replays; its name."""
    sections = {**PEOPLE, "oracle": {"backend": "ollama", **oracle}, "llm": {"host": host, "systemone": "off"}}
    (path / "model.yaml").write_text(yaml.safe_dump(sections))
    return "model.yaml"


def rows(printed: str) -> dict[str, str]:
    """What stands beside each name."""
    lines = (re.match(r" ?(\S+(?: \S+)*) {2,}(.*?) *$", line) for line in printed.splitlines())
    return {found[1]: found[2] for found in lines if found}


def record(prism: Prism, path: Path, settings: ServerSettings | None = None) -> str:
    """Return the address of the server, now gone, from which `run/tape.sqlite` was recorded; it was asked once each."""
    with ModelServer(settings) as server:
        assert prism("run", write(path, server.url, tape="record", **FALLS_BACK), "-q", "--out", "run").code == 0
        return server.url


def test_an_economy_is_asked_for_a_policy_as_in_a_run(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        ended = prism("doctor", write_economy(tmp_path, server.url))
        asked = [str(call.body) for call in server.calls]
    found = rows(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"answered '\w.*'", found["policy"]), found["policy"]
    assert re.fullmatch(r"\d\.\d{3} s", found["policy latency"]), found["policy latency"]
    (question,) = asked[CHECKS:]
    assert "economic policy advisor" in question
    assert "7.5" in question, "the economy is the one that was configured"


def test_a_policy_that_took_a_second_attempt_says_so_and_no_log_line_does(prism: Prism, tmp_path: Path) -> None:
    with ModelServer(ServerSettings(faults=FaultPlan(at={CHECKS + 1: Fault.NOT_JSON}))) as server:
        ended = prism("doctor", write_economy(tmp_path, server.url))
    assert (ended.code, ended.err) == (0, "")
    assert rows(ended.out)["policy latency"].endswith(" s, at the second attempt")


def test_a_policy_that_cannot_be_read_is_one_line_and_exit_code_5(prism: Prism, tmp_path: Path) -> None:
    twice = {CHECKS + 1: Fault.NOT_JSON, CHECKS + 2: Fault.NOT_JSON}
    with ModelServer(ServerSettings(faults=FaultPlan(at=twice))) as server:
        ended = prism("doctor", write_economy(tmp_path, server.url))
        there = f"prism: ollama 0.40.12 at {server.url} is there, but llama3.2 gives no usable answer to an economy's "
    assert ended.code == 5
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
        asked = [str(call.body) for call in server.calls]
    assert (ended.code, ended.err) == (0, "")
    assert rows(ended.out)["question"] == "answered 'red'"
    assert "calls" in rows(ended.out)
    assert sum("The light is amber; which of " in body for body in asked) == 1


def test_a_replay_checks_the_tape_and_asks_nobody(prism: Prism, tmp_path: Path) -> None:
    host = record(prism, tmp_path, ServerSettings(faults=FaultPlan(at={5: Fault.NOT_JSON, 6: Fault.ERROR})))
    ended = prism("doctor", write(tmp_path, host, tape="replay", tape_path="run/tape.sqlite"))
    found = rows(ended.out)
    assert ended.code == 0, "the server is gone"
    assert found["oracle"] == "tape run/tape.sqlite, replayed: no server is asked"
    assert re.fullmatch(r"format 1; answers [1-9]\d*, failed calls 1", found["tape"]), found["tape"]
    assert found["fallbacks"] == "2", "the failed call, and the answer that could not be read"
    assert found["recorded from"] == "ollama 0.40.12"
    assert (found["model"], found["answered by"]) == ("llama3.2", "ollama")
    assert "note" not in found
