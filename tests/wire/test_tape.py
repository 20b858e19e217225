"""Whole runs on tape: recorded against a server, stopped, gone on with, and run again without one."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from actors.core.errors import first_error
from prism.agents import Update
from prism.agents.social_agent import ANYBODY, SocialAgent
from prism.config import LLMConfig, ModelsConfig
from prism.errors import OracleSpentError
from prism.llm import OllamaChatClient, Tape, TapeMissError
from prism.llm.oracle import SocialModelOracle
from prism.social.posts.post import PostKind, write_post
from prism.statechart import AgentState
from tests.command import Prism
from tests.recorded import ticks_of
from tests.standin import Exchange, Fault, FaultPlan, Latency, Logprobs, ModelServer, ServerSettings
from tests.standin.server import made_up
from tests.wire.support import (
    CHAT,
    ECONOMY,
    FALLS_BACK,
    PEOPLE,
    Sections,
    asking,
    config,
    configure,
    from_tape,
    over,
    run,
    summary,
    write,
)

TURNS = 20
NATIONS = over(
    ECONOMY, {"simulation": {"rounds": TURNS}, "economy": {"macro": {"gap_shock": 0.82, "inflation_shock": 1.01}}}
)
NATIONS_ASKED = 5
MEMORY: Sections = {
    "simulation": {"rounds": 3, "ticks_per_round": 16, "seed": 5},
    "population": {
        "size": 40,
        "deliberation_minutes": 2,
        "ambiguity": 0.9,
        "posts_per_session": 0.5,
        "activity": {"mean": 0.9, "sigma": 0.1},
    },
    "llm": {"memory": 4, "writes": True},
    "run": {"checkpoint_every_ticks": 7},
}
MODELS = {"red": "qwen2.5:0.5b", "blue": "mistral", "none": "llama3.2"}
PARTIES = over(
    MEMORY,
    {
        "simulation": {"rounds": 2},
        "population": {"size": 60, "attributes": {"party": {"type": "text", "values": [*MODELS]}}},
        "llm": {"memory": 0, "writes": False, "by": {"attribute": "party", "models": {**MODELS}}},
    },
)
del PARTIES["llm"]["by"]["models"]["none"]
THERE = ServerSettings(models=tuple(MODELS.values()))


def logs_what_it_skipped(_: Prism, live: Sections, server: ModelServer) -> None:
    lines = [json.loads(line) for line in Path("live/log.jsonl").read_text().splitlines()]
    skipped = [line for line in lines if line["event"].startswith("SKIPPED Agent [")]
    assert len(skipped) == live["rejected"] > 0, "the model has ideas that are not economic"
    assert {line["level"] for line in skipped} == {"info"}
    assert live["decisions_by_source"]["llm"] == live["llm"]["calls"]["ok"]
    assert live["llm"]["calls"]["ok"] == 2 * NATIONS_ASKED * TURNS + live["applied"]


def asks_each_model_about_its_own(prism: Prism, _: Sections, server: ModelServer) -> None:
    asked = [
        (party[1], each.body["model"])
        for each in server.calls
        if (party := re.search(r'Your party is \\+"(\w+)', json.dumps(each.body)))
    ]
    assert {party for party, _ in asked} == {*MODELS}
    assert len(asked) > 30
    assert all(model == MODELS[party] for party, model in asked)
    swapped = prism("run", "wire.yaml", *from_tape("live"), "--set", "llm.by.models={red: mistral}", "--quiet")
    assert (swapped.code, "no answer to the question from agent" in swapped.err) == (5, True)


def remembering(calls: Sequence[Exchange]) -> int:
    """Return the number of requests in which a person remembers something."""
    return sum("You remember:" in json.dumps(each.body) for each in calls)


def tells_and_takes_texts(_: Prism, __: Sections, server: ModelServer) -> None:
    assert remembering(server.requests) > 20
    updates = itertools.chain.from_iterable(ticks_of(Path("live"), Update))
    assert sum(each.source == "llm" and isinstance(each.effect, list) for each in updates) > 5, "texts of the model"


def nothing_else(_: Prism, __: Sections, ___: ModelServer) -> None:
    """Check nothing else."""


class Way(NamedTuple):
    """A way of asking: the run's sections, the server, how each decision is made, and what else holds."""

    sections: Sections
    serves: ServerSettings = ServerSettings()
    method: str | None = None
    also: Callable[[Prism, Sections, ModelServer], None] = nothing_else


