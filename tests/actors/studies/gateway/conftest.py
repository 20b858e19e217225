"""The fixtures of the tests of the gateway: its tape."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from anyio import to_thread

from actors.studies.gateway.place import ExperimentTape

Tapes = Callable[[], Awaitable[ExperimentTape]]


@pytest.fixture
def tapes(tmp_path: Path) -> Iterator[Tapes]:
    """Open the tape once more, for a gateway that takes over."""
    with ExitStack() as stack:

        def again() -> ExperimentTape:
            stack.close()
            return stack.enter_context(closing(ExperimentTape(tmp_path / "tape", "record")))

        yield lambda: to_thread.run_sync(again)
