from __future__ import annotations

import time
from pathlib import Path

import pytest
from blockbuster import BlockingError

from tests.schedules import run_scheduled


def test_a_task_that_sleeps_is_caught() -> None:
    async def block() -> None:
        time.sleep(0.001)  # noqa: ASYNC251  # that it is caught is the test

    with pytest.raises(BlockingError):
        run_scheduled(0, block)


async def test_a_task_that_reads_a_file_is_caught() -> None:
    with pytest.raises(BlockingError), Path(__file__).open("rb") as file:  # noqa: ASYNC230  # likewise
        file.read()


def test_outside_of_tasks_everybody_may_block() -> None:
    time.sleep(0.0)
    assert Path(__file__).read_bytes()