OPENAI: Sections = {"oracle": {"backend": "openai"}}
JSON = {"method": "json"}
WAYS = {
    "probabilities": Way(PEOPLE, method="systemone"),
    "chat": Way(over(PEOPLE, {"llm": CHAT}), method="json"),
    "chat at temperature 0": Way(over(PEOPLE, {"llm": {**CHAT, "temperature": 0.0}}), method="json"),
    "openai": Way(over(PEOPLE, OPENAI), method="json"),
    "openai by letters": Way(
        over(PEOPLE, OPENAI, {"llm": {"method": "probabilities"}}),
        ServerSettings(logprobs=Logprobs.GRAMMAR),
        "logprobs",
    ),
    "an economy": Way(NATIONS, also=logs_what_it_skipped),
    "people who remember and write": Way(MEMORY, also=tells_and_takes_texts),
    "different models by chat": Way(
        over(PARTIES, {"llm": {**CHAT, **JSON}}), THERE, also=asks_each_model_about_its_own
    ),
    "different models at temperature 0": Way(
        over(PARTIES, {"llm": {**JSON, "temperature": 0}}), THERE, also=asks_each_model_about_its_own
    ),
    "different models by probabilities": Way(PARTIES, THERE, also=asks_each_model_about_its_own),
    "different models by openai": Way(over(PARTIES, OPENAI), THERE, also=asks_each_model_about_its_own),
}
EVERYDAY = {"probabilities", "different models by chat"}


@pytest.mark.parametrize(
    "way", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.slow) for name in WAYS]
)
def test_a_recorded_run_is_the_same_run_without_the_server_and_without_a_request(way: str, prism: Prism) -> None:
    sections, serves, method, also = WAYS[way]
    with ModelServer(serves) as server:
        name = write(over(asking(server.url), sections, {"oracle": {"tape": "record"}}))
        ended = prism("run", name, "--quiet", "--out", "live")
        assert ended.code == 0, ended.err
    requests = len(server.requests)
    assert prism("run", name, *from_tape("live"), "--quiet", "--out", "again").out == ended.out
    assert prism("replay", "live", "--quiet").out == ended.out
    live, again = summary("live"), summary("again")
    assert (len(server.requests), again["oracle_calls"]) == (requests, 0)
    assert live["llm"] == again["llm"], "tokens and latencies are those of the recording"
    for how in ("decisions_by_source", "decisions_by_method"):
        assert live[how] == again[how]
    assert method is None or live["decisions_by_method"] == {method: live["oracle_questions"]}
    also(prism, live, server)


SHARES = dict.fromkeys((Fault.HANG, Fault.ERROR, Fault.RESET, Fault.WRONG_STATE, Fault.EMPTY), 0.05)


@pytest.mark.slow
async def test_the_fallbacks_of_a_recorded_run_are_those_of_its_replay(tmp_path: Path) -> None:
    failing = {"llm": CHAT, "oracle": {"deadline_s": 2.0, **FALLS_BACK}}
    with ModelServer() as server:
        spoilt = ServerSettings(latency=Latency(mean_s=0.03, p99_s=0.15), faults=FaultPlan(shares=SHARES))
        chosen = config(server.url, **over(failing, {"oracle": {"tape": "record"}}))
        recorded = await run(chosen, tmp_path, ready=lambda _: setattr(server, "settings", spoilt))
    tape = {"tape": "replay", "tape_path": str(tmp_path / "tape.sqlite")}
    replayed = await run(config(server.url, **over(failing, {"oracle": tape})), tmp_path)
    happened = recorded.fallbacks_by_reason
    assert {"deadline", "server_error", "connection_error", "invalid_response"} <= happened.keys()
    assert (replayed.fallbacks_by_reason, replayed.digest) == (happened, recorded.digest)


@pytest.mark.slow
def test_a_replay_with_another_seed_ends_with_the_question_that_is_not_on_the_tape(prism: Prism) -> None:
    with ModelServer() as server:
        prism("run", configure(server.url, oracle={"tape": "record"}), "--quiet", "--out", "run")
    requests = len(server.requests)
    ended = prism("run", "wire.yaml", *from_tape("run"), "--set", "simulation.seed=8", "--quiet", "--out", "again")
    assert (ended.code, ended.out, len(server.requests), ended.err.count("\n")) == (5, "", requests, 1)
    assert re.match(r"prism: again/inputs/[0-9a-f]{64}/tape\.sqlite: no answer to the question from agent ", ended.err)
    for part in (" in tick ", "'You are ", "the seed or the version is another than the recorded: oracle.tape=record"):
        assert part in ended.err


