"""What of the log a terminal shows: the first few lines of a kind, and then how many more there were.

The run's own file has them. On a terminal they would push what is shown of the run out of sight.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from structlog.typing import EventDict, WrappedLogger

from actors.logs.rate_limit import LEFT_OUT, Windows, limit_text

SHOWN = 3
"""Lines of a kind in a minute."""
LEVELS = frozenset({"info", "warning"})

Render = Callable[[WrappedLogger, str, EventDict], str]


class TerminalLog:
    """The last structlog processor where the log goes to a terminal.

    It counts what `prism` and libraries say, by who says it, other than errors. What the actors say is counted already.

    Args:
        render: turns an event into a line.
        clock: seconds, from any start.
    """

    def __init__(self, render: Render, clock: Callable[[], float] = time.monotonic) -> None:
        self._render = render
        self._windows = Windows(SHOWN, clock)
        self._stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> str:
        """The line, below one for each kind whose minute is over and that had more than was shown.

        Raises:
            DropEvent: there is nothing to show.
        """
        if event.get("event") == LEFT_OUT and (more := self._windows.forget(str(event.get("of")))):
            event = {**event, "lines": event["lines"] + more, "limit": limit_text(SHOWN)}
        kind = event.get("logger")
        is_shown, ended = self._windows.say(str(kind), is_limited=kind is not None and method in LEVELS)
        lines = self._left_out(ended)
        if is_shown:
            lines.append(self._render(logger, method, event))
        if not lines:
            raise structlog.DropEvent
        return "\n".join(lines)

    def rest(self) -> str:
        """The lines that are still to be shown at the end, each with its line end."""
        return "".join(f"{line}\n" for line in self._left_out(self._windows.end()))

    def _left_out(self, counts: dict[str, int]) -> list[str]:
        said = ({"event": LEFT_OUT, "of": kind, "lines": count} for kind, count in counts.items())
        level, limit = "info", limit_text(SHOWN)
        return [
            self._render(None, level, self._stamp(None, level, {**each, "level": level, "limit": limit}))
            for each in said
        ]
