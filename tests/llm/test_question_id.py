"""The id of a question: what it follows from, where it is found again, and the headers that carry it."""

from __future__ import annotations

import re
from itertools import product

import pytest

from prism.config import RequestConfig
from prism.llm.question_id import ASKED, Asked, TraceIds, call_span, question_id
from tests.llm.support import CHOICE, asking, serving

W3C = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]")


def test_an_id_has_the_tick_and_the_agent_and_differs_with_all_that_it_follows_from() -> None:
    ids = {question_id(*each) for each in product((1, 2), (340, 341), (12, 13), (b"a", b"b"))}
    assert len(ids) == 16
    assert question_id(7, 340, 12, b"a") == question_id(7, 340, 12, b"a")
    assert re.fullmatch(r"340-12-[0-9a-f]{16}", question_id(7, 340, 12, b"a"))


def test_an_id_is_the_one_that_the_documented_formula_gives() -> None:
    assert question_id(42, 340, 12, b"\x93\x03\x01\x02") == "340-12-fb894563f6573d15"


def test_each_call_has_a_span_of_its_own_and_each_request_a_name_of_its_own() -> None:
    ids = TraceIds(seed=7, run="a")
    question = ids.question(340, 12, b"a")
    first, second = (Asked(question, ids.trace(340), attempt, "5f3a9c") for attempt in (1, 2))
    sent = [first.headers(), first.headers(), second.headers()]
    assert [each["X-Request-Id"] for each in sent] == [f"{question}-{end}-5f3a9c" for end in ("1-1", "1-2", "2-1")]
    assert [each["traceparent"] for each in sent] == [
        f"00-{ids.trace(340)}-{call_span(question, attempt)}-01" for attempt in (1, 1, 2)
    ]
    assert all(W3C.fullmatch(each["traceparent"]) for each in sent)


def test_runs_of_other_names_have_other_traces_and_the_same_questions() -> None:
    one, other = TraceIds(seed=7, run="a"), TraceIds(seed=7, run="b")
    assert one.trace(1) != other.trace(1)
    assert one.trace(1) != one.trace(2)
    assert one.question(1, 2, b"x") == other.question(1, 2, b"x")


@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_a_request_names_the_question_that_is_asked_and_a_check_names_none(backend: str) -> None:
    async with serving(backend) as (server, model):
        await model.check()
        assert {each.request_id for each in server.requests} == {""}
        before = len(server.calls)
        asked = Asked("340-12-9f86d081884c7d65", "a" * 32, 3, "5f3a9c")
        token = ASKED.set(asked)
        await model.choose(CHOICE)
        await model.complete(asking())
        await model.complete(asking("And then?"))
        ASKED.reset(token)
        names = [each.request_id for each in server.calls[before:]]
        parents = {each.traceparent for each in server.calls[before:]}
    assert names == [f"340-12-9f86d081884c7d65-3-{number}-5f3a9c" for number in range(1, len(names) + 1)]
    assert len(names) == asked.requests >= 2
    assert parents == {f"00-{'a' * 32}-{call_span(asked.question, 3)}-01"}


@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_the_users_own_headers_win(backend: str) -> None:
    headers = {"x-request-id": "mine", "Traceparent": "also mine"}
    async with serving(backend, request=RequestConfig(headers=headers)) as (server, model):
        token = ASKED.set(Asked("340-12-9f86d081884c7d65", "a" * 32, 1, "5f3a9c"))
        await model.complete(asking())
        ASKED.reset(token)
        assert [(each.request_id, each.traceparent) for each in server.calls] == [("mine", "also mine")]
