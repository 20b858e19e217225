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

from actors.explain.path import explain_path
from actors.explain.tree import Node
from actors.explain.turns import explain_turns
from actors.explain.what_if import what_if
from tests.command import begin, end, prism_alone
from tests.durability.process_runs import whole_ticks
from tests.explained import everybody
from tests.patience import wait_until
from tests.recorded import LIVE, content, make_run
from tests.standin import Exchange, Fault, FaultPlan, Latency, Logprobs, ModelServer, ServerSettings
from tests.wire.support import CHAT as BY_CHAT
from tests.wire.support import ECONOMY, Sections, over, write

Sent = tuple[Any, ...]
TAPED: Sections = {"oracle": {"backend": "ollama", "tape": "record"}}
SMALL = over(LIVE, {"simulation": {"rounds": 1, "ticks_per_round": 12, "seed": 5}}, TAPED)
NATIONS = over(ECONOMY, {"economy": {"macro": {"gap_shock": 0.8, "inflation_shock": 1.0}}}, TAPED)
LONGER: Sections = {"simulation": {"rounds": 3}}
CHAT: Sections = {"llm": BY_CHAT}
OPENAI: Sections = {"oracle": {"backend": "openai"}}
WAYS: dict[str, tuple[Sections, ServerSettings]] = {
    "chat": (CHAT, ServerSettings()),
    "chat at temperature 0": ({"llm": {"systemone": "off", "temperature": 0.0}}, ServerSettings()),
    "letters": ({**OPENAI, "llm": {"method": "probabilities"}}, ServerSettings(logprobs=Logprobs.GRAMMAR)),
    "letters that are often unsound": (CHAT, ServerSettings(logprobs=Logprobs.GRAMMAR)),
    "no system message": (OPENAI, ServerSettings(quirks=("no_system_role",))),
    "schema in the prompt": (OPENAI, ServerSettings(quirks=("no_response_format",))),
    "texts": ({"llm": {"writes": True}}, ServerSettings()),
    "memory": ({"llm": {"memory": 6}}, ServerSettings()),
    "different models": (
        {
            "population": {"attributes": {"party": {"type": "text", "values": ["red", "blue"]}}},
            "llm": {"by": {"attribute": "party", "models": {"red": "mistral"}}},
        },
        ServerSettings(models=("llama3.2", "mistral")),
    ),
    "no tape": ({"oracle": {"tape": "off"}}, ServerSettings()),
    "failures": (
        {**CHAT, "oracle": {"on_outage": "fallback"}},
        ServerSettings(faults=FaultPlan(shares={Fault.NOT_JSON: 0.1, Fault.WRONG_STATE: 0.1, Fault.ERROR: 0.1})),
    ),
}


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk."""


def asked(server: ModelServer, place: Path, *sections: Sections, of: Sections = SMALL) -> Path:
    """Return a finished run that has asked this server, which listens for it alone."""
    with server:
        return make_run(place, over(of, *sections, {"llm": {"host": server.url}}))


def sent(exchange: Exchange) -> Sent:
    """Return the texts in the body of a request, as the server got it."""
    body = exchange.body
    if "messages" in body:
        return tuple((message["role"], message["content"]) for message in body["messages"])
    question = body["questions"]["next"]
    return (body["state"], question["instructions"], tuple(question["criteria"].items()))


def told(request: Node) -> Sent:
    """Return the texts of an explained request in the same form."""
    texts = [(each.value["name"], each.text) for each in request.all("text")]
    if request.value["way"] == "systemone":
        (_, instructions), (_, state), *_ = texts
        return (state, instructions, tuple(request.value["options"].items()))
    return tuple(texts)


def by_question(exchanges: list[Exchange]) -> dict[str, list[Sent]]:
    """Return `{id of a question: what was sent for it}`."""
    found: dict[str, list[Sent]] = {}
    for each in exchanges:
        if each.call is not None and each.request_id:
            found.setdefault("-".join(each.request_id.split("-")[:3]), []).append(sent(each))
    return found


class Question(NamedTuple):
    """A question as it is explained: what was asked, each request with its reply or None, and the answer."""

    asked: dict[str, Any]
    requests: list[tuple[Node, dict[str, Any] | None]]
    answer: dict[str, Any] | None


def explained(run: Path) -> dict[str, Question]:
    """Return every question of a run."""
    ticks, _ = whole_ticks(run)
    return {turn.asked["id"]: turn for turn in map(question_of, everybody(run, 0, ticks - 1)) if turn is not None}


def question_of(turn: Node) -> Question | None:
    """Return the question of a turn, if it has one that no turn before it has."""
    found = Question({}, [], None)
    for each in turn.children:
        if each.kind == "asked":
            found = found._replace(asked=each.value)
        elif each.kind in ("sent", "would read"):
            found.requests.append((each, None))
        elif each.kind == "replied" and each.value:
            found.requests[-1] = found.requests[-1][0], each.value
        elif each.kind == "answer":
            found = found._replace(answer=each.value or None)
    return found if found.asked else None


def recorded(tape: Path) -> dict[str, list[dict[str, Any]]]:
    """Return `{asker: its records on a tape}`."""
    found: dict[str, list[dict[str, Any]]] = {}
    with closing(sqlite3.connect(f"{tape.as_uri()}?mode=ro", uri=True)) as file:
        for asked_by, answer in file.execute("SELECT asked_by, answer FROM answers WHERE asked_by != ''"):
            found.setdefault(asked_by, []).append(json.loads(answer))
    return found


def check(found: Question, logged: list[Sent], tape: dict[str, list[dict[str, Any]]]) -> None:
    """Compare a question with the server's log and with the tape."""
    assert list(dict.fromkeys(told(each) for each, _ in found.requests)) == list(dict.fromkeys(logged))
    records = tape.get(f"agent {found.asked['agent']} in tick {found.asked['tick']}", [])
    texts = {each["text"] for each in records if each["type"] == "completion"}
    shares = [each["probabilities"] for each in records if each["type"] == "distribution"]
    for _, reply in found.requests:
        if reply is not None and not reply.get("problem"):
            assert reply["text"] in texts if "text" in reply else reply["probabilities"] in shares


