"""The pages and the numbers of `prism view`, each at its address. Every answer is read from files, and none writes.

The page asks for parts of itself, as HTML that the sections of the report are made of, and for the numbers of what
moves: the clock, and the network.
"""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import numpy as np
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from actors.core.errors import ActorError
from actors.core.files import write_file
from actors.core.machine import not_installed
from actors.explain.turns import agent_named
from actors.pages.page import Node, as_live, grid, missing, noticed, rendered, report_css, tag
from actors.store.course import MadePost
from actors.store.followed import Followed
from actors.store.manifest import read_summary
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.record import current_plan, is_experiment
from actors.view.explainer import Explainer
from actors.view.moment import AgentPanel, moment_of
from actors.view.network import Drawn
from actors.view.run_list import RunLine, cells_part, line_of, list_part, runs_below, shown, version_of
from actors.view.viewed_run import ViewedRun
from prism.config import Config
from prism.errors import PrismError
from prism.kernels import directory
from prism.no_effect import remarks

STATIC = files("actors.view") / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
BINARY = "application/octet-stream"
OPEN_MAX = 8  # runs that are kept in memory; the one that was looked at longest ago is closed first
CASCADES_LISTED = 20
KEPT_MAX = 16  # the drawings of runs, and of experiments, that are kept: those of large runs take long


