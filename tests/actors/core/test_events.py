"""The events of a run: told to the listeners of that run alone, logged, and explained in the documentation."""

import re

import anyio
import anyio.lowlevel
import msgspec
from structlog.typing import EventDict

from actors.core.events import EVENTS, Event, RunEnded, emit, heard_by
from actors.core.phase import ENDS
from tests.docs.pages import section
from tests.paths import ROOT

DOCUMENT = section(ROOT / "docs" / "runs.md", "Events")
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", re.MULTILINE)


def test_every_event_is_documented_with_its_level_and_its_fields() -> None:
    documented = {name: (level, re.findall(r"`(\w+)`", fields)) for name, level, fields in ROW.findall(DOCUMENT)}
    expected = {
        event.name(): (event.level, [field.name for field in msgspec.structs.fields(event)]) for event in EVENTS
    }
    assert documented == expected


def test_every_end_is_documented() -> None:
    row = next(line for line in (ROOT / "docs" / "operations.md").read_text().splitlines() if "prism_run_ended" in line)
    signals = {"SIGINT", "SIGTERM", "SIGHUP"}
    assert {reason for reason in ENDS if f"`{reason}`" not in row} == signals
    assert "a signal" in row


def test_an_event_is_told_to_the_listeners_of_its_own_run(logged: list[EventDict]) -> None:
    heard: dict[str, list[Event]] = {"a": [], "b": []}

    async def run(name: str) -> None:
        with heard_by(heard[name].append):
            async with anyio.create_task_group() as tasks:  # a task that the run has started has its listeners, too
                tasks.start_soon(tell, name)

    async def tell(name: str) -> None:
        await anyio.lowlevel.checkpoint()
        emit(RunEnded(reason="done", ticks=1, detail=name))

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            tasks.start_soon(run, "b")
        emit(RunEnded(reason="error", ticks=0))

    anyio.run(both)
    assert heard == {name: [RunEnded(reason="done", ticks=1, detail=name)] for name in heard}
    assert [event["event"] for event in logged] == ["run_ended"] * 3
