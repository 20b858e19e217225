"""Whole runs on tape: recorded against a server, stopped, gone on with, and run again without one."""

import itertools
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from actors.core.errors import first_error
from prism.agents import Update
from prism.errors import OracleSpentError
from prism.llm import Tape, TapeMissError
from tests.command import Prism
from tests.recorded import ticks_of
from tests.standin import Logprobs, ModelServer, ServerSettings
from tests.wire.support import CHAT, ECONOMY, PEOPLE, Sections, asking, config, from_tape, over, run, summary, write

TURNS, NATIONS_ASKED = 12, 5
NATIONS = over(
    ECONOMY, {"simulation": {"rounds": TURNS}, "economy": {"macro": {"gap_shock": 0.82, "inflation_shock": 1.01}}}
)
LIVELY: Sections = {"size": 40, "deliberation_minutes": 2, "ambiguity": 0.9, "posts_per_session": 0.5}
MEMORY: Sections = {
    "simulation": {"rounds": 3, "ticks_per_round": 16, "seed": 5},
    "population": {**LIVELY, "activity": {"mean": 0.9, "sigma": 0.1}},
    "llm": {"memory": 4, "writes": True},
    "run": {"checkpoint_every_ticks": 7},
}
MODELS = {"red": "qwen2.5:0.5b", "blue": "mistral", "none": "llama3.2"}
PARTIES = over(
    MEMORY,
    {
        "simulation": {"rounds": 2},
        "population": {"size": 60, "attributes": {"party": {"type": "text", "values": [*MODELS]}}},
        "llm": {"memory": 0, "writes": False, "by": {"attribute": "party", "models": {**MODELS}}, "method": "json"},
    },
    {"llm": CHAT},
)
del PARTIES["llm"]["by"]["models"]["none"]  # who has no model of their own is asked about with the first
THERE = ServerSettings(models=tuple(MODELS.values()))
TAPED: Sections = {"oracle": {"tape": "record"}}


LETTERS = over(PEOPLE, {"oracle": {"backend": "openai"}, "llm": {"method": "probabilities"}})
WAYS: dict[str, tuple[Sections, ServerSettings, str | None]] = {
    "probabilities": (PEOPLE, ServerSettings(), "systemone"),
    "models": (PARTIES, THERE, None),
    "letters": (LETTERS, ServerSettings(logprobs=Logprobs.GRAMMAR), "logprobs"),
    "economy": (NATIONS, ServerSettings(), None),
    "memory": (MEMORY, ServerSettings(), None),
}
"""Ways of asking: the run's sections, the server, and how each decision is made."""


@pytest.mark.everyday(2)
@pytest.mark.parametrize("way", WAYS)
def test_a_recorded_run_is_the_same_run_without_the_server_and_without_a_request(way: str, prism: Prism) -> None:
    sections, serves, method = WAYS[way]
    with ModelServer(serves) as server:
        name = write(over(asking(server.url), sections, TAPED))
        ended = prism("run", name, "--quiet", "--out", "live")
        assert ended.code == 0, ended.err
    requests = len(server.requests)
    assert prism("run", name, *from_tape("live"), "--quiet", "--out", "again").out == ended.out
    assert prism("replay", "live", "--quiet").out == ended.out
    live, again = summary("live"), summary("again")
    assert (len(server.requests), again["oracle_calls"]) == (requests, 0)
    for how in ("llm", "decisions_by_source", "decisions_by_method"):
        assert live[how] == again[how], "tokens and latencies, too, are those of the recording"
    assert method is None or live["decisions_by_method"] == {method: live["oracle_questions"]}
    if way == "economy":
        lines = [json.loads(line) for line in Path("live/log.jsonl").read_text().splitlines()]
        skipped = [line["level"] for line in lines if line["event"].startswith("SKIPPED Agent [")]
        assert skipped == ["info"] * live["rejected"] != [], "the model has ideas that are not economic"
        assert live["decisions_by_source"]["llm"] == live["llm"]["calls"]["ok"]
        assert live["llm"]["calls"]["ok"] == 2 * NATIONS_ASKED * TURNS + live["applied"]
    elif way == "models":
        parties = ((re.search(r"Your party is \W+(\w+)", str(call.body)), call.body["model"]) for call in server.calls)
        asked = {(party[1], model) for party, model in parties if party}
        assert asked == {*MODELS.items()}
        swapped = prism("run", name, *from_tape("live"), "--set", "llm.by.models={red: mistral}", "--quiet")
        assert (swapped.code, "no answer to the question from agent" in swapped.err) == (5, True)
    elif way == "memory":
        assert sum("You remember:" in str(each.body) for each in server.requests) > 20
        updates = itertools.chain.from_iterable(ticks_of(Path("live"), Update))
        assert sum(each.source == "llm" and isinstance(each.effect, list) for each in updates) > 5, "texts of the model"


