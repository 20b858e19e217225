"""Tapes and the way in which a server was asked: what is another question, and what is the same."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from prism.config import RequestConfig
from prism.llm import Identity, OpenAICompatClient, Tape, TapedModel
from prism.llm.taped_model import key_of
from tests.llm.support import asking, config_for
from tests.standin import ModelServer, ServerSettings

IDENTITY = Identity(backend="openai", model="m", dialect="json_schema", options={"temperature": 0.5})


def test_a_key_is_that_of_before_unless_something_is_asked_for_otherwise() -> None:
    first = key_of(asking(), IDENTITY)
    assert first.hex() == "b95fb254a8733d04f52014cfe3fcc389"
    others = [
        replace(IDENTITY, capabilities={"seed": "none"}),
        replace(IDENTITY, capabilities={"seed": "random_seed"}),
        replace(IDENTITY, extra_body='{"top_k": 3}'),
    ]
    assert len({first, *(key_of(asking(), other) for other in others)}) == 4


async def test_a_replay_asks_as_was_recorded_and_nobody(path: Path) -> None:
    quirks = ("no_max_tokens", "random_seed", "thinks_in_answer")
    async with ModelServer(ServerSettings(quirks=quirks)) as server:
        config = config_for(server)
        taped = TapedModel(OpenAICompatClient(config, {}), Tape(path, "record"), "record")
        health = await taped.check()
        recorded = await taped.complete(asking())
        await taped.aclose()
    replay = TapedModel(OpenAICompatClient(config, {}), Tape(path, "replay"), "replay")
    assert await replay.complete(asking()) == recorded
    assert (await replay.check()).capabilities == health.capabilities
    assert replay.identity.capabilities == {
        "token_field": "max_completion_tokens",
        "seed": "random_seed",
        "thinking": "stripped",
    }
    await replay.aclose()


async def test_a_recording_that_goes_on_with_another_way_asks_again_and_says_so(path: Path) -> None:
    async with ModelServer() as server:
        config = config_for(server)
        for quirks, note in (
            ((), None),
            ((), None),
            (("no_seed",), "the tape has answers asked for otherwise (seed as usual, not random_seed), which"),
            (
                ("no_json_schema",),
                "(dialect json_schema, not json_object, seed random_seed, not as usual), which are asked",
            ),
        ):
            server.settings = ServerSettings(quirks=quirks)
            taped = TapedModel(OpenAICompatClient(config, {}), Tape(path, "record"), "record")
            before = len(server.calls)
            health = await taped.check()
            asked = len(server.calls)
            await taped.complete(asking())
            await taped.aclose()
            assert (note or "answers are kept") in health.note
            assert ("asked for otherwise" in health.note) == (note is not None)
            is_new = note is not None or before == 0
            assert len(server.calls) == asked + is_new


async def test_fields_of_the_users_own_are_a_setting_that_differs(path: Path) -> None:
    async with ModelServer() as server:
        config = config_for(server)
        taped = TapedModel(OpenAICompatClient(config, {}), Tape(path, "record"), "record")
        await taped.check()
        await taped.aclose()
        other = OpenAICompatClient(config_for(server, request=RequestConfig(extra_body={"top_k": 3})), {})
    tape = Tape(path, "replay")
    assert tape.required_header().differences(other.identity) == ('llm.request.extra_body {}, not {"top_k": 3}',)
    tape.close()
    await other.aclose()
