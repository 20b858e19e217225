"""Explanations agree byte for byte with the server's own log and with the tape, whatever way a server is asked.

The server's log has the body of each request under its `X-Request-Id`, which begins with the id of the question. The
tape is read with SQLite and JSON alone.
"""

import json
import signal
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from actors.explain.what_if import what_if
from tests.command import begin, end
from tests.durability.process_runs import whole_ticks
from tests.patience import wait_until
from tests.recorded import LIVE, content, everybody, make_run
from tests.standin import Fault, FaultPlan, Latency, Logprobs, ModelServer, ServerSettings
from tests.wire.support import CHAT, ECONOMY, Sections, over, write

Sent = tuple[Any, ...]
TAPED: Sections = {"oracle": {"backend": "ollama", "tape": "record"}}
SMALL = over(LIVE, {"simulation": {"rounds": 1, "ticks_per_round": 12, "seed": 5}}, TAPED)
OPENAI: Sections = {"oracle": {"backend": "openai"}}
FAILING = FaultPlan(shares={Fault.NOT_JSON: 0.1, Fault.WRONG_STATE: 0.1, Fault.ERROR: 0.1})
PARTIES: Sections = {"attributes": {"party": {"type": "text", "values": ["red", "blue"]}}}
BY_PARTY: Sections = {"writes": True, "memory": 6, "by": {"attribute": "party", "models": {"red": "mistral"}}}
WAYS: dict[str, tuple[Sections, ServerSettings]] = {
    "letters": ({**OPENAI, "llm": {"method": "probabilities"}}, ServerSettings(logprobs=Logprobs.GRAMMAR)),
    "texts of models": ({"population": PARTIES, "llm": BY_PARTY}, ServerSettings(models=("llama3.2", "mistral"))),
    "systemone without a tape": ({"oracle": {"tape": "off"}}, ServerSettings()),
    "no system message": (OPENAI, ServerSettings(quirks=("no_system_role",))),
    "failures": ({"llm": CHAT, "oracle": {"on_outage": "fallback"}}, ServerSettings(faults=FAILING)),
    "an economy": (ECONOMY, ServerSettings()),
}


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk."""


class Question(NamedTuple):
    """A question as it is explained: what was asked, each text sent with its reply or None, and the answer."""

    asked: dict[str, Any]
    requests: list[tuple[str, Sent, dict[str, Any] | None]]
    answer: dict[str, Any] | None


def sent(server: ModelServer) -> dict[str, list[Sent]]:
    """Return `{id of a question: the texts of each request for it}`, as the server got them."""
    found: dict[str, list[Sent]] = {}
    for each in server.requests:
        if each.call is None or not each.request_id:
            continue
        if "messages" in each.body:
            texts: Sent = tuple((message["role"], message["content"]) for message in each.body["messages"])
        else:
            question = each.body["questions"]["next"]
            texts = (each.body["state"], question["instructions"], tuple(question["criteria"].items()))
        found.setdefault("-".join(each.request_id.split("-")[:3]), []).append(texts)
    return found


def explained(run: Path) -> dict[str, Question]:
    """Return every question of a run, by its id."""
    questions = dict[str, Question]()
    for turn in everybody(run, 0, whole_ticks(run)[0] - 1):
        found = Question({}, [], None)
        for each in turn.children:
            if each.kind == "asked":
                found = found._replace(asked=each.value)
            elif each.kind in ("sent", "would read"):
                texts: Sent = tuple((text.value["name"], text.text) for text in each.all("text"))
                if each.value["way"] == "systemone":
                    (_, instructions), (_, state), *_ = texts
                    texts = (state, instructions, tuple(each.value["options"].items()))
                found.requests.append((each.kind, texts, None))
            elif each.kind == "replied" and each.value:
                found.requests[-1] = *found.requests[-1][:2], each.value
            elif each.kind == "answer":
                found = found._replace(answer=each.value or None)
        if found.asked:
            questions[found.asked["id"]] = found
    return questions


def check(found: dict[str, Question], logged: dict[str, list[Sent]], run: Path) -> None:
    """Compare the answered questions with the server's log and with the tape, if there is one."""
    records: dict[str, list[dict[str, Any]]] = {}
    if (tape := run / "tape.sqlite").exists():
        with closing(sqlite3.connect(f"{tape.as_uri()}?mode=ro", uri=True)) as file:
            for asked_by, answer in file.execute("SELECT asked_by, answer FROM answers WHERE asked_by != ''"):
                records.setdefault(asked_by, []).append(json.loads(answer))
    compared = {name: each for name, each in found.items() if each.answer is not None and name in logged}
    assert compared
    for name, each in compared.items():
        assert [*dict.fromkeys(texts for _, texts, _ in each.requests)] == [*dict.fromkeys(logged[name])]
        taped = records.get(f"agent {each.asked['agent']} in tick {each.asked['tick']}", [])
        kept = [answer["text"] for answer in taped if answer["type"] == "completion"]
        kept += [answer["probabilities"] for answer in taped if answer["type"] == "distribution"]
        for _, texts, reply in each.requests:
            if taped and reply is not None and not reply.get("problem"):
                assert reply.get("text", reply.get("probabilities")) in kept
            if reply is not None and each.answer is not None and "chain" in (each.answer.get("content") or {}):
                chain = each.answer["content"]["chain"]
                assert (chain["prompt"], chain["response"]) == (texts[0][1], reply["text"])


