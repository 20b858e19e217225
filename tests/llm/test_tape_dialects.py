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
    others = [replace(IDENTITY, dialect="none"), replace(IDENTITY, extra_body='{"top_k": 3}')]
    assert len({first, *(key_of(asking(), other) for other in others)}) == 3


async def test_a_recording_that_goes_on_with_another_way_asks_again_and_says_so(path: Path) -> None:
    async with ModelServer() as server:
        config = config_for(server)
        for quirks in ((), (), ("no_schema",)):
            server.settings = ServerSettings(quirks=quirks)
            taped = TapedModel(OpenAICompatClient(config, {}), Tape(path, "record"), "record")
            is_new = bool(quirks) or not server.calls
            health = await taped.check()
            asked = len(server.calls)
            await taped.complete(asking())
            await taped.aclose()
            note = "the tape has answers asked for otherwise (dialect json_schema, not json_object), which are asked"
            assert (note in health.note) == bool(quirks)
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