def test_past_the_most_calls_every_question_is_counted_as_spent(prism: Prism) -> None:
    with ModelServer() as server:
        cap = {"max_calls": 40, "when_spent": "fallback", "max_fallback_share": 1.0}
        ended = prism("run", configure(server.url, oracle=cap), "--quiet", "--out", "run")
    written = summary()
    assert (ended.code, written["status"], written["stopped_by"]) == (0, "done_with_fallbacks", None)
    assert (written["oracle_calls"], written["decisions_by_source"]["llm"]) == (40, 40)
    assert written["fallbacks_by_reason"] == {"spent": written["oracle_questions"] - 40}


@pytest.mark.slow
async def test_the_tape_of_a_run_that_was_stopped_by_its_cap_goes_on_without_the_cap(tmp_path: Path) -> None:
    tape, checks = tmp_path / "tape.sqlite", 3

    def on_tape(mode: str, file: Path = tape, **limits: Any) -> Sections:
        return {"oracle": {"tape": mode, "tape_path": str(file), **limits}}

    with ModelServer() as server:
        for _ in range(2):  # recorded answers count towards the cap as well
            try:
                await run(config(server.url, **on_tape("record", max_calls=40, when_spent="stop")), tmp_path)
            except* OracleSpentError:
                pass  # the tick under way could not end without an answer
            with closing(Tape(tape, "replay")) as opened:
                assert opened.statistics().answers == 40
        with pytest.raises(BaseExceptionGroup) as caught:
            await run(config(server.url, **on_tape("replay")), tmp_path)
        miss = first_error(caught.value, TapeMissError)
        assert "; its recording was stopped before this, or the configuration, the seed" in str(miss)
        assert str(miss).endswith(": oracle.tape=record with this oracle.tape_path asks what is missing and adds it")
        # Recorded again, the tape asks what it has not and nothing else, and is then as if it had never been stopped.
        before = len(server.calls)
        rest = await run(config(server.url, **on_tape("record")), tmp_path)
        assert len(server.calls) - before - checks == rest.oracle_questions - 40 > 0
        whole = await run(config(server.url, **on_tape("record", tmp_path / "whole.sqlite")), tmp_path)
        replayed = await run(config(server.url, **on_tape("replay")), tmp_path)
    assert rest.digest == whole.digest == replayed.digest


@pytest.mark.slow
def test_a_run_with_memory_is_resumed_and_forked(prism: Prism) -> None:
    with ModelServer() as server:
        name = write(over(asking(server.url), MEMORY, {"oracle": {"tape": "record"}}))
        whole = prism("run", name, "--quiet", "--out", "whole").out
        asked = remembering(server.requests)
        prism("run", name, "--quiet", "--out", "part", "--ticks", "17")
        assert prism("resume", "part", "--quiet", "--ticks", "48").out == whole
        assert prism("fork", "whole", "--quiet", "--at", "20", "--out", "fork").code == 0
        assert remembering(server.requests) > 2 * asked
    assert Path("part/journal.prism").read_bytes() == Path("whole/journal.prism").read_bytes()
    for each in ("part", "fork"):
        assert prism("replay", each, "--quiet").out.strip() == summary(each)["digest"]


def test_a_run_does_not_go_on_with_another_memory_and_a_fork_does(prism: Prism) -> None:
    with ModelServer() as server:
        name = write(over(asking(server.url), MEMORY, {"oracle": {"tape": "record"}}))
        prism("run", name, "--quiet", "--out", "part", "--ticks", "17")
        refused = prism("resume", "part", "--set", "llm.memory=5", "--accept-settings")
        assert (refused.code, "llm.memory is 5, was 4 when the run began" in refused.err) == (2, True)
        for places in ("0", "1", "9"):
            assert prism("fork", "part", "--at", "16", "--out", places, "--set", f"llm.memory={places}").code == 0
            assert prism("replay", places).code == 0


