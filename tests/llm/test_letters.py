"""Choices by letters: sound probabilities count, and nothing is made up where a letter is missing."""

import math
from typing import Any

import pytest

from prism.llm import Distribution, LLMConfig, SocialModelOracle
from prism.llm.letters import Token, at_temperature, read_tokens, read_weights
from prism.llm.port import ChoiceRequest
from prism.llm.spending import metered
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.llm.support import BACKENDS, OPTIONS, Person, serving, unavailable
from tests.standin import Fault, FaultPlan, Logprobs, ServerSettings, SystemOne


class Asking(Person):
    """A person as an oracle sees one that asks."""

    state = AgentState.EVALUATING


FRUIT = ChoiceRequest(
    state="You are hungry.", instructions="Choose.", options={"apple": "Red", "pear": None, "plum": "Blue"}
)
SOUND = (Logprobs.GRAMMAR, Logprobs.CHOICE, Logprobs.PLAIN)
CHAT_ONLY = SystemOne.OFF


def token(text: str, *listed: tuple[str, float]) -> Token:
    """Return a token that was written, with the logarithms of those listed in its place."""
    tops = tuple(Token(token=name, logprob=math.log(share)) for name, share in listed)
    return Token(token=text, logprob=math.log(dict(listed).get(text, 1e-9)), top_logprobs=tops)


def lists(mode: Logprobs) -> ServerSettings:
    return ServerSettings(logprobs=mode, systemone=CHAT_ONLY)


def breaking(fault: Fault, *, at: int) -> ServerSettings:
    """Return settings of a server with sound probabilities that fails in this call."""
    return ServerSettings(logprobs=Logprobs.GRAMMAR, systemone=CHAT_ONLY, faults=FaultPlan(at={at: fault}))


@pytest.mark.parametrize("logprobs", ['"x"', "[1]", "5", '{"content": 5}', '{"content": [{"token": 5}]}'])
def test_probabilities_of_another_shape_are_an_unusable_answer(logprobs: str) -> None:
    with pytest.raises(ValueError, match=r"shape|Expected"):
        read_tokens(f'{{"choices": [{{"logprobs": {logprobs}}}]}}'.encode())


def test_probabilities_in_the_form_of_older_servers_are_none() -> None:
    older = b'{"choices": [{"logprobs": {"tokens": ["A"], "token_logprobs": [-0.1]}}]}'
    assert read_tokens(older) == ()


@catalogue(
    ("tokens", "letters", "found"),
    [
        ([token("A", ("A", 0.5), (" A", 0.1), ("B", 0.35), ("the", 0.05))], "AB", (0.6, 0.35)),
        ([token("A", ("A", 0.6), ("B", 0.4))], "AB", (0.6, 0.4)),
        ([Token(token="B", logprob=math.log(0.4), top_logprobs=(Token(token="A", logprob=math.log(0.6)),))], "AB",
         (0.6, 0.4)),
        ([token('"', ('"', 1.0)), token("B", ("B", 0.7), ("A", 0.3)), token('"', ('"', 1.0))], "AB", (0.3, 0.7)),
        ([], "ABC", "it lists no probabilities"),
        ([token("A", ("A", 0.9), ("The", 0.1))], "ABC", "it wrote 'A' and does not list B, C"),
        ([token("Well", ("Well", 0.9))], "ABC", "it wrote 'Well' and does not list A, B, C"),
        ([token("A", ("A", 0.3), ("B", 0.3), ("C", 0.2))], "ABC",
         "the probabilities of the letters add up to 0.8, not to 1"),
        ([token("A", ("A", 0.9), ("B", 0.9), ("C", 0.9))], "ABC",
         "the probabilities of the letters add up to 2.7, not to 1"),
        ([Token(token="A", logprob=-0.1, top_logprobs=(Token(token="B"), Token(token="C", logprob=-9999.0)))], "ABC",
         "it wrote 'A' and does not list B, C"),
        ([Token(token="A", prob=1.2, top_probs=(Token(token="B", prob=-0.2), Token(token="C", prob=0.0)))], "ABC",
         "the probabilities of the letters add up to 1, not to 1"),
    ],
)  # fmt: skip
def test_letters_count_with_all_that_is_listed_for_them_and_a_missing_one_is_no_probability(
    tokens: list[Token], letters: str, found: Any
) -> None:
    read = read_weights(tokens, letters)
    assert read == (found if isinstance(found, str) else pytest.approx(found))


