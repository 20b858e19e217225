"""Different models for different people: each is asked about their own, which is checked at the start."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from prism.agents.social_agent import ANYBODY, SocialAgent
from prism.config import LLMConfig, ModelsConfig
from prism.llm import OllamaChatClient
from prism.llm.oracle import SocialModelOracle
from prism.statechart import AgentState
from tests.command import Prism
from tests.standin import ModelServer, ServerSettings

SETTINGS = """
simulation: {{rounds: 2, ticks_per_round: 16, seed: 5}}
population:
  size: 60
  deliberation_minutes: 2
  ambiguity: 0.9
  activity: {{mean: 0.9, sigma: 0.1}}
  attributes:
    party: {{type: text, values: [red, blue, none]}}
oracle: {{backend: ollama, tape: record}}
llm: {{host: "{host}", timeout_s: 120.0, by: {{attribute: party, models: {{red: "qwen2.5:0.5b", blue: mistral}}}}}}
"""
MODELS = {"red": "qwen2.5:0.5b", "blue": "mistral", "none": "llama3.2"}
THERE = ServerSettings(models=tuple(MODELS.values()))
WAYS = {
    "chat": ("--set", "llm.systemone=off", "--set", "llm.method=json"),
    "at temperature 0": ("--set", "llm.method=json", "--set", "llm.temperature=0"),
    "probabilities": (),
    "openai": ("--set", "oracle.backend=openai"),
}


@pytest.fixture
def prism(command: Prism) -> Prism:
    return command


def write(path: Path, host: str) -> str:
    """Return the name of a configuration that asks this server."""
    (path / "models.yaml").write_text(SETTINGS.format(host=host))
    return "models.yaml"


def chats_from_the_third_call() -> Callable[..., str]:
    """Return a reply hook that puts JSON into prose once the first model was asked twice, which is its check."""
    calls = itertools.count()

    def reply(*_: object) -> str:
        return ("Well: " if next(calls) > 1 else "") + '{"answer": "yes"}'

    return reply


def asked(server: ModelServer) -> list[tuple[str, str]]:
    """Return the party of the person, and the model, of each request about a person."""
    found = []
    for each in server.calls:
        party = re.search(r'Your party is \\+"(\w+)', json.dumps(each.body))
        if party is not None:
            found.append((party[1], each.body["model"]))
    return found


@pytest.mark.everyday(1)
@pytest.mark.parametrize("way", WAYS)
def test_everybody_is_asked_about_with_their_own_model_and_the_tape_gives_the_same_run(
    way: str, prism: Prism, tmp_path: Path
) -> None:
    with ModelServer(THERE) as server:
        whole = prism("run", write(tmp_path, server.url), *WAYS[way], "--out", "whole", "--quiet").out
        requests = asked(server)
    assert {party for party, _ in requests} == {*MODELS}
    assert len(requests) > 30
    assert all(model == MODELS[party] for party, model in requests)
    tape = ("--set", "oracle.tape=replay", "--set", "oracle.tape_path=whole/tape.sqlite")
    assert prism("run", "models.yaml", *WAYS[way], *tape, "--out", "again", "--quiet").out == whole
    swapped = prism("run", "models.yaml", *WAYS[way], *tape, "--set", "llm.by.models={red: mistral}", "--quiet")
    assert swapped.code == 5
    assert "no answer to the question from agent" in swapped.err


async def test_people_whose_value_names_no_model_are_asked_about_with_the_first() -> None:
    by = ModelsConfig(attribute="party", models={"red": "mistral", "blue": "llama3.2"})
    llm = LLMConfig(temperature=0.0, method="json", systemone="off", by=by)
    options = [AgentState.SCROLLING, AgentState.ENGAGING_LIKE]
    people = {
        party: SocialAgent(7, persona=msgspec.structs.replace(ANYBODY, attributes={"party": party}), told={})
        for party in ("red", "blue", "none", "green")
    }
    with ModelServer(THERE) as server:
        config = msgspec.structs.replace(llm, host=server.url)
        async with aclosing(OllamaChatClient(config)) as model:
            oracle = SocialModelOracle(model, config, 1)
            for person in people.values():
                await oracle.answer(person, AgentState.EVALUATING, "decides", options)
    assert oracle.answers_by_model() == {"llama3.2": 3, "mistral": 1}


def test_models_that_are_asked_in_different_ways_are_refused(prism: Prism, tmp_path: Path) -> None:
    with ModelServer(THERE) as server:
        server.settings = ServerSettings(models=THERE.models, reply=chats_from_the_third_call())
        ended = prism("run", write(tmp_path, server.url), *WAYS["chat"], "--out", "run", "--quiet")
    assert ended.code == 5
    assert "llm.by.models: qwen2.5:0.5b is asked otherwise than llama3.2: " in ended.err


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("llm.by.attribute=partyy", "llm.by.attribute: no attribute 'partyy': did you mean party?"),
        ("llm.by.models={reed: a}", "llm.by.models.reed: party is never 'reed': did you mean red?"),
        ("llm.by.models={}", "llm.by.models: expected both attribute and models, or neither: models is missing"),
        ("llm.by.models={red: ''}", "llm.by.models.red: expected non-empty text, got ''"),
        ("llm.by.models={red: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD}", "llm.by.models.red: "),
        ("oracle.sharing.by=archetype", "people of one archetype would share the judgements of different models"),
        ("simulation.domain=economy", "only people on a feed have models of their own"),
    ],
)
def test_what_cannot_say_which_model_is_asked_is_one_clear_line(
    setting: str, problem: str, prism: Prism, tmp_path: Path
) -> None:
    ended = prism("validate", write(tmp_path, "http://127.0.0.1:1"), "--set", setting)
    assert ended.code == 3
    assert problem in ended.err
    assert "abcdefgh" not in ended.err
    assert len(ended.err.strip().splitlines()) == 1
