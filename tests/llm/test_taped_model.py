"""The answers of a taped model: recorded, replayed, after failures; its keys, and the messages of a miss."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from prism.errors import OracleUnavailableError
from prism.llm import (
    ChatRequest,
    Completion,
    Identity,
    LanguageModel,
    LLMClient,
    LLMFailureException,
    OllamaChatClient,
    OpenAICompatClient,
    Tape,
    TapedModel,
    TapeMissError,
)
from prism.llm.client import Call
from prism.llm.tape import key_of
from prism.llm.tape_file import FORMAT
from tests.blocking import nothing_blocks
from tests.catalogue import catalogue
from tests.llm.support import CHOICE, asking, config_for, failing, no_sleep, serving, until
from tests.llm.test_client import Decision
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings, SystemOne


async def ask_all(model: LanguageModel) -> list[object]:
    """Chats, choices and failures, in an order of their own."""
    said: list[object] = []
    for number in range(12):
        try:
            said.append(await model.complete(asking(f"Question {number}", sample=number)))
            said.append(await model.choose(msgspec.structs.replace(CHOICE, state=f"State {number}")))
        except LLMFailureException as error:
            said.append((str(error), error.reason, error.status_code, error.attempts, error.latency_s))
    return said


async def test_a_replay_is_identical_and_asks_nobody(path: Path) -> None:
    faults = FaultPlan(at={3: Fault.BUSY, 6: Fault.EMPTY, 9: Fault.RESET})
    async with serving("ollama", ServerSettings(live=True)) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        health = await taped.check()
        server.settings = ServerSettings(live=True, faults=FaultPlan(at={n + 3: f for n, f in faults.at.items()}))
        recorded = await ask_all(taped)
        await taped.aclose()
    reasons = [said[1] for said in recorded if isinstance(said, tuple)]
    assert sorted(reasons) == ["connection_error", "overloaded", "refused"]
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    assert await ask_all(replay) == recorded
    assert msgspec.structs.replace(await replay.check(), note=health.note) == health
    assert replay.identity == model.identity
    await replay.aclose()
    # With the adapter at hand, its server long stopped: the same.
    replay = TapedModel(OllamaChatClient(config_for(server), {}), Tape(path, "replay"), "replay")
    assert await ask_all(replay) == recorded
    await replay.aclose()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_what_is_not_offered_is_recorded_too(path: Path) -> None:
    async with serving("ollama", ServerSettings(systemone=SystemOne.OFF)) as (_, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        assert await taped.choose(CHOICE) is None
        await taped.aclose()
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    assert await replay.choose(CHOICE) is None
    await replay.aclose()


async def test_the_dialect_of_a_replay_is_that_of_the_recording(path: Path) -> None:
    async with serving("openai", ServerSettings(quirks=("no_response_format",))) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        await taped.check()
        recorded = await taped.complete(asking())
        await taped.aclose()
    replay = TapedModel(OpenAICompatClient(config_for(server), {}), Tape(path, "replay"), "replay")
    assert await replay.complete(asking()) == recorded
    await replay.aclose()


async def test_recording_asks_only_what_the_tape_has_not(path: Path) -> None:
    async with serving("ollama", ServerSettings(live=True)) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        first = await taped.complete(asking())
        assert await taped.complete(asking(asked_by="another")) == first
        assert await taped.complete(asking(sample=1)) != first
        assert server.statistics().calls == 2
        await taped.aclose()


async def test_equal_questions_under_way_at_once_get_the_one_answer_on_the_tape(path: Path) -> None:
    said: list[Completion] = []
    async with serving("ollama", ServerSettings(live=True, slots=8, latency=Latency(mean_s=0.02))) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")

        async def ask() -> None:
            said.append(await taped.complete(asking()))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
        assert server.statistics().calls == 8
        await taped.aclose()
    assert said == [said[0]] * 8


async def test_a_retried_call_replays_with_both_attempts(path: Path) -> None:
    async with serving("ollama", failing(Fault.NOT_JSON)) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        calls: list[Call[Decision]] = []
        await LLMClient(taped, sleep=no_sleep).call_with_retry("What now?", Decision, record=calls.append)
        assert (calls[0].retry_count, server.statistics().calls) == (1, 2)
        await taped.aclose()
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    await LLMClient(replay, sleep=no_sleep).call_with_retry("What now?", Decision, record=calls.append)
    assert calls[1] == calls[0]
    await replay.aclose()


async def test_a_cancelled_question_is_not_on_the_tape(path: Path) -> None:
    async with serving("ollama", failing(Fault.HANG)) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(taped.complete, asking())
            await until(lambda: server.statistics().in_flight == 1)
            tasks.cancel_scope.cancel()
        assert (await taped.complete(asking())).text
        await taped.aclose()


async def test_the_event_loop_is_never_blocked_by_the_disk(path: Path) -> None:
    async with serving("ollama") as (_, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        with nothing_blocks("prism.llm"):
            await ask_all(taped)
        await taped.aclose()
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    with nothing_blocks("prism.llm"):
        await ask_all(replay)
    await replay.aclose()


def test_only_a_replay_can_do_without_a_model(path: Path) -> None:
    with closing(Tape(path, "record")) as tape, pytest.raises(ValueError, match="mode record needs a model"):
        TapedModel(None, tape, "record")


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
    async with serving("openai", ServerSettings(quirks=("no_response_format",))) as (server, model):
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


async def test_a_recording_that_goes_on_with_another_way_asks_again(path: Path) -> None:
    async with ModelServer() as server:
        config = config_for(server)
        for quirks in ((), (), ("no_schema",)):
            server.settings = ServerSettings(quirks=quirks)
            taped = TapedModel(OpenAICompatClient(config, {}), Tape(path, "record"), "record")
            is_new = bool(quirks) or not server.calls
            await taped.check()
            asked = len(server.calls)
            await taped.complete(asking())
            await taped.aclose()
            assert len(server.calls) == asked + is_new


def changed(**fields: Any) -> tuple[ChatRequest, Identity]:
    return asking(**fields), OLLAMA


@catalogue(
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
        (asking(), msgspec.structs.replace(OLLAMA, extra_body='{"top_k": 3}')),
    ],
)
def test_whatever_changes_the_answer_changes_the_key(request_: ChatRequest, identity: Identity) -> None:
    assert key_of(request_, identity) != key_of(asking(), OLLAMA)


def test_who_asks_is_no_part_of_the_key() -> None:
    assert key_of(asking(asked_by="x"), OLLAMA) == key_of(asking(), OLLAMA)
    assert key_of(asking(), msgspec.structs.replace(OLLAMA, backend="other")) == key_of(asking(), OLLAMA)


def test_keys_are_the_same_in_every_version() -> None:
    assert FORMAT == 1
    assert key_of(asking(), OLLAMA).hex() == "179aee0ba47a5e31937e09240c4f3b1f"
    assert key_of(asking(), OLLAMA) != key_of(CHOICE, OLLAMA)