def test_a_temperature_means_the_same_as_in_sampling() -> None:
    weights = (0.8, 0.2)
    assert at_temperature(weights, 1.0) == pytest.approx(weights)
    assert at_temperature(weights, 0.5) == pytest.approx((0.64 / 0.68, 0.04 / 0.68))
    assert at_temperature(weights, 2.0) == pytest.approx((2 / 3, 1 / 3))
    assert at_temperature((0.2, 0.4, 0.4), 0.0) == (0.0, 1.0, 0.0)


@catalogue("backend", BACKENDS)
@catalogue("mode", SOUND)
async def test_sound_probabilities_are_found_and_used(backend: str, mode: Logprobs) -> None:
    async with serving(backend, lists(mode), temperature=1.0) as (server, model):
        assert (await model.check()).note.endswith("decides by probabilities (logprobs)")
        found = await model.choose(FRUIT)
        same = await model.choose(FRUIT)
        asked = server.calls[-1].body
    assert isinstance(found, Distribution)
    assert isinstance(same, Distribution)
    assert list(found.probabilities) == list(FRUIT.options)
    assert sum(found.probabilities.values()) == pytest.approx(1.0)
    assert len(set(found.probabilities.values())) == 3
    assert same.probabilities == pytest.approx(found.probabilities)
    assert (found.method, model.identity.method, asked["logprobs"]) == ("logprobs", "logprobs", True)
    assert found.prompt_tokens > found.completion_tokens > 0


REASONS = {
    Logprobs.OFF: "it lists no probabilities",
    Logprobs.RAW: "and does not list",
    Logprobs.REFUSED: "it refuses them: logprobs are not supported by this model",
}


@catalogue("backend", BACKENDS)
@catalogue("mode", REASONS)
async def test_unsound_probabilities_are_not_used_and_the_reason_is_said(backend: str, mode: Logprobs) -> None:
    async with serving(backend, lists(mode)) as (server, model):
        note = (await model.check()).note
        requests = len(server.requests)
        assert await model.choose(FRUIT) is None
        assert len(server.requests) == requests
    assert "decides by chat, without probabilities: " in note
    assert REASONS[mode] in note
    assert model.identity.method == ""


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_method_may_demand_probabilities_or_ask_for_none(backend: str) -> None:
    async with serving(backend, lists(Logprobs.RAW), method="probabilities") as (_, model):
        said = await unavailable(model)
    assert "gives no sound probabilities of the options: it wrote " in said
    assert said.endswith("; set llm.method to auto or json")
    async with serving(backend, ServerSettings(logprobs=Logprobs.GRAMMAR), method="json") as (server, model):
        assert "decides by chat" in (await model.check()).note
        assert await model.choose(FRUIT) is None
        assert "/v1/systemone" not in [asked.path for asked in server.requests]
        assert not any("logprobs" in call.body for call in server.calls)


@catalogue("fault", [Fault.NOT_JSON, Fault.WRONG_STATE, Fault.EMPTY])
@catalogue("backend", BACKENDS)
async def test_a_question_without_a_letter_is_asked_the_json_way(backend: str, fault: Fault) -> None:
    async with serving(backend, lists(Logprobs.GRAMMAR)) as (server, model):
        await model.check()
        server.settings = breaking(fault, at=len(server.calls) + 1)
        oracle = SocialModelOracle(model, LLMConfig(), 1)
        with metered() as ledger:
            first = await oracle.answer(Person(), AgentState.EVALUATING, "decides", OPTIONS)
            second = await oracle.answer(Person(), AgentState.EVALUATING, "decides", OPTIONS)
    spent = {each.outcome: each for each in ledger}
    assert first.state in OPTIONS
    assert (first.method, second.method) == ("", "logprobs")
    assert oracle.method == "json"
    assert (spent["ok"].calls, spent["invalid_response"].calls) == (2, 1)
    assert spent["ok"].tokens > spent["invalid_response"].tokens > 0