class ProblemError(Exception):
    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Site:
    """The pages and numbers of a directory of runs, of one run, or of an experiment.

    `explain`: the beginning of the command that works out a turn; without it no turn is worked out.
    """

    def __init__(self, root: Path, explain: Sequence[str] = ()) -> None:
        self.explainer = Explainer(explain)
        self._experiment = root if is_experiment(root) else None
        self._root = root if self._experiment is None else root / CELLS
        self._lock = Lock()
        self._open: dict[str, ViewedRun] = {}

    name = "view"  # the command that serves it
    methods: tuple[str, ...] = ("GET", "HEAD")  # the methods of HTTP that its pages use
    frame: str = "'none'"  # the pages that may show its pages inside of them, as `frame-ancestors` has it
    static: Sequence[Traversable] = (STATIC,)  # the directories of its own files, and among them the page that opens
    first: str = "index.html"
    home: str = "All runs"  # the name of the page that opens

    def close(self) -> None:
        self.explainer.close()

    def app(self) -> Starlette:
        part, api = "/part/runs/{name}", "/api/runs/{name}"
        works: dict[str, Callable[[Request], Any]] = {
            "/part/runs": lambda _: list_part(self._root),
            "/part/compare": self.compared_sections,
            "/part/experiment": lambda _: cells_part(self._of_experiment()),
            "/part/experiment/sections": self.experiment_sections,
            f"{part}/moment": self.moment,
            f"{part}/agent": self.agent,
            f"{part}/cascade": self.cascade,
            f"{part}/explanation": self.explanation,
            f"{part}/sections": self.sections,
            "/api/home": self.directory,
            api: self.run,
            f"{api}/states": self.states,
            f"{api}/cascades": self.cascades,
            f"{api}/person": self.person,
        }
        pictures: dict[str, Callable[[Drawn], Any]] = {
            f"{api}/network": lambda drawn: {"words": drawn.words},
            f"{api}/places": Drawn.packed,
        }
        return Starlette(
            routes=[
                Route("/", partial(_file, self.static, self.first)),
                Route("/static/page.css", lambda _: Response(report_css(), media_type="text/css")),
                Route("/static/vega.js", lambda _: Response(vega(), media_type="text/javascript")),
                Route("/static/{name}", lambda request: _file(self.static, request.path_params["name"], request)),
                *(Route(path, partial(answered, work)) for path, work in works.items()),
                *(Route(path, partial(self.picture, work)) for path, work in pictures.items()),
            ],
            exception_handlers={404: self._no_page},
        )

    def _no_page(self, _: Request, __: Exception) -> Response:
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not found</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<link rel="stylesheet" href="/static/page.css"><link rel="stylesheet" href="/static/view.css"></head>'
            f'<body><main><h1>There is no such page</h1><p><a href="/">← {self.home}</a></p></main></body></html>'
        )
        return Response(page, 404, media_type="text/html")

    def directory(self, _: Request) -> Any:
        if self._experiment is not None:
            question = current_plan(self._experiment).experiment.question
            return {"question": shown(question), "version": version_of(self._experiment)}
        found = runs_below(self._root)
        return {"run": next(iter(found))} if [path for path, _ in found.values()] == [self._root] else {}

    def _of_experiment(self) -> Path:
        if self._experiment is None:
            raise ProblemError(404, "there is no experiment here")
        return self._experiment

    def experiment_sections(self, _: Request) -> str:
        path = self._of_experiment()
        return sections_of_experiment(path, version_of(path))

    def run(self, request: Request) -> dict[str, Any]:
        """Return what a run's page follows, and begin to read what has been appended."""
        run = self._of_name(request.path_params["name"])
        run.follow()
        line, journal, config = line_of(run.path), run.journal, run.config
        # In this order, because the journal is read meanwhile: what counts as read is there in all that follows.
        is_reading = run.is_reading
        read_share = 1.0 if journal is None else journal.read_bytes / max(journal.all_bytes, 1)
        is_running = line.run.holder is not None
        problem = run.problem or ("" if journal is None else _damage_words(journal, is_running=is_running))
        reading = f"reading its journal: {read_share:.0%}" if is_reading and read_share < 1 else ""
        return {
            "label": run.label,
            "head": written([*_head(run, line, problem, reading)]),
            "agents": line.run.agents,
            "noun": run.show.agent,  # what one of them is: `person`
            "is_running": is_running,
            "is_reading": is_reading,
            "read_ticks": 0 if journal is None else journal.ticks,
            "round": 1 if config is None else config.simulation.ticks_per_round,
            "opens_at": _opening(journal, line),  # the tick that is shown first
            "states": {name: looks._asdict() for name, looks in run.styles.items()},
            "pictures": tuple(run.show.pictures),  # as `prism.show.Show` has them
            "version": self._version(run),  # changes when its sections do
        }

    def _version(self, run: ViewedRun) -> str:
        kept = (run.path / name for name in ("journal.prism", "summary.json", "causes", "audit/audit.json"))
        return " ".join(str(path.stat().st_mtime_ns) if path.exists() else "-" for path in kept)

    def moment(self, request: Request) -> Sequence[Node]:
        run, journal = self._read(request)
        return moment_of(run, run.config or Config(), journal, _number(request, "tick"))

    def sections(self, request: Request) -> str:
        run = self._opened(request)
        return sections_of(((run.path, run.label),), self._version(run))

    async def picture(self, work: Callable[[Drawn], Any], request: Request) -> Response:
        """Answer with the picture of a run's network. It takes long to draw, and no thread of the server waits."""
        begun = list[Future[Drawn]]()
        answer = await to_thread.run_sync(
            answered, lambda request: begun.append(self._opened(request).network.draw()), request
        )
        if begun:
            with suppress(Exception):  # the answer tells it
                await wrap_future(begun[0])
            answer = await to_thread.run_sync(answered, lambda _: work(begun[0].result()), request)
        return answer

    def states(self, request: Request) -> bytes:
        """Return the state of each person that is drawn, or of everybody without a network, at the end of a tick."""
        run, journal = self._read(request)
        states, drawn = journal.states_at(_number(request, "tick")), run.network.drawn
        return (states if drawn is None else states[drawn.people]).tobytes()

    def cascades(self, request: Request) -> Any:
        """Return the largest cascades, each with its words and its ties: who answered or reshared whose post."""
        run, journal = self._read(request)
        found = []
        for post, size in journal.posts.largest(CASCADES_LISTED):
            tree = journal.posts.tree(post.post)
            authors = {one.post: one.author for one in tree}
            ties = [(authors[one.parent], one.author) for one in tree if one.parent is not None]
            words = f"{size:,} posts, by {run.called(post.author)} in tick {post.tick:,}"
            found.append({"post": post.post, "words": words, "ties": ties})
        return found

    def cascade(self, request: Request) -> Sequence[Node]:
        post, (run, journal) = _number(request, "post"), self._read(request)
        tree = journal.posts.tree(post)
        if not tree or tree[0].parent is not None:
            raise ProblemError(404, f"there is no original with the number {post}")
        return cascade_card(run, tree)

    def agent(self, request: Request) -> Sequence[Node]:
        run, journal = self._read(request)
        return AgentPanel(run, journal, _number(request, "agent"), _number(request, "tick")).part()

    def person(self, request: Request) -> Any:
        """Return the number of the agent that a reader has named."""
        (run, journal), given = self._read(request), request.query_params.get("called", "").strip()
        if not given.isdecimal():
            with suppress(PrismError, OSError):  # without their files people have numbers alone
                run.network.people()
        people = run.network.population
        return agent_named(given, journal.agents, run.called, () if people is None else people.ids)

    def explanation(self, request: Request) -> Sequence[Node]:
        """Return an agent's turns in a tick, with all that led to them: they are worked out again."""
        run = self._opened(request)
        agent, tick = _number(request, "agent"), _number(request, "tick")
        if agent < 0 or tick < 0:
            raise ProblemError(422, "expected an agent and a tick of 0 or more")
        return [self.explainer.get(run.path, agent, tick)]

    def compared_sections(self, request: Request) -> str:
        both = [self._of_name(request.query_params.get(side, "")) for side in ("left", "right")]
        return sections_of(tuple((run.path, run.label) for run in both), " ".join(map(self._version, both)))

    def _of_name(self, name: str) -> ViewedRun:
        with self._lock:
            if name in self._open:
                self._open[name] = self._open.pop(name)  # the run that is used now is the last that will be closed
                return self._open[name]
            found = runs_below(self._root).get(name)
            if found is None:
                raise ProblemError(404, f"there is no run {name} here")
            run = self._open[name] = ViewedRun(*found)
            while len(self._open) > OPEN_MAX:
                self._open.pop(next(iter(self._open))).close()
            return run

    def _opened(self, request: Request) -> ViewedRun:
        run = self._of_name(request.path_params["name"])
        if run.config is None:
            run.follow()
        if run.config is None:
            raise ProblemError(422, run.problem)
        return run

    def _read(self, request: Request) -> tuple[ViewedRun, Followed]:
        run = self._opened(request)
        if run.journal is None:
            run.follow()
        if run.journal is None:
            raise ProblemError(422, run.problem)
        return run, run.journal