@pytest.mark.slow
async def test_replies_and_comments_have_the_texts_of_the_model_and_originals_those_of_the_templates(
    tmp_path: Path,
) -> None:
    written: dict[int, tuple[PostKind, str]] = {}

    def look(simulation: Any) -> None:
        network = simulation.domain.world.network
        for post in network.living:
            topic, text = post.topics[0] if post.topics else "this", network.text(post)
            if text != write_post(post.kind, topic, network.seed, post.author, post.created):
                written[post.id] = post.kind, text

    lively: Sections = {"population": {"size": 60, "ambiguity": 0.9, "posts_per_session": 0.5}, "feed": {"size": 3}}
    with ModelServer() as server:
        await run(config(server.url, **lively, llm={"writes": True}), tmp_path, on_tick=look)
    assert any('"reason' in json.dumps(each.body) for each in server.requests)
    assert {kind for kind, _ in written.values()} == {PostKind.REPLY, PostKind.RESHARE}
    assert all(0 < len(text) <= 280 and text.isprintable() for _, text in written.values())


async def test_people_whose_value_names_no_model_are_asked_about_with_the_first() -> None:
    by = ModelsConfig(attribute="party", models={"red": "mistral", "blue": "llama3.2"})
    options = [AgentState.SCROLLING, AgentState.ENGAGING_LIKE]
    with ModelServer(THERE) as server:
        llm = LLMConfig(host=server.url, temperature=0.0, method="json", systemone="off", by=by)
        async with aclosing(OllamaChatClient(llm)) as model:
            oracle = SocialModelOracle(model, llm, 1)
            for party in ("red", "blue", "none", "green"):
                persona = msgspec.structs.replace(ANYBODY, attributes={"party": party})
                person = SocialAgent(7, persona=persona, told={})
                await oracle.answer(person, AgentState.EVALUATING, "decides", options)
    assert oracle.answers_by_model() == {"llama3.2": 3, "mistral": 1}


def test_models_that_are_asked_in_different_ways_are_refused(prism: Prism) -> None:
    calls = itertools.count()

    def prose_from_the_third_call(*_: object) -> str:  # the first model is asked twice, which is its check
        return ("Well: " if next(calls) > 1 else "") + '{"answer": "yes"}'

    with ModelServer(ServerSettings(models=THERE.models, reply=prose_from_the_third_call)) as server:
        name = write(over(asking(server.url), PARTIES, {"llm": {**CHAT, **JSON}}))
        ended = prism("run", name, "--out", "run", "--quiet")
    assert ended.code == 5
    assert "llm.by.models: qwen2.5:0.5b is asked otherwise than llama3.2: " in ended.err


def test_what_cannot_say_which_model_is_asked_is_one_clear_line(prism: Prism) -> None:
    name = write(over(asking("http://127.0.0.1:1"), PARTIES))
    for setting, problem in (
        ("llm.by.attribute=partyy", "llm.by.attribute: no attribute 'partyy': did you mean party?"),
        ("llm.by.models={reed: a}", "llm.by.models.reed: party is never 'reed': did you mean red?"),
        ("llm.by.models={}", "llm.by.models: expected both attribute and models, or neither: models is missing"),
        ("llm.by.models={red: ''}", "llm.by.models.red: expected non-empty text, got ''"),
        ("llm.by.models={red: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD}", "llm.by.models.red: "),
        ("oracle.sharing.by=archetype", "people of one archetype would share the judgements of different models"),
        ("simulation.domain=economy", "only people on a feed have models of their own"),
    ):
        ended = prism("validate", name, "--set", setting)
        assert (ended.code, len(ended.err.strip().splitlines())) == (3, 1), setting
        assert problem in ended.err
        assert "abcdefgh" not in ended.err


