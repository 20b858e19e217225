"""PRISM runs: the actors, their mailboxes, and everything that touches a clock, a file, a socket or a terminal."""

from typing import TYPE_CHECKING

from prism.imports import lazy_names

if TYPE_CHECKING:
    from actors.core.errors import (
        ActorError,
        JournalError,
        NoMeasureError,
        RunDirectoryError,
        RunningLoopError,
        UntrustedCodeError,
    )
    from actors.core.ports import Observer
    from actors.factory.config_file import read_config
    from actors.playground.notebook import play
    from actors.results.api import build_domain, resume, resume_async, run, run_async
    from actors.results.result import RunResult, read_result
    from actors.runs.summary import Summary
    from actors.runtime.simulation import Progress, Simulation
    from actors.tables.export import query

__all__ = [
    "ActorError",
    "JournalError",
    "NoMeasureError",
    "Observer",
    "Progress",
    "RunDirectoryError",
    "RunResult",
    "RunningLoopError",
    "Simulation",
    "Summary",
    "UntrustedCodeError",
    "build_domain",
    "play",
    "query",
    "read_config",
    "read_result",
    "resume",
    "resume_async",
    "run",
    "run_async",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "actors.core.errors": (
                "ActorError",
                "JournalError",
                "NoMeasureError",
                "RunDirectoryError",
                "RunningLoopError",
                "UntrustedCodeError",
            ),
            "actors.core.ports": ("Observer",),
            "actors.factory.config_file": ("read_config",),
            "actors.playground.notebook": ("play",),
            "actors.results.api": ("build_domain", "resume", "resume_async", "run", "run_async"),
            "actors.results.result": ("RunResult", "read_result"),
            "actors.runs.summary": ("Summary",),
            "actors.runtime.simulation": ("Progress", "Simulation"),
            "actors.tables.export": ("query",),
        },
    )
