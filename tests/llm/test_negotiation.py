"""The negotiation with a server: the fields that a refusal names, and the order and number of its questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from prism.llm import Completion, LLMFailureException
from prism.llm.capabilities import Capabilities, Reply, UnusableReplyError
from prism.llm.http import StatusError
from prism.llm.negotiation import MOST_REQUESTS, OPENAI, Negotiation, named_in
from tests.catalogue import catalogue

YES = '{"answer": "yes"}'
Answer = Callable[[Capabilities], str]


def failure(status: int, body: Any) -> LLMFailureException:
    """Return the failure of a refusal, as a call has it."""
    cause = StatusError(status, body if isinstance(body, str) else json.dumps(body))
    reason: Any = "client_error" if status < 500 else "server_error"
    error = LLMFailureException(reason, status_code=status, detail=str(cause))
    error.__cause__ = cause
    return error


def unusable(problem: Any, **reply: Any) -> LLMFailureException:
    """Return the failure of a reply without an answer, as a call has it."""
    cause = UnusableReplyError(problem, Reply(**{"ending": "stop", **reply}), f"the answer is {problem}")
    error = LLMFailureException("invalid_response", detail=str(cause))
    error.__cause__ = cause
    return error


class Server:
    """A server as a function from the way in which it is asked; `asked` keeps the ways."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Capabilities] = []
        self._answer = answer

    async def __call__(self, way: Capabilities, _deadline_s: float) -> Completion:
        self.asked.append(way)
        return Completion(text=self._answer(way), model="m", prompt_tokens=1, completion_tokens=1, latency_s=0.0)

    async def negotiate(self, **options: Any) -> Negotiation:
        negotiation = Negotiation(OPENAI, OPENAI.first, self, **{"num_predict": 64, **options})
        await negotiation.agree(1.0, 1.0)
        return negotiation


