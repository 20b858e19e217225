"""The causes that a run keeps, as the page shows them: the pictures of the report, and what each agent has added."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

from actors.core.machine import not_installed
from actors.store.course import read_course
from actors.store.posts import NO_POSTS
from actors.studies.causes.record import CAUSES, Kept, kept_causes
from actors.studies.causes.track import CASCADE
from actors.studies.causes.words import added_words
from prism.config import Config

T = TypeVar("T")


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of an agent, or of one of its decisions or ties, on an outcome, in words."""

    agent: int
    of: str
    words: str


class ShownCauses(msgspec.Struct, frozen=True, kw_only=True):
    """The causes of a run's outcomes."""

    parts: list[Any]
    places: dict[str, str]  # `{outcome: the HTML id of its part}`
    added: list[Added]  # the effects of agents, the largest first for each outcome


class Redrawn(Generic[T]):
    """What was drawn last. It is drawn on the first request, and again when something has changed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._drawn: tuple[object, T] | None = None

    def get(self, version: object, draw: Callable[[], T]) -> T:
        """Return what is drawn of this version."""
        with self._lock:
            if self._drawn is None or self._drawn[0] != version:
                self._drawn = version, draw()
            return self._drawn[1]


class ViewedCauses:
    """The causes that a run keeps, drawn on the first request, and again when a file or the run has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._drawn = Redrawn[ShownCauses]()

    @property
    def mark(self) -> float:
        """A number that changes when causes are kept; 0 if there are none."""
        try:
            return (self._path / CAUSES).stat().st_mtime
        except OSError:
            return 0.0

    def shown(self, config: Config, ticks: int) -> ShownCauses:
        return self._drawn.get((self.mark, ticks), lambda: self._draw(config, ticks))

    def _draw(self, config: Config, ticks: int) -> ShownCauses:
        kept = kept_causes(self._path)
        added = [
            Added(agent=each.agent, of=found.of, words=added_words(each))
            for found in kept.found
            for each in (*found.causes, *found.smaller)
            if each.agent is not None
        ]
        if (problem := problem_of_drawing("pictures of causes")) is not None:
            return ShownCauses(parts=[problem], places={}, added=added)
        from actors.pages.cause_charts import Shown, anchor, cause_parts  # noqa: PLC0415  # altair is an optional package

        posts = read_course(self._path, "posts").posts if _has_cascade(kept) else NO_POSTS
        parts = cause_parts(kept, Shown(posts, ticks, config.simulation.tick_seconds))
        return ShownCauses(parts=parts, places={each.of: anchor(each.of) for each in kept.found}, added=added)


def _has_cascade(kept: Kept) -> bool:
    return any(each.of.startswith(CASCADE) for each in kept.found)


def problem_of_drawing(what: str) -> Any:
    """Return an element that names the first package that is needed and missing; None if all are there."""
    for package, extra in (("scipy", "experiments"), ("altair", "plots"), ("vl_convert", "plots")):
        if find_spec(package) is None:
            return "section", {}, [("p", {"class": "quiet"}, [not_installed(f"{what} need {package}", extra)])]
    return None