@pytest.mark.parametrize(
    "way", [name if name in {"letters", "texts"} else pytest.param(name, marks=pytest.mark.slow) for name in WAYS]
)
def test_every_question_agrees_whatever_way_the_server_is_asked(way: str, tmp_path: Path) -> None:
    sections, settings = WAYS[way]
    server = ModelServer(settings)
    run = asked(server, tmp_path, sections)
    logged, found = by_question(server.requests), explained(run)
    tape = recorded(run / "tape.sqlite") if (run / "tape.sqlite").exists() else {}
    assert 10 < len(logged) <= len(found)
    assert logged.keys() <= found.keys()
    for name, requests in logged.items():
        check(found[name], requests, tape)
    if way == "failures":
        assert any(each.answer is not None and each.answer["attempts"] for each in found.values())


CHANGING = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions: [{trigger: round_ends, target: away}]
    states:
      reading:
        role: browse
        after: {ticks: 3, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: judging, set: {posts_read: agent.posts_read + 1}}
          - {trigger: timeout, target: away}
      judging:
        role: attend
        transitions:
          - {trigger: ignores, target: reading}
          - {trigger: decides, target: liking, when: draw.uniform < 0.99, oracle: true}
          - {trigger: decides, target: sharing, when: draw.uniform < 0.99, oracle: true}
          - {trigger: decides, target: reading}
      liking: {effect: like, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      sharing: {effect: reshare, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      writing: {effect: post, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""


@pytest.mark.slow
def test_a_prompt_has_the_attributes_that_the_person_had_when_it_was_asked(tmp_path: Path) -> None:
    (tmp_path / "chart.yaml").write_text(CHANGING)
    changing: Sections = {
        "statechart": {"file": str(tmp_path / "chart.yaml")},
        "population": {"attributes": {"posts_read": {"type": "int", "min": 0, "max": 1000, "default": 0}}},
    }
    server = ModelServer()
    run = asked(server, tmp_path, LONGER, changing)
    logged, found, tape = by_question(server.requests), explained(run), recorded(run / "tape.sqlite")
    assert len({line for each in logged.values() for line in each[0][0].splitlines() if "posts_read" in line}) > 2
    for name, requests in logged.items():
        check(found[name], requests, tape)


@pytest.mark.slow
def test_an_economy_with_reasoning_agrees_too(tmp_path: Path) -> None:
    server = ModelServer()
    run = asked(server, tmp_path, of=NATIONS)
    logged, found = by_question(server.requests), explained(run)
    assert logged.keys() <= found.keys()
    assert len(logged) > 40
    for name, requests in logged.items():
        assert [told(each) for each, _ in found[name].requests] == requests
        answer, reply = found[name].answer, found[name].requests[0][1]
        assert answer is not None
        assert reply is not None
        chain = answer["content"]["chain"]
        assert (chain["prompt"], chain["response"]) == (requests[0][0][1], reply["text"])


@pytest.mark.slow
def test_a_run_that_is_going_on_or_was_killed_is_explained_and_not_touched(tmp_path: Path) -> None:
    """The tape of a killed run has a write-ahead log and an index of it, which a careless reader would merge."""
    run = tmp_path / "run"
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.05))) as server:
        config = write(over(SMALL, LONGER, {"llm": {"host": server.url}}), str(tmp_path / "run.yaml"))
        process = begin("run", config, "--quiet", "--out", run)
        wait_until(lambda: (run / "journal.prism").exists() and whole_ticks(run)[0] >= 9, process)
        going_on = explained(run)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = content(run)
        killed = explained(run)
        assert content(run) == before
        end(begin("resume", run, "--quiet"))
    logged, tape, whole = by_question(server.requests), recorded(run / "tape.sqlite"), explained(run)
    assert 0 < len(going_on) <= len(killed) < len(whole)
    for found in (going_on, killed, whole):
        answered = {name: each for name, each in found.items() if each.answer is not None and name in logged}
        assert answered
        for name, question in answered.items():
            check(question, logged[name], tape)


