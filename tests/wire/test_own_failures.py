"""A server that fails at one question, and one that refuses all of them for a while: whole runs over a socket."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from actors.runtime.simulation import Simulation
from actors.testing import ModelServer, ServerSettings
from actors.testing.answers import answer
from actors.testing.server import Reply
from tests.patience import HANG_S
from tests.wire.support import config, run

FEW = {"population": {"size": 200}}
Messages = Sequence[Mapping[str, object]]


def answered(messages: Messages, options: Mapping[str, object], form: object) -> str:
    seed = options.get("seed")
    assert isinstance(seed, int)
    return answer(messages, seed, form)


async def test_a_question_that_the_server_does_not_survive_is_the_only_fallback(tmp_path: Path) -> None:
    healthy: set[str] = set()
    """What was asked before the first tick: the test questions."""
    fatal: set[str] = set()

    def healthily(messages: Messages, options: Mapping[str, object], form: object) -> str:
        healthy.add(json.dumps(messages))
        return answered(messages, options, form)

    def mortally(messages: Messages, options: Mapping[str, object], form: object) -> str:
        text = json.dumps(messages)
        if text not in healthy and (text in fatal or (not fatal and zlib.crc32(text.encode()) % 8 == 0)):
            fatal.add(text)
            raise ConnectionResetError  # the connection ends without an answer
        return answered(messages, options, form)

    with ModelServer(ServerSettings(reply=healthily)) as server:

        def spoil(_: Simulation) -> None:
            server.settings = ServerSettings(reply=mortally)

        with anyio.fail_after(HANG_S):
            summary = await run(config(server.url, **FEW), tmp_path, ready=spoil)
    assert len(fatal) == 1
    assert summary.fallbacks_by_reason == {"connection_error": 1}
    assert summary.status == "done_with_fallbacks"


async def test_while_no_model_is_loaded_the_run_waits_and_loses_no_choice(tmp_path: Path) -> None:
    refused: list[object] = []

    def unloaded(messages: Messages, options: Mapping[str, object], form: object) -> str:
        if len(refused) + answers[0] > 20 and len(refused) < 12:
            refused.append(form)
            error = {"message": "No models loaded. Please load a model first.", "type": "invalid_request_error"}
            raise Reply({"error": error}, 400)
        answers[0] += 1
        return answered(messages, options, form)

    answers = [0]
    openai: dict[str, dict[str, Any]] = {"oracle": {"backend": "openai"}, **FEW}
    with ModelServer(ServerSettings(reply=answered)) as server:
        undisturbed = await run(config(server.url, **openai), tmp_path)

        def spoil(_: Simulation) -> None:
            server.settings = ServerSettings(reply=unloaded)

        with anyio.fail_after(HANG_S):
            summary = await run(config(server.url, **openai), tmp_path, ready=spoil)
    assert len(refused) == 12
    assert summary.fallbacks_by_reason == {}
    assert summary.digest == undisturbed.digest


async def test_a_question_whose_answer_cannot_be_read_is_asked_again_with_another_seed(tmp_path: Path) -> None:
    seeds = defaultdict[str, list[object]](list)

    def muddled(messages: Messages, options: Mapping[str, object], form: object) -> str:
        text, seed = json.dumps(messages), options.get("seed")
        seeds[text].append(seed)
        return "Sure!" if zlib.crc32(f"{text}{seed}".encode()) % 8 == 0 else answered(messages, options, form)

    with ModelServer(ServerSettings(reply=answered)) as server:

        def spoil(_: Simulation) -> None:
            server.settings = ServerSettings(reply=muddled)

        with anyio.fail_after(HANG_S):
            await run(config(server.url, **FEW), tmp_path, ready=spoil)
    again = [each for each in seeds.values() if len(each) > 1]
    assert again
    assert all(len({*each}) == len(each) for each in again)
