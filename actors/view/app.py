"""The pages and the numbers of `prism view`, each at its address. Every answer is read from files, and none writes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from actors.core.errors import ActorError
from actors.factory.domains import show_of
from actors.pages.style import GRID, tables_css, theme_css
from actors.store.followed import COUNTED, Followed
from actors.store.manifest import read_summary
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.record import is_experiment
from actors.view.agent_panel import panel_of
from actors.view.comparison import compare
from actors.view.explainer import Explained, Explainer
from actors.view.outcomes import Outcomes, outcomes_of
from actors.view.run_list import RunLine, RunLister, shown
from actors.view.viewed_causes import ShownCauses
from actors.view.viewed_experiment import ViewedExperiment
from actors.view.viewed_run import Opened, ViewedRun
from prism.config import Config
from prism.errors import PrismError
from prism.no_effect import remarks
from prism.palette import SOURCES, state_styles
from prism.show import Show

STATIC = files("actors.view") / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
OPEN_MAX = 8
"""Runs that are kept in memory; the one that was looked at longest ago is closed first."""
CASCADES_LISTED = 20


class ProblemError(Exception):
    """A request that cannot be answered."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Style(NamedTuple):
    """The looks of a state, with its name and its number in the arrays of states."""

    name: str
    number: int
    color: str
    mark: str
    text: str
    description: str = ""


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers at the head of a run's page."""

    line: RunLine
    path: str  # of the run, for a shell in the directory where the page is served
    in_words: list[str]  # what happened in a run that has ended, and what limits it, a sentence each
    remarks: list[str]  # what was not as configured in it, and what had no effect, a line each
    read_ticks: int
    read_share: float
    is_reading: bool
    problem: str  # why the run, or the rest of it, cannot be shown; empty if it can
    digest: str
    states: list[Style]
    title: str  # title, pictures: as `prism.show.Show` has them
    pictures: tuple[str, ...]
    sources: dict[str, str]
    config: dict[str, Any]
    version: str
    record_version: str
    causes: float  # changes when the causes of an outcome are kept; 0 if there are none


