"""The progress of a run below the cell of a notebook, drawn again and again in its place."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import anyio

from actors.display.phase import phase_words
from actors.display.progress import REFRESH_S, Pace, line
from actors.display.words import duration, share
from actors.runtime.simulation import Progress
from prism.wording import counted


class ProgressView:
    """The progress as a notebook shows it: a bar and three lines, or one plain line where there is no HTML."""

    def __init__(self, progress: Progress, pace: Pace) -> None:
        self._progress = progress
        self._pace = pace

    def __repr__(self) -> str:
        return line(self._progress, self._pace)

    def _repr_html_(self) -> str:
        progress, pace = self._progress, self._pace
        phase = phase_words(progress.phase, pace.phase_s, progress.phase_reason, progress.to_redo)
        states = ", ".join(f"{count:,} {escape(state)}" for state, count in progress.agents_by_state.items() if count)
        return (
            f'<progress value="{progress.tick}" max="{progress.ticks}"></progress> '
            f"tick {progress.tick:,} of {progress.ticks:,} ({share(progress.tick, progress.ticks)}), "
            f"{duration(pace.elapsed_s)} elapsed, {duration(pace.eta_s(progress))} to go<br>{escape(phase)}<br>"
            f"{states}; oracle: {progress.oracle_queue:,} waiting, {progress.oracle_in_flight:,} being asked, "
            f"{counted(progress.fallbacks, 'fallback')}"
        )


async def show_in_notebook(read: Callable[[], Progress]) -> None:
    """Show progress below the running cell until cancelled. The last display stays there."""
    from IPython.display import display  # noqa: PLC0415  # a notebook has it, and PRISM does not depend on it

    pace = Pace(read)
    shown = display(ProgressView(pace.now(), pace), display_id=True)
    try:
        while True:
            await anyio.sleep(REFRESH_S)
            shown.update(ProgressView(pace.now(), pace))
    finally:
        shown.update(ProgressView(pace.now(), pace))
