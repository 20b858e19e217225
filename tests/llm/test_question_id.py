"""The id of a question, and the sum of calls and what they cost."""

import re
from itertools import product
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from prism.config import PricesConfig
from prism.llm import OUTCOMES, REASONS, LLMClient, LLMConfig, LLMFailureException, SocialModelOracle, Tape, TapedModel
from prism.llm.failure import Usage
from prism.llm.headers import ASKED, Asked, question_id
from prism.llm.spending import Spent, cost_usd, count_call, metered, wasted
from tests.catalogue import catalogue
from tests.docs.pages import section
from tests.llm.support import BACKENDS, CHOICE, OPTIONS, Person, asking, canned, no_sleep, serving
from tests.paths import ROOT


def test_an_id_has_the_tick_and_the_agent_and_differs_with_all_that_it_follows_from() -> None:
    ids = {question_id(*each) for each in product((1, 2), (340, 341), (12, 13), (b"a", b"b"))}
    assert len(ids) == 16
    assert question_id(7, 340, 12, b"a") == question_id(7, 340, 12, b"a")
    assert re.fullmatch(r"340-12-[0-9a-f]{16}", question_id(7, 340, 12, b"a"))
    assert question_id(42, 340, 12, b"\x93\x03\x01\x02") == "340-12-fb894563f6573d15", "by the documented formula"


@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_a_request_names_the_question_that_is_asked_and_a_check_names_none(backend: str) -> None:
    async with serving(backend) as (server, model):
        await model.check()
        assert {each.request_id for each in server.requests} == {""}
        before = len(server.calls)
        asked = Asked("340-12-9f86d081884c7d65", 3, "5f3a9c")
        token = ASKED.set(asked)
        await model.choose(CHOICE)
        await model.complete(asking())
        await model.complete(asking("And then?"))
        ASKED.reset(token)
        names = [each.request_id for each in server.calls[before:]]
    assert names == [f"340-12-9f86d081884c7d65-3-{number}-5f3a9c" for number in range(1, len(names) + 1)]
    assert len(names) == asked.requests >= 2


class Part(msgspec.Struct):
    size: int


OK = Spent("ok", 2, 1.5, 2_000_000, 500_000, 100_000)
CUT = Spent("invalid_response", 1, 0.5, 1_000_000, 0, 10_000)
PRICES = PricesConfig(input=2.0, output=10.0, cached=0.5)


def test_the_cost_is_that_of_fresh_cached_and_written_tokens() -> None:
    assert cost_usd((OK,), PRICES) == pytest.approx(1.5 * 2.0 + 0.5 * 0.5 + 0.1 * 10.0)
    assert cost_usd((OK, CUT), PRICES) == pytest.approx(4.25 + 2.0 + 0.1)
    assert cost_usd(wasted((OK, CUT)), PRICES) == pytest.approx(2.1)
    assert cost_usd((), PRICES) == 0.0


def test_a_meter_counts_the_calls_in_its_context_alone() -> None:
    count_call("ok", 1.0, Usage(10, 1))
    with metered() as ledger:
        count_call("timeout", 60.0)
        with metered() as inner:
            count_call("ok", 1.0, Usage(20, 2, 5))
    assert ledger.total == (Spent("timeout", 1, 60.0),)
    assert inner.total == (Spent("ok", 1, 1.0, 20, 5, 2),)
    assert (ledger.answered_s, inner.answered_s) == ([], [1.0])


@catalogue(
    ("details", "cached"),
    [({"cached_tokens": 7}, 7), ({"cached_tokens": None}, 0), ({}, 0), (None, 0), ({"cached_tokens": 99}, 12)],
)
async def test_cached_tokens_are_read_where_a_server_tells_them(details: object, cached: int) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": details}
    reply = {"model": "m", "choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}], "usage": usage}
    async with canned(200, reply) as seen:
        model = BACKENDS["openai"](LLMConfig(host=seen[0].decode()), {})
        said = await model.complete(asking())
        await model.aclose()
    assert (said.prompt_tokens, said.cached_tokens, said.completion_tokens) == (12, cached, 3)


@catalogue("backend", BACKENDS)
@catalogue("mode", ["off", "record"])
async def test_an_answer_that_was_cut_is_counted_with_its_tokens(
    backend: str, mode: Literal["off", "record"], tmp_path: Path
) -> None:
    async with serving(backend, num_predict=2, systemone="off") as (_, model):
        taped = model if mode == "off" else TapedModel(model, Tape(tmp_path / "t.sqlite", mode), mode)
        oracle = SocialModelOracle(taped, LLMConfig(), 1)
        with metered() as ledger:
            with pytest.raises(LLMFailureException, match="cut at 2 tokens"):
                await oracle.ask(Person(), OPTIONS[0], "decides", OPTIONS)
            with pytest.raises(LLMFailureException, match="cut at 2 tokens"):
                await LLMClient(taped, max_tokens=2, sleep=no_sleep).call_with_retry("?", Part)
    (counted,) = ledger.total
    assert (counted.outcome, counted.calls, counted.completion_tokens) == ("invalid_response", 3, 6)
    assert counted.tokens > 100


SECTION = section(ROOT / "docs" / "language-models.md", "What can go wrong with a call")


def test_every_reason_and_every_outcome_that_is_no_answer_is_documented() -> None:
    assert set(REASONS) == set(re.findall(r"^\| `(\w+)` \|", SECTION, re.MULTILINE)) <= set(OUTCOMES)
    assert [outcome for outcome in OUTCOMES[1:] if f"`{outcome}`" not in SECTION] == []
