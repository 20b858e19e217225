"""The log on a terminal: the first few lines of a kind, and then the number of further ones.

The run's own file has all of them. On a terminal they would push the progress display out of sight.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import structlog
from structlog.typing import EventDict, WrappedLogger

from actors.logs.rate_limit import LEFT_OUT, LineCounts, limit_text

SHOWN = 3
"""Lines of a kind that are shown in a minute."""
LEVELS = frozenset({"info", "warning"})

Render = Callable[[WrappedLogger, str, EventDict], str]


class TerminalLog:
    """The last structlog processor where the log goes to a terminal.

    It counts lines of `prism` and of libraries by their logger, errors aside. `LogLimit` counts those of the actors.

    Args:
        render: turns an event into a line.
        clock: seconds, from any start.
    """

    def __init__(self, render: Render, clock: Callable[[], float] = time.monotonic) -> None:
        self._render = render
        self._counts = LineCounts(SHOWN, clock)
        self._stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> str:
        """Return the event's line, after one for each kind whose minute is over and of which lines were left out.

        Raises:
            DropEvent: there is no line to show.
        """
        if event.get("event") == LEFT_OUT and (more := self._counts.end(str(event.get("of")))):
            event = {**event, "lines": event["lines"] + more, "limit": limit_text(SHOWN)}
        kind = event.get("logger")
        is_shown, ended = self._counts.count(str(kind), is_limited=kind is not None and method in LEVELS)
        lines = self._left_out(ended)
        if is_shown:
            lines.append(self._render(logger, method, event))
        if not lines:
            raise structlog.DropEvent
        return "\n".join(lines)

    def remaining(self) -> str:
        """Return the lines that are still to be shown at the end, each with its line end."""
        return "".join(f"{line}\n" for line in self._left_out(self._counts.end_all()))

    def _left_out(self, counts: dict[str, int]) -> list[str]:
        level, limit = "info", limit_text(SHOWN)
        events: Iterator[EventDict] = (
            {"event": LEFT_OUT, "of": kind, "lines": count, "level": level, "limit": limit}
            for kind, count in counts.items()
        )
        return [self._render(None, level, self._stamp(None, level, event)) for event in events]
