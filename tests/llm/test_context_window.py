"""Prompts near the limit of the context window: refused before a server that cuts them silently is asked."""

from __future__ import annotations

import pytest

from prism.llm import LLMFailureException
from prism.llm.ollama import most_tokens
from tests.catalogue import catalogue
from tests.llm.support import asking, serving


@catalogue(
    ("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("é", 1), ("我们", 3), ("😀", 2), ("ab😀", 3), ("\ud800", 1)]
)
def test_tokens_are_estimated_rather_too_high(text: str, tokens: int) -> None:
    assert most_tokens(text) == tokens


async def test_a_prompt_that_may_not_fit_is_refused_unsent_with_the_setting_to_change() -> None:
    async with serving("ollama", num_ctx=1024, num_predict=64) as (server, model):
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking("word " * 600))
        assert server.statistics().calls == 0
        assert (await model.complete(asking("word " * 500))).text
    refused = caught.value
    assert (refused.reason, refused.status_code) == ("refused", None)
    assert refused.detail == (
        "a prompt of about 1008 tokens and an answer of up to 64 do not fit into llm.num_ctx 1024, and ollama would "
        "cut the prompt silently; set llm.num_ctx=2048"
    )


@catalogue("words", [120, 600, 1500])
@catalogue("most_answer", [64, 1024, 20_000])
async def test_the_setting_that_is_named_is_enough(words: int, most_answer: int) -> None:
    question = asking("word " * words, max_tokens=most_answer)
    async with serving("ollama", num_ctx=256) as (_, model):
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(question)
    enough = int(caught.value.detail.rpartition("set llm.num_ctx=")[2])
    async with serving("ollama", num_ctx=enough) as (_, model):
        assert (await model.complete(question)).text


async def test_a_limit_of_answers_above_the_window_is_no_reason_to_refuse() -> None:
    async with serving("ollama", num_ctx=2048, num_predict=20_000) as (_, model):
        assert (await model.complete(asking())).text


async def test_a_server_with_its_own_window_is_asked_in_any_case() -> None:
    async with serving("openai", num_ctx=256) as (_, model):
        assert (await model.complete(asking("word " * 600))).text
