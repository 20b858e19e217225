"""Answers are valid for their schema, come to an end, and refuse a schema that cannot be filled."""

import json
from typing import Any

import pytest

from actors.testing import ServerSettings
from actors.testing.answers import MAX_DEPTH, MAX_LENGTH, MAX_VALUES, answer
from actors.testing.errors import ApiError
from tests.actors.testing.support import ASKED, CHAT, serving
from tests.catalogue import catalogue

TREE = {
    "$ref": "#/$defs/Tree",
    "$defs": {
        "Tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                "next": {"$ref": "#/$defs/Tree"},
            },
            "required": ["name"],
        }
    },
}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return schema


def test_an_answer_to_a_recursive_schema_comes_to_an_end() -> None:
    said = json.loads(answer(ASKED, 1, TREE))
    assert set(said) == {"name", "below", "next"}


@catalogue(
    "schema",
    [
        {"type": "no such type"},
        {"enum": []},
        {"anyOf": []},
        {"anyOf": [3]},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#/$defs/Round", "$defs": {"Round": {"$ref": "#/$defs/Round"}}},
        {"type": "integer", "multipleOf": 0},
        {"type": "integer", "minimum": 1e308, "maximum": 1e309},
        {"type": "number", "minimum": 10**400},
        {"type": "string", "minLength": MAX_LENGTH + 1},
        {"type": "array", "items": {}, "minItems": MAX_LENGTH + 1},
        {"type": "array", "minItems": 200, "items": {"type": "array", "minItems": MAX_VALUES // 200, "items": {}}},
        nested(MAX_DEPTH + 1),
        {"type": "object", "properties": {"x": TREE, "y": {"$ref": "#/properties/y"}}},
    ],
)
async def test_a_schema_that_cannot_be_filled_is_refused_with_ollamas_words(schema: dict[str, Any]) -> None:
    with pytest.raises(ApiError):
        answer(ASKED, 1, schema)
    async with serving() as (_, client):
        response = await client.post("/api/chat", content=json.dumps({**CHAT, "format": schema}))
    assert (response.status_code, response.json()) == (500, {"error": "invalid JSON schema in format"})


def test_a_schema_at_the_limits_is_filled() -> None:
    assert json.loads(answer(ASKED, 1, nested(MAX_DEPTH))) is not None
    assert len(json.loads(answer(ASKED, 1, {"type": "string", "minLength": MAX_LENGTH}))) == MAX_LENGTH


def test_a_prompt_full_of_braces_is_answered_all_the_same() -> None:
    for text in ("{" * 100_000, '{"a":' * 100_000):
        assert answer([{"role": "user", "content": text}], 1, None)


async def test_figures_that_are_no_numbers_are_read_as_far_as_they_are() -> None:
    schema = {"type": "object", "properties": {"action": {"type": "string"}, "reasoning": {"type": "string"}}}
    asked = [{"role": "user", "content": f"Inflation: 1.2.3%\nUnemployment: {'9' * 400}%\nInterest Rate: 1e-400%"}]
    async with serving() as (_, client):
        response = await client.post("/api/chat", json={**CHAT, "messages": asked, "format": schema})
    assert set(json.loads(response.json()["message"]["content"])) == {"action", "reasoning", "confidence"}


@pytest.mark.parametrize("live", [False, True])
async def test_another_server_gives_the_same_answers_in_the_same_order(live: bool) -> None:
    said = []
    for _ in range(2):
        async with serving(ServerSettings(live=live)) as (_, client):
            said.append([(await client.post("/api/chat", json={**CHAT, "format": None})).text for _ in range(3)])
    first, second = ([json.loads(text)["message"]["content"] for text in texts] for texts in said)
    assert first == second
    assert len(set(first)) == (3 if live else 1)
