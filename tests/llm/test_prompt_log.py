from __future__ import annotations

import logging

import pytest

from tests.llm.support import BACKENDS, asking, serving


def prompts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("llm_prompt ")]


@pytest.mark.parametrize("backend", BACKENDS)
async def test_every_adapter_logs_what_it_asks(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "prism")
    async with serving(backend) as (_, model):
        await model.complete(asking('What "next"?', asked_by="agent 12 in tick 340"))
        caplog.set_level(logging.INFO, "prism")
        await model.complete(asking())
    assert prompts(caplog) == [r'llm_prompt asked_by="agent 12 in tick 340" prompt="What \"next\"?"']
