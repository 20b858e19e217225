from __future__ import annotations

import logging

import pytest

from prism.llm.backend import log_prompt
from prism.llm.port import ChatRequest, ChoiceRequest, Message
from tests.llm.support import BACKENDS, asking, serving

CHAT = ChatRequest(
    messages=(Message(role="system", content="Be brief."), Message(role="user", content='Say "hi".')),
    asked_by="agent 12 in tick 340",
)
CHOICE = ChoiceRequest(state="It is noon.", instructions="Choose.", options={"like": "Like it", "idle": None})


def prompts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("llm_prompt ")]


def test_a_chat_is_logged_with_all_its_messages_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log_prompt(CHAT)
    assert prompts(caplog) == [r'llm_prompt asked_by="agent 12 in tick 340" prompt="Be brief.\n\nSay \"hi\"."']
    assert caplog.records[0].levelname == "DEBUG"


def test_a_choice_is_logged_with_its_options(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log_prompt(CHOICE)
    assert prompts(caplog) == [r'llm_prompt asked_by="" prompt="Choose.\n\nIt is noon.\n\nlike\nidle"']


def test_above_debug_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_prompt(CHAT)
    log_prompt(CHOICE)
    assert caplog.records == []


@pytest.mark.parametrize("backend", BACKENDS)
async def test_every_adapter_logs_what_it_asks(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "prism")
    async with serving(backend) as (_, model):
        await model.complete(asking("What next?"))
    assert [line.endswith('prompt="What next?"') for line in prompts(caplog)] == [True]
