"""Outages: the times that a server was away. Deadlines stop during them, because the questions are not to blame."""

from __future__ import annotations

from bisect import bisect_right

import structlog

log = structlog.get_logger(__name__)

LEAST_S = 0.5
"""Outages shorter than this are not kept once they are over: with one failure in ten there would be millions."""
KEPT = 1000
"""The outages kept: more than occur while one question waits."""


class Outages:
    """The outages of a server, past and present.

    An outage begins at the start of the first call in a row of failed calls, or at the last answer before that call
    ended. Until the breaker opens, it lasts to the latest failure; after that, until a probe is answered.
    """

    def __init__(self) -> None:
        self.since: float | None = None
        """The start of the failures in a row; None if the latest call was answered."""
        self.reason = self.detail = ""
        """The latest failure."""
        self._end = 0.0
        self.answered_at = float("-inf")
        """The time of the latest answer."""
        self._is_logged = False
        self._begins: list[float] = []
        self._ends: list[float] = []
        self._before: list[float] = []
        """The seconds of all outages before each of those kept."""

    def failed(self, begun: float, now: float, reason: str, detail: str, pause_s: float = 0.0) -> None:
        """Note a call that failed.

        Args:
            pause_s: the pause that the server asked for; it belongs to the outage.
        """
        if self.since is None:
            self.since = max(begun, self.answered_at)
        self._end = max(self._end, now + pause_s)
        self.reason, self.detail = reason, detail

    def answered(self, now: float, *, was_open: bool) -> None:
        """Note an answer. It ends the outage, unless the server has asked for a pause that is not over.

        Args:
            was_open: True if it answered the probe of an open breaker.
        """
        self.answered_at = now
        if self.since is None or (now < self._end and not was_open):
            return
        end = now if was_open else self._end
        if end - self.since >= LEAST_S:
            self._keep(self.since, end)
        if self._is_logged:
            log.info("oracle_back", actor="oracle", away_s=round(now - self.since, 3))
        self.since, self._is_logged = None, False

    def opened(self) -> None:
        """Log, once in an outage, that it has begun."""
        if not self._is_logged:
            log.warning("oracle_away", actor="oracle", reason=self.reason, latest=self.detail[:200])
            self._is_logged = True

    def lasts(self, now: float, *, is_open: bool) -> bool:
        """Return whether an outage lasts at this time; `is_open` as in `seconds`."""
        return self.since is not None and (is_open or now < self._end)

    def seconds(self, begin: float, now: float, *, is_open: bool) -> float:
        """Return the seconds of outages between two times.

        Args:
            is_open: True if the breaker is open, so that the present outage lasts until now.
        """
        total = self._until(now) - self._until(begin)
        if self.since is not None:
            end = now if is_open else min(now, self._end)
            total += max(0.0, end - max(begin, self.since))
        return total

    def _until(self, time: float) -> float:
        """Return the seconds of the outages kept, up to a time."""
        at = bisect_right(self._begins, time) - 1
        if at < 0:
            return self._before[0] if self._before else 0.0
        return self._before[at] + min(time, self._ends[at]) - self._begins[at]

    def _keep(self, begin: float, end: float) -> None:
        before = self._before[-1] + self._ends[-1] - self._begins[-1] if self._begins else 0.0
        self._begins.append(begin)
        self._ends.append(end)
        self._before.append(before)
        if len(self._begins) > KEPT:
            for kept in (self._begins, self._ends, self._before):
                del kept[: KEPT // 2]