def _damage_words(journal: Followed, *, is_running: bool) -> str:
    """Return the damage in words; empty while a process is about to write the rest of the frame."""
    damage = journal.damage
    if damage is None or (damage.is_end and is_running):
        return ""
    tick = f"tick {journal.ticks:,}"
    if damage.is_end:
        return f"the journal ends within {tick}: the run was killed there, and goes on with `prism resume`"
    return f"the journal is damaged at byte {damage.offset:,}, in {tick}: {damage.problem}"


def _opening(journal: Followed | None, line: RunLine) -> int:
    """Return the tick with which a run opens: the busiest if ticks differ, else the end."""
    course = None if journal is None else journal.course()
    if course is None or not course.ticks:
        return 0
    idle = [row[0] for row in course.states]
    is_even = line.run.holder is not None or min(idle) == max(idle)
    return course.ticks[-1] if is_even else course.ticks[idle.index(min(idle))]


def _head(run: ViewedRun, line: RunLine, problem: str, reading: str) -> Iterator[Node]:
    """Yield the head of a run's page: what was not as configured, how far the run is, and what cannot be read."""
    config, summary = run.config, read_summary(run.path)
    told: list[Node] = [f"{line.run.ticks:,} of {line.run.length:,} ticks", f"{line.run.agents:,} {line.nouns}"]
    if config is not None:
        oracle, model = config.oracle.backend, config.llm.model
        told.append(f"seed {config.simulation.seed}")
        told.append("embedded oracle" if oracle == "choice" else f"oracle {model} by {oracle}")
    told += [reading] if reading else []
    if isinstance(in_words := summary.get("in_words"), list) and in_words:
        yield tag("p", " ".join(shown(str(each)) for each in in_words), class_="answer")
    yield from noticed(map(shown, remarks(summary)))
    note = f" ({line.note})" if line.note else ""
    yield tag("ul", tag("li", line.state_in_words, note), *(tag("li", each) for each in told), class_="headline")
    if problem:
        yield tag("p", problem, class_="problem", role="alert")


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    try:
        return int(text)
    except ValueError:
        raise ProblemError(422, f"{name}: expected a whole number, got {text!r}") from None