class Site:
    """The pages and numbers of one directory.

    Args:
        root: a directory of runs, of one run, or of an experiment.
        explain: the beginning of the command that works out a turn; without it no turn is worked out.
        given: returns a run's path as the user gave it; by default the path itself.
    """

    def __init__(
        self,
        root: Path,
        explain: Sequence[str] = (),
        given: Callable[[Path], Path] = lambda path: path,
    ) -> None:
        self.explainer = Explainer(explain)
        self._experiment = ViewedExperiment(root) if is_experiment(root) else None
        self._lister = RunLister(root if self._experiment is None else root / CELLS)
        self._given = given
        self._lock = Lock()
        self._open: dict[str, ViewedRun] = {}

    def app(self) -> Starlette:
        """Return the application, without its guard."""
        runs = "/api/runs/{name}"
        numbers: dict[str, Callable[[Request], Any]] = {
            "/api/runs": self.runs,
            "/api/compare": self.comparison,
            "/api/experiment": self.experiment,
            "/api/experiment/charts": self.charts,
            runs: self.run,
            f"{runs}/course": self.course,
            f"{runs}/network": self.network,
            f"{runs}/cascades": self.cascades,
            f"{runs}/cascade": self.cascade,
            f"{runs}/agent": self.agent,
            f"{runs}/explanation": self.explanation,
            f"{runs}/oracle": self.oracle,
            f"{runs}/outcomes": self.outcomes,
            f"{runs}/causes": self.causes,
            f"{runs}/council": self.council,
        }
        rules = theme_css() + GRID + tables_css()
        binary = {f"{runs}/states": self.states, f"{runs}/places": self.places}
        return Starlette(
            routes=[
                Route("/", partial(_file, "index.html")),
                Route("/static/theme.css", lambda _: Response(rules, media_type="text/css")),
                Route("/static/{name}", lambda request: _file(request.path_params["name"], request)),
                *(Route(path, partial(_answer, work)) for path, work in numbers.items()),
                *(Route(path, partial(_bytes, work)) for path, work in binary.items()),
            ],
            exception_handlers={404: _no_page},
        )

    def runs(self, _: Request) -> Any:
        return self._lister.lines()

    def experiment(self, _: Request) -> Any:
        """Return the experiment of the directory with its cells; None if the directory is no experiment."""
        return None if self._experiment is None else self._experiment.now()

    def charts(self, _: Request) -> Any:
        if self._experiment is None:
            raise ProblemError(404, "there is no experiment here")
        return self._experiment.charts()

    def run(self, request: Request) -> RunPage:
        """Return the page of a run, and begin to read what has been appended."""
        run = self._run(request)
        run.follow()
        line, journal = self._lister.line(run.path), run.journal
        # In this order, because the journal is read meanwhile: what counts as read is there in all that follows.
        is_reading = run.is_reading
        read_share = 1.0 if journal is None else journal.read_bytes / max(journal.all_bytes, 1)
        show = Show(Config()) if run.opened is None else show_of(run.opened.config)
        problem = run.problem
        if journal is not None and journal.damage is not None and not problem:
            problem = _damage_words(journal, is_running=line.is_running)
        path = run.path
        told = read_summary(path).get("in_words")
        in_words = [shown(str(each)) for each in told] if isinstance(told, list) else []
        return RunPage(
            line=line,
            path=shown(shlex.quote(str(self._given(run.path)))),
            in_words=in_words,
            remarks=[*map(shown, remarks(read_summary(run.path)))],
            read_ticks=0 if journal is None else journal.ticks,
            read_share=read_share,
            is_reading=is_reading,
            problem=problem,
            digest="" if journal is None else journal.digest,
            states=_styles(run),
            title=show.title,
            pictures=tuple(show.pictures),
            sources=dict(SOURCES),
            config={} if journal is None else journal.header.config,
            version=version("prism-sim"),
            record_version="" if journal is None else journal.header.prism,
            causes=run.causes.mark,
        )

    def course(self, request: Request) -> Any:
        return {"counted_names": COUNTED, **self._journal(request).course()._asdict()}

    def states(self, request: Request) -> bytes:
        """Return the state of each person that is drawn, or of everybody without a network, at the end of a tick."""
        run, journal = self._run(request), self._journal(request)
        states = journal.states_at(_number(request, "tick"))
        drawn = None if run.opened is None else run.opened.network.drawn
        return (states if drawn is None else states[drawn.people]).tobytes()

    def network(self, request: Request) -> Any:
        """Return the progress of the network, and begin to work it out."""
        _, opened = self._opened(request)
        opened.network.begin()
        return opened.network.now

    def places(self, request: Request) -> bytes:
        """Return the network's numbers."""
        drawn = self._opened(request)[1].network.drawn
        if drawn is None:
            raise ProblemError(404, "the network is not there yet")
        return drawn.packed()

    def cascades(self, request: Request) -> Any:
        posts = self._journal(request).posts
        largest = posts.largest(CASCADES_LISTED)
        return {
            "posts": len(posts.ids),
            "largest": [
                {"post": post.post, "author": post.author, "size": size, "tick": post.tick} for post, size in largest
            ],
        }

    def cascade(self, request: Request) -> Any:
        post = _number(request, "post")
        tree = self._journal(request).posts.tree(post)
        if not tree or tree[0].parent is not None:
            raise ProblemError(404, f"there is no original with the number {post}")
        places = {one.post: place for place, one in enumerate(tree)} | {None: -1}
        return [{**one._asdict(), "parent": places[one.parent]} for one in tree]

    def agent(self, request: Request) -> Any:
        return panel_of(self._run(request), self._journal(request), _number(request, "agent"), _number(request, "tick"))

    def explanation(self, request: Request) -> Explained:
        """Return an agent's turns in a tick, with all that led to them, once they have been worked out again."""
        run, _ = self._opened(request)
        agent, tick = _number(request, "agent"), _number(request, "tick")
        if agent < 0 or tick < 0:
            raise ProblemError(422, "expected an agent and a tick of 0 or more")
        return self.explainer.get(run.path, agent, tick)

    def oracle(self, request: Request) -> Any:
        return self._opened(request)[1].oracle.now()

    def outcomes(self, request: Request) -> Outcomes:
        run, opened = self._opened(request)
        return outcomes_of(run.path, opened.config, self._journal(request).header.inputs)

    def causes(self, request: Request) -> ShownCauses:
        run, opened = self._opened(request)
        return run.causes.shown(opened.config, self._journal(request).ticks)

    def council(self, request: Request) -> Any:
        _, opened = self._opened(request)
        tick = _number(request, "tick")
        return show_of(opened.config).council(tick, [*self._journal(request).messages(tick, tick)])

    def comparison(self, request: Request) -> Any:
        left, right = (self._of_name(request.query_params.get(side, "")) for side in ("left", "right"))
        for run in (left, right):
            run.follow()
        if left.journal is None or right.journal is None:
            raise ProblemError(422, left.problem or right.problem or "a run cannot be read")
        return compare(left.journal, right.journal)

    def _run(self, request: Request) -> ViewedRun:
        return self._of_name(request.path_params["name"])

    def _of_name(self, name: str) -> ViewedRun:
        with self._lock:
            if name in self._open:
                self._open[name] = self._open.pop(name)  # the run that is used now is the last that will be closed
                return self._open[name]
            path = self._lister.paths().get(name)
            if path is None:
                raise ProblemError(404, f"there is no run {name} here")
            run = self._open[name] = ViewedRun(path)
            while len(self._open) > OPEN_MAX:
                self._open.pop(next(iter(self._open))).close()
            return run

    def _opened(self, request: Request) -> tuple[ViewedRun, Opened]:
        run = self._run(request)
        if run.opened is None:
            run.follow()
        if run.opened is None:
            raise ProblemError(422, run.problem)
        return run, run.opened

    def _journal(self, request: Request) -> Followed:
        run, _ = self._opened(request)
        if run.journal is None:
            run.follow()
        if run.journal is None:
            raise ProblemError(422, run.problem)
        return run.journal