@pytest.mark.slow
def test_a_fork_is_explained_before_and_after_it_branches_off(tmp_path: Path) -> None:
    with ModelServer() as server:
        run, fork = make_run(tmp_path, over(SMALL, LONGER, {"llm": {"host": server.url}})), tmp_path / "fork"
        setting = ("--set", "feed.algorithm=chronological")
        assert prism_alone("fork", str(run), "--at", "14", *setting, "--quiet", "--out", str(fork)).code == 0
    logged, found = by_question(server.requests), explained(fork)
    own = {name: each for name, each in found.items() if name in logged and each.answer is not None}
    assert {each.asked["tick"] < 14 for each in own.values()} == {True, False}
    for name, question in own.items():
        request, reply = question.requests[0]
        assert told(request) in logged[name], "both runs may have asked it"
        assert reply is not None, "the past is on the parent's tape"


@pytest.mark.slow
def test_what_the_model_would_read_is_shown_of_a_question_that_was_not_asked(tmp_path: Path) -> None:
    """A question whose answer could not take effect before the last tick is never put to the model."""
    server = ModelServer()
    run = asked(server, tmp_path, CHAT, {"simulation": {"ticks": 6}})
    logged = by_question(server.requests)
    unasked = [each for name, each in explained(run).items() if name not in logged]
    assert unasked
    for each in unasked:
        assert each.answer is None
        assert [(request.kind, reply) for request, reply in each.requests] == [("would read", None)]
        found = anyio.run(explain_turns, run, each.asked["agent"], each.asked["tick"])
        assert question_of(next(found.all("turn"))) == each
        *_, last = explain_path(run, each.asked["agent"]).all("turn")
        assert last.value["source"] == "question"


@pytest.mark.slow
def test_a_future_asks_the_model_only_if_it_is_told_to(tmp_path: Path) -> None:
    with ModelServer() as server:
        run = make_run(tmp_path, over(SMALL, CHAT, {"simulation": {"rounds": 2}, "llm": {"host": server.url}}))
        found = next(each for each in explained(run).values() if each.asked["tick"] < 5 and each.answer)
        assert found.answer is not None
        other = next(option for option in found.asked["options"] if option != found.answer["state"])
        calls, before = len(server.requests), content(run)
        change = partial(what_if, run, found.asked["agent"], found.asked["tick"], other, 18)
        computed = anyio.run(change).value
        assert len(server.requests) == calls
        asked = anyio.run(partial(change, ask=True)).value
        assert content(run) == before
        named = [each for each in server.requests[calls:] if each.request_id]
    assert computed["recorded"] > 0
    assert computed["computed"] > 0
    assert (computed["asked_now"], asked["computed"]) == (0, 0)
    assert asked["asked_now"] == len(named) > 0