@pytest.mark.slow
async def test_the_tape_of_a_run_that_was_stopped_by_its_cap_goes_on_without_the_cap(tmp_path: Path) -> None:
    tape = tmp_path / "tape.sqlite"

    def on_tape(mode: str, file: Path = tape, **limits: Any) -> Sections:
        return {"oracle": {"tape": mode, "tape_path": str(file), **limits}}

    with ModelServer() as server:
        for _ in range(2):  # recorded answers count towards the cap as well
            try:
                await run(config(server.url, **on_tape("record", max_calls=40, when_spent="stop")), tmp_path)
            except* OracleSpentError:
                pass  # the tick under way could not end without an answer
            with closing(Tape(tape, "replay")) as opened:
                assert opened.statistics().total() == 40
        with pytest.raises(BaseExceptionGroup) as caught:
            await run(config(server.url, **on_tape("replay")), tmp_path)
        miss = first_error(caught.value, TapeMissError)
        assert str(miss).endswith(
            ": oracle.tape=record with the original oracle.tape_path asks what is missing and adds it"
        )
        # Recorded again, the tape asks what it has not and nothing else, and is then as if it had never been stopped.
        before = len(server.calls)
        rest = await run(config(server.url, **on_tape("record")), tmp_path)
        assert len(server.calls) - before - 3 == rest.oracle_questions - 40 > 0
        whole = await run(config(server.url, **on_tape("record", tmp_path / "whole.sqlite")), tmp_path)
        replayed = await run(config(server.url, **on_tape("replay")), tmp_path)
    assert rest.digest == whole.digest == replayed.digest


def test_a_run_with_memory_is_resumed_and_forked_and_goes_on_with_no_other_memory(prism: Prism) -> None:
    with ModelServer() as server:
        name = write(over(asking(server.url), MEMORY, TAPED))
        whole = prism("run", name, "--quiet", "--out", "whole").out
        prism("run", name, "--quiet", "--out", "part", "--ticks", "17")
        refused = prism("resume", "part", "--set", "llm.memory=5", "--accept-settings")
        assert (refused.code, "llm.memory is 5, was 4 when the run began" in refused.err) == (2, True)
        assert prism("resume", "part", "--quiet", "--ticks", "48").out == whole
        fork = ("fork", "whole", "--quiet", "--at", "20", "--out", "fork", "--set", "llm.memory=1")
        assert prism(*fork).code == 0
    assert Path("part/journal.prism").read_bytes() == Path("whole/journal.prism").read_bytes()
    for each in ("part", "fork"):
        assert prism("replay", each, "--quiet").out.strip() == summary(each)["digest"]


def test_models_that_are_asked_in_different_ways_are_refused(prism: Prism) -> None:
    calls = itertools.count()

    def prose_from_the_third_call(*_: object) -> str:  # the first model is asked twice, which is its check
        return ("Well: " if next(calls) > 1 else "") + '{"answer": "yes"}'

    with ModelServer(ServerSettings(models=THERE.models, reply=prose_from_the_third_call)) as server:
        ended = prism("run", write(over(asking(server.url), PARTIES)), "--out", "run", "--quiet")
    assert ended.code == 5
    assert "llm.by.models: qwen2.5:0.5b is asked otherwise than llama3.2: " in ended.err
