"""By what an answer is found on the tape, and what is said of one that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.testing import Dialect, ServerSettings
from prism.errors import OracleUnavailableError
from prism.llm import ChatRequest, Identity, OllamaChatClient, OpenAICompatClient, Tape, TapedModel, TapeMissError
from prism.llm.tape import FORMAT
from prism.llm.taped_model import key_of
from tests.llm.support import CHOICE, asking, config_for, serving

OLLAMA = Identity(backend="ollama", model="llama3.2", dialect="ollama", options={"temperature": 0.7})


async def test_a_miss_names_who_asked_and_what_and_both_causes(path: Path) -> None:
    async with serving("ollama") as (_, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        await taped.complete(asking())
        await taped.aclose()
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    with pytest.raises(TapeMissError) as caught:
        await replay.complete(asking("x" * 300, asked_by="agent 12 in tick 340"))
    assert isinstance(caught.value, OracleUnavailableError)
    assert str(caught.value) == (
        f"{path}: no answer to the question from agent 12 in tick 340: '{'x' * 200}'; "
        "its recording was stopped before this, or the configuration, the seed or the version is another than the "
        "recorded: oracle.tape=record with this oracle.tape_path asks what is missing and adds it"
    )
    with pytest.raises(TapeMissError, match=r"no answer to the question: 'A long day\.'"):
        await replay.choose(CHOICE)
    await replay.aclose()


async def test_a_miss_names_the_settings_that_differ_and_leaves_the_causes_out_that_it_cannot_know(path: Path) -> None:
    async with serving("ollama") as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        await taped.complete(asking())
        await taped.aclose()
        config = config_for(server, temperature=0.1, model="qwen3")
    replay = TapedModel(OllamaChatClient(config, {}), Tape(path, "replay"), "replay")
    with pytest.raises(TapeMissError) as caught:
        await replay.complete(asking())
    assert caught.value.differences == ("llm.model llama3.2, not qwen3", "llm.temperature 0.7, not 0.1")
    assert str(caught.value) == (
        f"{path}: no answer to the question: 'What next?'; it was recorded with llm.model llama3.2, not qwen3 and "
        "llm.temperature 0.7, not 0.1: oracle.tape=record with this oracle.tape_path asks what is missing and adds it"
    )
    await replay.aclose()


async def test_the_backend_of_another_kind_of_server_is_a_difference_but_its_dialect_is_none(path: Path) -> None:
    async with serving("openai", ServerSettings(dialect=Dialect.NONE)) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        await taped.check()
        await taped.aclose()
    tape = Tape(path, "replay")
    head = tape.required_header()
    tape.close()
    config = config_for(server)
    assert head.identity.dialect == "none"
    assert head.differences(OpenAICompatClient(config, {}).identity) == ()
    assert head.differences(OllamaChatClient(config, {}).identity) == ("oracle.backend openai, not ollama",)


def changed(**fields: Any) -> tuple[ChatRequest, Identity]:
    return asking(**fields), OLLAMA


@pytest.mark.parametrize(
    ("request_", "identity"),
    [
        changed(text="other"),
        changed(seed=1),
        changed(sample=1),
        changed(max_tokens=9),
        (msgspec.structs.replace(asking(), schema=None), OLLAMA),
        (msgspec.structs.replace(asking(), messages=(*asking().messages, *asking().messages)), OLLAMA),
        (asking(), msgspec.structs.replace(OLLAMA, model="qwen3")),
        (asking(), msgspec.structs.replace(OLLAMA, dialect="none")),
        (asking(), msgspec.structs.replace(OLLAMA, options={"temperature": 0.8})),
    ],
)
def test_whatever_changes_the_answer_changes_the_key(request_: ChatRequest, identity: Identity) -> None:
    assert key_of(request_, identity) != key_of(asking(), OLLAMA)


def test_who_asks_and_how_long_it_may_take_are_no_part_of_the_key() -> None:
    assert key_of(asking(asked_by="x", deadline_s=3.0), OLLAMA) == key_of(asking(), OLLAMA)
    assert key_of(asking(), msgspec.structs.replace(OLLAMA, backend="other")) == key_of(asking(), OLLAMA)


def test_keys_are_the_same_in_every_version() -> None:
    assert FORMAT == 1
    assert key_of(asking(), OLLAMA).hex() == "179aee0ba47a5e31937e09240c4f3b1f"
    assert key_of(asking(), OLLAMA) != key_of(CHOICE, OLLAMA)
