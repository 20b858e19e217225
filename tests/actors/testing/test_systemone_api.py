"""Decisions with probabilities: their answers, their refusals, and how they break."""

from typing import Any

import pytest

from actors.testing import WRONG_STATE, Fault, FaultPlan, ModelServer, ServerSettings, SystemOne
from tests.actors.testing.support import DECISION, QUESTION, STATES, ollama_client, serving
from tests.catalogue import catalogue


async def test_systemone_gives_a_probability_for_each_option() -> None:
    questions: dict[str, Any] = {
        "next": QUESTION,
        "bored": {"type": "noul", "instructions": "Bored?"},
        "mood": {"type": "score", "instructions": "Mood?", "criteria": ["low", "middling", "high"]},
    }
    async with ModelServer() as server, ollama_client(server) as client:
        said = await client.systemone("llama3.2", "a long day", questions)
        again = await client.systemone("llama3.2", "a long day", questions)
    choice = said.answers["next"]
    assert choice.type == "choice"
    assert list(choice.probabilities) == STATES
    assert sum(choice.probabilities.values()) == pytest.approx(1)
    assert choice.choice == max(STATES, key=choice.probabilities.__getitem__)
    assert 0 <= choice.confidence <= 1
    assert said.answers == again.answers
    assert said.usage.input_tokens > 0


@catalogue(
    ("mode", "body", "status", "error"),
    [
        (SystemOne.UNSUITED, DECISION, 400, "registry.ollama.ai/library/llama3.2:latest does not support decision"),
        (SystemOne.ON, {**DECISION, "questions": {}}, 400, "questions must contain 1\u201364 fields"),
        (SystemOne.ON, {**DECISION, "state": ""}, 400, "state must not be empty"),
        (SystemOne.ON, {**DECISION, "model": "x"}, 404, "model 'x' not found"),
        (SystemOne.ON, {**DECISION, "state": "x" * 70_000}, 413, "request body too large"),
    ],
)
async def test_systemone_refuses_as_the_server_does(mode: SystemOne, body: Any, status: int, error: str) -> None:
    async with serving(ServerSettings(systemone=mode)) as (_, client):
        response = await client.post("/v1/systemone", json=body)
    assert (response.status_code, response.json()) == (status, {"error": error})


async def test_systemone_is_no_route_where_it_is_off() -> None:
    async with serving(ServerSettings(systemone=SystemOne.OFF)) as (_, client):
        response = await client.post("/v1/systemone", json=DECISION)
    assert (response.status_code, response.text) == (404, "404 page not found")


async def test_content_faults_of_systemone_break_its_answers() -> None:
    plan = FaultPlan(at={1: Fault.NOT_JSON, 2: Fault.WRONG_STATE, 3: Fault.EMPTY, 4: Fault.NOT_DONE})
    async with serving(ServerSettings(faults=plan)) as (_, client):
        prose, wrong, empty, unfinished = [await client.post("/v1/systemone", json=DECISION) for _ in range(4)]
    with pytest.raises(ValueError, match="Expecting value"):
        prose.json()
    assert wrong.json()["answers"]["next"]["choice"] == WRONG_STATE
    assert (empty.json()["answers"], unfinished.json()["answers"]) == ({}, {})
