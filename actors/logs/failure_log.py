"""The log line for a failure beside a run, which does not end it."""

from __future__ import annotations

import structlog

ERROR_CHARS = 200
"""The most characters of an error in the log."""

log = structlog.get_logger(__name__)


def log_failure(event: str, error: Exception, actor: str = "metrics") -> None:
    """Log a failure in one line."""
    log.warning(event, actor=actor, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