@catalogue(
    ("body", "names"),
    [
        ({"error": {"message": "Use 'max_completion_tokens'", "param": "max_tokens"}}, ["token_field"]),
        ({"error": {"message": "no", "param": "messages[0].role"}}, ["roles"]),
        ({"error": {"message": "Invalid", "param": "response_format.type"}}, ["schema"]),
        ({"error": "unknown field: maxTokens"}, ["token_field"]),
        ({"error": {"message": "Seed and temperature are fixed here"}}, ["seed", "temperature"]),
        ({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs", "input": {"temperature": 1}}]}, ["seed"]),
        ({"message": {"detail": [{"loc": ["body", "random_seed"], "input": {"max_tokens": 1}}]}}, ["seed"]),
        ("System role not supported", ["roles"]),
        ('{"error":"invalid format: expected \\"json\\""}', ["schema"]),
        ("stream must be true", ["stream"]),
        ("Bad Request", []),
        ({"error": {"message": "The model is overloaded", "param": None}}, []),
        ("[" * 100_000, []),
    ],
)
def test_a_refusal_names_fields_where_it_has_a_place_for_them_and_else_in_its_words(
    body: Any, names: list[str]
) -> None:
    assert named_in(body if isinstance(body, str) else json.dumps(body)) == names


async def test_a_temperature_is_not_given_up_for_a_seed_that_was_refused_without_a_word() -> None:
    def answer(way: Capabilities) -> str:
        if way.seed == "seed":
            raise failure(400, "no")
        return YES

    server = Server(answer)
    found = await server.negotiate()
    assert found.way == replace(OPENAI.first, seed="random_seed")
    assert found.requests <= MOST_REQUESTS


async def test_a_server_that_takes_nothing_optional_is_asked_with_nothing() -> None:
    def answer(way: Capabilities) -> str:
        if {way.seed, way.temperature, way.token_field} != {"none"} or way.schema != "prompt" or way.roles == "system":
            raise failure(400, "no")
        return f"Well: {YES}"

    found = await Server(answer).negotiate()
    assert (found.way.seed, found.way.temperature, found.way.token_field) == ("none", "none", "none")
    assert (found.way.schema, found.way.roles, found.way.unsent) == ("prompt", "merged", ())


async def test_not_to_think_comes_before_a_longer_answer() -> None:
    def answer(way: Capabilities) -> str:
        if way.thinking == "off_by_template":
            raise failure(400, {"error": {"param": "chat_template_kwargs", "message": "unknown"}})
        if way.thinking == "off_by_effort":
            return YES
        raise unusable("cut", reasoning="Hm...", ending="cut")

    server = Server(answer)
    found = await server.negotiate()
    assert (found.way.thinking, found.way.token_floor) == ("off_by_effort", 0)
    assert found.requests == 4


@catalogue("reason", ["overloaded", "loading", "server_error", "connection_error"])
async def test_a_failure_that_may_pass_is_no_request_of_a_negotiation(reason: Any) -> None:
    failures = iter([LLMFailureException(reason), LLMFailureException(reason)])

    def answer(_: Capabilities) -> str:
        for each in failures:
            raise each
        return YES

    assert (await Server(answer).negotiate()).requests == 2


async def test_a_model_that_cannot_but_think_gets_more_tokens() -> None:
    def answer(way: Capabilities) -> str:
        if way.token_floor < 1024:
            raise unusable("cut", reasoning="Hm...", ending="cut")
        return YES

    found = await Server(answer).negotiate()
    assert found.way == replace(OPENAI.first, token_floor=1024)


async def test_a_limit_that_is_high_already_is_not_lowered() -> None:
    def answer(way: Capabilities) -> str:
        raise unusable("cut", content="{", ending="cut")

    server = Server(answer)
    with pytest.raises(LLMFailureException, match="the answer is cut"):
        await server.negotiate(num_predict=512)
    assert {way.token_floor for way in server.asked} == {0, 256, 1024}
    assert all(way.limit(512) >= 512 for way in server.asked)


async def test_a_refusal_of_a_remedy_leads_to_the_next_remedy() -> None:
    def answer(way: Capabilities) -> str:
        if way.schema in ("json_schema", "prompt"):
            return YES if way.schema == "prompt" else "Yes."
        raise failure(422, "no")

    found = await Server(answer).negotiate()
    assert found.way == replace(OPENAI.first, schema="prompt")


@catalogue("status", [401, 402, 403, 409, 413])
async def test_a_refusal_that_no_field_can_mend_ends_the_negotiation(status: int) -> None:
    def answer(_: Capabilities) -> str:
        raise failure(status, {"error": "seed"})

    server = Server(answer)
    with pytest.raises(LLMFailureException):
        await server.negotiate()
    assert len(server.asked) == 1


async def test_a_path_of_the_users_own_is_the_only_one() -> None:
    def answer(_: Capabilities) -> str:
        raise failure(404, "404 page not found")

    server = Server(answer)
    with pytest.raises(LLMFailureException):
        await server.negotiate(path_is_set=True)
    assert [way.path for way in server.asked] == [OPENAI.first.path]


@catalogue("seed", range(20))
async def test_a_negotiation_ends_whatever_the_server_says(seed: int) -> None:
    outcomes: list[Callable[[], str]] = [
        lambda: _raised(failure(400, "temperature")),
        lambda: _raised(failure(422, {"detail": [{"loc": ["seed"]}]})),
        lambda: _raised(failure(400, "")),
        lambda: _raised(unusable("cut", ending="cut", reasoning="x")),
        lambda: _raised(unusable("empty", tool_call="{}")),
        lambda: _raised(unusable("unfinished", ending="unstated")),
        lambda: "<think>no",
        lambda: "prose",
    ]
    server = Server(lambda way: outcomes[hash((seed, way)) % len(outcomes)]())
    with pytest.raises(LLMFailureException):
        await server.negotiate()
    assert len(server.asked) <= MOST_REQUESTS + 3, "three tries of the first way"


def _raised(error: LLMFailureException) -> str:
    raise error
