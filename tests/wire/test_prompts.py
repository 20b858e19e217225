"""Templates of users in whole runs: kept in the record, found on the tape, and shown before the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from prism.llm.prompt import order_of
from tests.command import Prism
from tests.standin import ModelServer, ServerSettings, SystemOne
from tests.wire.support import PEOPLE

MINE = """What would this person do? They may
{options}
{answer}
---
{name} is {attributes.age} and sees
{seen_list}
"""
AGE = {"attributes": {"age": {"type": "int", "default": 40}}, "size": 120}
SEEDED = {"simulation": {"rounds": 2, "seed": 7}, "population": AGE}


def test_a_run_keeps_its_template_and_is_replayed_from_its_tape_without_the_file(
    prism: Prism, quietly: Prism, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text(MINE)
    llm = {"systemone": "off", "prompt": "mine.txt"}
    with ModelServer(ServerSettings(systemone=SystemOne.OFF)) as server:
        ended = prism(server.url, llm=llm, oracle={"tape": "record", "max_concurrency": 1}, **SEEDED)
        bodies = [call.body for call in server.calls if call.request_id]
    assert ended.code == 0, ended.err
    (kept,) = (tmp_path / "run" / "inputs").glob("*/mine.txt")
    assert kept.read_text() == MINE
    assert (
        str(kept.relative_to(tmp_path / "run"))
        in json.loads((tmp_path / "run" / "manifest.json").read_text())["inputs"]
    )
    shown = [[line[2:] for line in body["messages"][0]["content"].split("\n") if line[0] == "-"] for body in bodies]
    assert len({*map(tuple, shown)}) > 12
    assert all(" is 40 and sees\n- author: " in body["messages"][1]["content"] for body in bodies)
    (tmp_path / "mine.txt").unlink()
    assert quietly("replay", "run").out == ended.out
    tape = {"tape": "replay", "tape_path": "run/tape.sqlite"}
    assert (
        prism("http://127.0.0.1:9", out="again", llm={**llm, "prompt": str(kept)}, oracle=tape, **SEEDED).out
        == ended.out
    )
    other = prism("http://127.0.0.1:9", out="other", llm={**llm, "prompt": "list"}, oracle=tape, **SEEDED)
    assert (other.code, "no answer to the question" in other.err) == (5, True)


def test_a_fixed_order_is_that_of_the_chart_and_a_drawn_one_follows_from_seed_agent_and_tick(prism: Prism) -> None:
    words = ["scroll on", "like the post", "reshare the post", "write a reply"]
    for order in ("fixed", "drawn"):
        with ModelServer(ServerSettings(systemone=SystemOne.OFF)) as server:
            ended = prism(server.url, out=order, llm={"systemone": "off", "order": order}, **SEEDED)
            calls = [call for call in server.calls if call.request_id]
        assert ended.code == 0, ended.err
        for call in calls:
            tick, agent = map(int, str(call.request_id).split("-")[:2])
            shown = re.findall(r"^- (.*)$", call.body["messages"][1]["content"], re.MULTILINE)
            places = order_of(7, agent, tick, 4) if order == "drawn" else range(4)
            assert shown == [words[place] for place in places]


def test_validate_shows_the_first_prompt_and_what_was_filled_in(command: Prism, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(MINE)
    people = {**PEOPLE["population"], **AGE}
    (tmp_path / "c.yaml").write_text(
        json.dumps({"llm": {"prompt": "mine.txt"}, **PEOPLE, "oracle": {"backend": "ollama"}, "population": people})
    )
    ended = command("validate", "c.yaml", "--prompt")
    assert ended.code == 0, ended.err
    assert "--- system\nWhat would this person do? They may\n- " in ended.out
    assert "{attributes.age}: 40\n" in ended.out
    assert re.search(r"\{seen_list\}: - author: ", ended.out)
    unread = "without effect: population.attributes.age: nothing in the run reads it"
    assert unread not in ended.out
    (tmp_path / "mine.txt").write_text(MINE.replace("{attributes.age}", "somebody"))
    assert unread in command("validate", "c.yaml").out
    for line, told in {
        "{nme}": "mine.txt:8: {nme}: no such placeholder; did you mean name?",
        "{attributes.aeg}": "mine.txt:8: {attributes.aeg}: no such attribute; did you mean age?",
    }.items():
        (tmp_path / "mine.txt").write_text(f"{MINE}\n{line}\n")
        refused = command("validate", "c.yaml")
        assert (refused.code, refused.err) == (3, f"prism: {told}\n")
    (tmp_path / "mine.txt").write_text(MINE)
    forgetful = command("validate", "c.yaml", "--set", "llm.memory=3")
    assert (forgetful.code, "mine.txt: the template has no {memory}, " in forgetful.err) == (3, True)
    (tmp_path / "mine.txt").unlink()
    missing = command("validate", "c.yaml")
    assert missing.code == 3
    assert "llm.prompt: mine.txt: no such file in " in missing.err


def test_an_adviser_of_an_economy_has_a_template_too(prism: Prism, command: Prism, tmp_path: Path) -> None:
    (tmp_path / "adviser.txt").write_text("Rates for {name}?\n{answer}\n---\nInflation {seen.inflation}\n{seen}\n")
    settings: dict[str, Any] = {
        "simulation": {"domain": "economy", "rounds": 2, "ticks_per_round": 1, "tick_seconds": 7889400},
        "llm": {"prompt": "adviser.txt", "num_ctx": 4096},
        "population": {"deliberation_minutes": 0},
    }
    with ModelServer() as server:
        settings["llm"] |= {"host": server.url}
        (tmp_path / "e.yaml").write_text(json.dumps({**settings, "oracle": {"backend": "ollama"}}))
        ended = command("run", "e.yaml", "--quiet", "--out", "run")
        prompts = [str(call.body["messages"][-1]["content"]) for call in server.calls if call.request_id]
    assert ended.code == 0, ended.err
    assert any(re.match(r'Rates for "\w+"\?\nRespond with JSON only:\n\{\n  "action"', prompt) for prompt in prompts)
    assert any("\nInflation 2.0\n- GDP Growth: " in prompt for prompt in prompts)
    (tmp_path / "adviser.txt").write_text("{answer}{person}")
    refused = command("validate", "e.yaml")
    assert refused.code == 3
    assert refused.err.startswith("prism: adviser.txt:1: {person}: no such placeholder; ")
    listed = command("validate", "e.yaml", "--set", "llm.prompt=list")
    assert listed.err.startswith("prism: --set: llm.prompt: list is about people on a feed; ")