def _damage_words(journal: Followed, *, is_running: bool) -> str:
    """Return the damage in words; empty while a process is about to write the rest of the frame."""
    damage = journal.damage
    if damage is None or (damage.is_end and is_running):
        return ""
    if damage.is_end:
        return (
            f"the journal ends within tick {journal.ticks:,}: the run was killed there, and goes on with `prism resume`"
        )
    return f"the journal is damaged at byte {damage.offset:,}, in tick {journal.ticks:,}: {damage.problem}"


def _styles(run: ViewedRun) -> list[Style]:
    """Return the looks of a run's states, in the order of their names, which is that of a stack."""
    if run.journal is None or not run.journal.states:
        return []
    numbers = {name: number for number, name in enumerate(run.journal.states)}
    notes = (
        {} if run.chart is None else {path[-1].name: path[-1].description or "" for path in run.chart.definition.walk()}
    )
    return [
        Style(name, numbers[name], *style, notes.get(name, "")) for name, style in state_styles(sorted(numbers)).items()
    ]


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    try:
        return int(text)
    except ValueError:
        raise ProblemError(422, f"{name}: expected a whole number, got {text!r}") from None


def _answer(work: Callable[[Request], Any], request: Request) -> Response:
    return _attempt(lambda: Response(_json(work(request)), media_type="application/json"))


def _bytes(work: Callable[[Request], bytes], request: Request) -> Response:
    return _attempt(lambda: Response(work(request), media_type="application/octet-stream"))


def _attempt(work: Callable[[], Response]) -> Response:
    try:
        return work()
    except ProblemError as error:
        return _problem(error.status, error)
    except (PrismError, ActorError, ValueError, LookupError, OSError, MemoryError) as error:
        return _problem(422, error)


def _problem(status: int, error: Exception) -> Response:
    return Response(_json({"problem": shown(str(error))}), status, media_type="application/json")


def _json(value: Any) -> bytes:
    """Return JSON. An infinite number becomes null, and a type that msgspec does not know becomes text."""
    return msgspec.json.encode(
        value, enc_hook=lambda given: given.item() if isinstance(given, np.generic) else str(given)
    )


def _no_page(_: Request, __: Exception) -> Response:
    """Return the page for an unknown address, with a link back."""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not found</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/static/theme.css"><link rel="stylesheet" href="/static/view.css"></head>'
        '<body><main><h1>There is no such page</h1><p><a href="/">← All runs</a></p></main></body></html>'
    )
    return Response(page, 404, media_type="text/html")


def _file(name: str, _: Request) -> Response:
    """Return one of our own files: only names that are listed, so that no path leads out of the directory."""
    listed = {entry.name: entry for entry in STATIC.iterdir()}
    if name not in listed or Path(name).suffix not in KINDS:
        return Response(json.dumps({"problem": f"there is no {name} here"}), 404, media_type="application/json")
    return Response(listed[name].read_bytes(), media_type=KINDS[Path(name).suffix])