@pytest.mark.everyday(1)
@pytest.mark.parametrize("way", WAYS)
def test_every_question_agrees_whatever_way_the_server_is_asked(way: str, tmp_path: Path) -> None:
    sections, served = WAYS[way]
    with ModelServer(served) as server:
        world = TAPED if sections is ECONOMY else SMALL
        run = make_run(tmp_path, over(world, sections, {"llm": {"host": server.url}}))
    logged, found = sent(server), explained(run)
    assert 10 < len(logged) <= len(found)
    assert logged.keys() <= found.keys()
    check(found, logged, run)
    if way == "failures":
        assert any(each.answer is not None and each.answer["attempts"] for each in found.values())


@pytest.mark.slow
def test_a_run_that_is_going_on_or_was_killed_is_explained_and_not_touched(tmp_path: Path) -> None:
    """The tape of a killed run has a write-ahead log and an index of it, which a careless reader would merge."""
    run = tmp_path / "run"
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.05))) as server:
        config = write(
            over(SMALL, {"simulation": {"rounds": 3}, "llm": {"host": server.url}}), str(tmp_path / "run.yaml")
        )
        process = begin("run", config, "--quiet", "--out", run)
        wait_until(lambda: (run / "journal.prism").exists() and whole_ticks(run)[0] >= 9, process)
        going_on = explained(run)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = content(run)
        killed = explained(run)
        assert content(run) == before
        end(begin("resume", run, "--quiet"))
    whole = explained(run)
    assert 0 < len(going_on) <= len(killed) < len(whole)
    for found in (going_on, killed, whole):
        check(found, sent(server), run)


@pytest.mark.slow
def test_a_future_asks_no_model(tmp_path: Path) -> None:
    with ModelServer() as server:
        sections: Sections = {"llm": {**CHAT, "host": server.url}, "simulation": {"rounds": 2, "ticks": 18}}
        run = make_run(tmp_path, over(SMALL, sections))
        questions, logged = explained(run), sent(server)
        # A question whose answer could not take effect before the last tick was never put to the model.
        unasked = {kind for name, each in questions.items() if name not in logged for kind, *_ in each.requests}
        assert unasked == {"would read"}
        found = next(each for each in questions.values() if each.asked["tick"] < 5 and each.answer)
        assert found.answer is not None
        other = next(option for option in found.asked["options"] if option != found.answer["state"])
        calls, before = len(server.requests), content(run)
        change = partial(what_if, run, found.asked["agent"], found.asked["tick"], other, 18)
        computed = anyio.run(change).value
        assert len(server.requests) == calls
        assert content(run) == before
    assert min(computed["recorded"], computed["computed"]) > 0