def answered(
    work: Callable[[Request], Any], request: Request, problem_of: Callable[[Exception], str] = str
) -> Response:
    """Return what an address has: bytes as they are, a part of the page as HTML, and all else as JSON."""
    try:
        found = work(request)
        if isinstance(found, Response):
            return found
        if isinstance(found, bytes):
            return Response(found, media_type=BINARY)
        if request.url.path.startswith("/part/"):
            return Response(found if isinstance(found, str) else written(found), media_type="text/html")
        return json_of(found)
    except (ProblemError, PrismError, ActorError, ValueError, LookupError, OSError, MemoryError) as error:
        status = error.status if isinstance(error, ProblemError) else 422
        return json_of({"problem": shown(problem_of(error)) or "this process may use no more memory"}, status)


def json_of(value: Any, status: int = 200) -> Response:
    """Return JSON. An infinite number becomes null, and a type that msgspec does not know becomes text."""
    text = msgspec.json.encode(
        value, enc_hook=lambda given: given.item() if isinstance(given, np.generic) else str(given)
    )
    return Response(text, status, media_type="application/json")


def _file(static: Sequence[Traversable], name: str, _: Request) -> Response:
    """Return one of our own files: only names that are listed, so that no path leads out of the directories."""
    listed = {entry.name: entry for directory in static for entry in directory.iterdir()}
    if name not in listed or Path(name).suffix not in KINDS:
        return json_of({"problem": f"there is no {name} here"}, 404)
    return Response(listed[name].read_bytes(), media_type=KINDS[Path(name).suffix])


# Parts of the reports: drawn on the first request, and again when something has changed


def written(nodes: Sequence[Node | None]) -> str:
    """Return parts of a page as HTML, whose charts are drawn by the page's script."""
    return "".join(rendered(node, as_live) for node in nodes if node is not None)


@lru_cache(KEPT_MAX)
def sections_of(runs: tuple[tuple[Path, str], ...], _: str) -> str:
    """Return what the report has of runs of one domain, `(directory, name)`, drawn again for another version."""
    if problem := _problem_of_drawing("the charts of a run"):
        return written(problem)
    from actors.pages.report import read_real_of, read_runs, told_of_runs  # noqa: PLC0415  # altair is optional

    records = read_runs([path for path, _ in runs], names=[label for _, label in runs])
    told = told_of_runs(records, read_real_of(records[0]))
    is_alone = len(records) == 1  # then the head of its page says the rest
    warned = noticed(told.notices if is_alone else [*told.notices, *told.remarks])
    return written([None if is_alone else told.lead, *warned, *(each.drawn for each in told.sections if each)])


@lru_cache(KEPT_MAX)
def sections_of_experiment(path: Path, _: str) -> str:
    """Return the answers and the sections of an experiment's report, drawn again for another version."""
    if problem := _problem_of_drawing("the charts of an experiment"):
        return written(problem)
    from actors.pages.experiment_report import experiment_sections, lead  # noqa: PLC0415  # altair is optional
    from actors.studies.experiments.record import read_experiment_record  # noqa: PLC0415

    record = read_experiment_record(path)
    return written([*lead(record), *(each.drawn for each in experiment_sections(record) if each)])


def cascade_card(run: ViewedRun, tree: Sequence[MadePost]) -> Sequence[Node]:
    """Return the card of one cascade of a run, as the report has it, but for the likes."""
    if (problem := _problem_of_drawing("the picture of a cascade")) or run.config is None:
        return problem
    from actors.pages.cascade_charts import tree_chart  # noqa: PLC0415  # altair is optional

    return [grid([tree_chart(tree, run.config, "The chosen cascade", run.called)], "chosen")]


def _problem_of_drawing(what: str) -> list[Node]:
    """Return an element that names the first package that is needed and missing; nothing if all are there."""
    for package, extra in (("scipy", "experiments"), ("altair", "plots"), ("vl_convert", "plots")):
        if find_spec(package) is None:
            return [missing(not_installed(f"{what} need {package}", extra))]
    return []


@lru_cache(1)
def vega() -> bytes:
    """Return Vega for the page, from the installed package: no network is needed.

    Bundling takes five seconds of processor, so the bundle is kept beside the compiled kernels.
    """
    import vl_convert  # noqa: PLC0415  # an optional package

    kernels = directory()
    path = None if kernels is None else kernels.parent / f"vega-{version('vl-convert-python')}.js"
    if path is not None and path.is_file():
        return path.read_bytes()
    bundle: bytes = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode()
    if path is not None:
        write_file(path, bundle)
    return bundle
