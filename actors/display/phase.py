"""The phase of a run in words, the same in every display."""

from __future__ import annotations

from rich.text import Text

from actors.core.phase import WAITING, Phase
from actors.display.words import duration

STYLES: dict[str, str] = {Phase.RUNNING: "bold green", Phase.STARTING: "bold cyan", Phase.RECOVERING: "bold cyan"}


def phase_words(phase: Phase | str, since_s: float | None, reason: str = "", to_redo: int = 0) -> str:
    """Return the phase, its time so far, the ticks that are to be done again, and why the run waits.

    The phase `running` is shown without its time: readers would take it for the time of the whole run.

    Args:
        since_s: the time for which it has lasted; None if that is not known.
        to_redo: ticks; named while the run recovers.
    """
    words = str(phase) if since_s is None or phase == Phase.RUNNING else f"{phase} for {duration(since_s)}"
    if phase == Phase.RECOVERING and to_redo:
        words += f", {to_redo:,} recorded ticks to be done again"
    return f"{words} ({reason})" if reason else words


def phase_line(phase: Phase | str, since_s: float | None, reason: str = "", to_redo: int = 0) -> Text:
    """Return the phase as a line in its colour. A phase that waits has a sign before it, too."""
    words = phase_words(phase, since_s, reason, to_redo)
    if phase in WAITING:
        return Text(f"! {words}", style="bold yellow")
    return Text(words, style=STYLES.get(phase, "bold"))