def test_at_debug_the_log_has_the_reasoning_the_prompt_and_the_answer_without_secrets(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_PASSWORD", "Arvendia")  # a word in every prompt stands in for a secret
    with ModelServer() as server:
        name = write(over(asking(server.url), NATIONS))
        assert prism("run", name, "-q", "--ticks", "1", "--log-level", "debug", "--out", "all").code == 0
        assert prism("run", name, "-q", "--ticks", "1", "--out", "usual").code == 0
    logged = Path("all/log.jsonl").read_text()
    events = [json.loads(line) for line in logged.splitlines()]
    kinds = Counter(event["event"].partition(" ")[0] for event in events if event["level"] == "debug")
    assert kinds["llm_reasoning_chain"] == kinds["llm_exchange"] > 5
    assert kinds["llm_prompt"] >= kinds["llm_exchange"]
    assert ("[redacted]" in logged, "Arvendia" in logged) == (True, False)
    assert '"debug"' not in Path("usual/log.jsonl").read_text()
    assert summary("all")["digest"] == summary("usual")["digest"]


FAILS_IN = 7
"""The turn whose second application gets no answer."""


@pytest.mark.slow
def test_the_failure_of_a_second_application_ends_the_run_with_the_turn_before_and_a_resumed_one_is_as_if_undisturbed(
    prism: Prism,
) -> None:
    taped = {"oracle": {"tape": "record"}}
    with ModelServer() as server:
        prism("run", write(over(asking(server.url), NATIONS, taped)), "-q", "--out", "undisturbed")
        fails, usual = second_application(server, FAILS_IN), asked(server)
    with ModelServer(ServerSettings(faults=FaultPlan(at={fails: Fault.ERROR}))) as server:
        name = write(over(asking(server.url), NATIONS, taped))
        once = ("--set", "oracle.max_attempts=1", "--set", "oracle.on_outage=fallback")
        ended = prism("run", name, "-q", *once, "--out", "disturbed")
        assert (ended.code, ended.out) == (5, "")
        (line,) = [each for each in ended.err.splitlines() if each.startswith("prism: ")]
        assert f"got no answer to 'apply' in tick {FAILS_IN}: server_error (" in line
        assert f"; the run ends with the {FAILS_IN} ticks before it" in line
        assert len(turns("disturbed")) == len(rounds("disturbed")) == FAILS_IN
        assert Path("disturbed", f"checkpoint-{FAILS_IN:012d}.bin").exists()
        assert turns("disturbed") == turns("undisturbed")[:FAILS_IN]
        assert prism("resume", "disturbed", "-q").code == 0
        assert (asked(server) - usual).total() == 1, "the failed call, and no answer that had come"
    assert turns("disturbed") == turns("undisturbed"), "every question, policy, judgement and rate"
    assert rounds("disturbed") == rounds("undisturbed")
    digest = summary("disturbed")["digest"]
    assert prism("replay", "disturbed", "-q").out.strip() == digest
    assert prism("run", name, "-q", *from_tape("disturbed"), "--out", "again").out.strip() == digest


def second_application(server: ModelServer, turn: int) -> int:
    """The number of the call by which the second proposal of a turn is applied. Applications come one at a time."""
    texts = [str(call.body) for call in server.calls]
    begins = [number for number, text in enumerate(texts) if "economic policy advisor" in text][::NATIONS_ASKED]
    applied = [number for number, text in enumerate(texts) if "economic simulation engine" in text]
    first, second, *_ = [number for number in applied if number > begins[turn]]
    assert second == first + 1
    return server.calls[second].call or 0


def asked(server: ModelServer) -> Counter[str]:
    """Return how often each proposal and each rate was asked for. Two equal judgements may be one on a tape."""
    texts = (json.dumps(call.body, sort_keys=True) for call in server.calls)
    return Counter(text for text in texts if "economic policy advisor" in text or "economic simulation engine" in text)


def turns(name: str) -> list[Any]:
    """Return what the journal has of each turn: questions and updates, without the time that answers took."""
    return [*ticks_of(Path(name))]


def rounds(name: str) -> list[str]:
    """The rows of the series."""
    return Path(name, "rounds.csv").read_text().splitlines()[1:]


def test_a_question_without_an_answer_is_asked_again_and_the_end_says_how_often(prism: Prism) -> None:
    told: list[str] = []

    def silent(messages: Sequence[Mapping[str, object]], options: Mapping[str, object], form: object) -> str:
        told.append(json.dumps(messages))
        distinct = [*dict.fromkeys(told)]
        return "" if len(distinct) > 2 and told[-1] == distinct[2] else made_up(messages, 0, form)

    with ModelServer(ServerSettings(reply=silent)) as server:
        name = write(over(asking(server.url), NATIONS, {"oracle": {"tape": "record"}}))
        ended = prism("run", name, "-q", "--out", "live")
    times = told.count([*dict.fromkeys(told)][2])
    assert f"the answer is empty); it was asked {times} times; nothing was run" in ended.err
    assert (ended.code, times in {3, 4}) == (5, True)  # an attempt that meets an outage is none
