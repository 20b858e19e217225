"""Outages: the times that a server was away. Deadlines stop during them, because the questions are not to blame."""

from __future__ import annotations

import structlog

log = structlog.get_logger(__name__)


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
        self.answered_at = float("-inf")
        """The time of the latest answer."""
        self._end = 0.0
        self._past_s = 0.0
        """The seconds of all outages that are over."""
        self._is_logged = False

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
        self._past_s += max(0.0, (now if was_open else self._end) - self.since)
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

    def seconds(self, now: float, *, is_open: bool) -> float:
        """Return the seconds of all outages so far.

        Args:
            is_open: True if the breaker is open, so that the present outage lasts until now.
        """
        if self.since is None:
            return self._past_s
        return self._past_s + max(0.0, (now if is_open else min(now, self._end)) - self.since)
