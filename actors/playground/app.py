"""The page of `prism play` at its addresses. The panels of a run are those of the view."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from secrets import token_hex
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Final

import anyio
import msgspec
import yaml
from anyio import to_thread
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from actors.core.errors import ActorError, RunDirectoryError
from actors.factory.domains import show_of
from actors.playground.controls import PINS_MAX, Changes, Controls, differences
from actors.playground.session import FANS, LEASE_S, SEEDS, SESSIONS_MAX, Session, Workshop
from actors.playground.world import SIZES, Failed, Played, states_of
from actors.runs.directory import RunDirectory
from actors.view.app import KINDS, ProblemError, Site
from actors.view.run_list import shown
from prism.config import Config, OracleConfig
from prism.errors import ConfigError, PrismError
from prism.experiment import read_experiment
from prism.palette import state_styles

STATIC: Final = files("actors.playground") / "static"
BODY_MAX: Final = 100_000
WAIT_S, LOOK_S = 20.0, 0.01
"""The longest time that a request for events waits, and the time between two looks."""
TOLD: Final = (ConfigError, PrismError, ActorError, ValueError, LookupError, OSError)
EXPERIMENT_SEEDS: Final = 20


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """All that a page is told once, when it opens."""

    page: str
    name: str
    controls: Sequence[Any]
    charts: Sequence[Any]  # `{column, name, unit}` of each chart over rounds
    colors: dict[str, str]  # `{state: its colour}`
    sizes: Sequence[int]
    fans: Sequence[int]
    seeds: int  # of the fan at first
    pins: int
    round: str
    noun: str
    has_people: bool
    ticks_per_round: int
    note: str  # who decides ambiguous choices here


def playable(config: Config) -> tuple[Config, str]:
    """Return a configuration whose ambiguous choices no model is asked about, and a sentence on who decides them."""
    if config.oracle.backend == "choice":
        return config, ""
    if config.oracle.tape == "replay":
        return (
            replace(config, oracle=replace(config.oracle, max_fallback_share=None)),
            f"Recorded answers of {config.llm.model} decide; a choice without one takes the first option, and counts.",
        )
    plain = replace(config, oracle=OracleConfig(choice=config.oracle.choice))
    return plain, f"The embedded choice decides here: {config.llm.model} is not asked while playing."


class PlaySite(Site):
    """The pages of one configuration.

    Args:
        config: the configuration before any change.
        name: of runs that are kept.
        explain: the beginning of the command that works out a turn.
    """

    methods = ("GET", "HEAD", "POST")

    def __init__(self, config: Config, name: str, explain: Sequence[str] = ()) -> None:
        config, self._note = playable(config)
        self._place = Path(tempfile.mkdtemp(prefix="prism-play-"))
        self._runs = self._place / "runs"
        self._runs.mkdir()
        base = RunDirectory(self._place)
        base.write_config(config)
        self._workshop = Workshop(self._place)
        super().__init__(self._runs, explain)
        self.controls = Controls(config)
        self.kept: Path | None = None
        """The run that was kept last."""
        self._name = name
        self._sessions: dict[str, Session] = {}
        self._guard = Lock()
        self._closed = Event()
        self._ready: Session | None = self._new_session()
        self._ready.move({}, "first", SEEDS)  # so that the first picture is there when the page asks
        Thread(target=self._end_unseen, name="pages", daemon=True).start()

    def app(self) -> Starlette:
        """Return the application, without its guard."""
        app = super().app()
        posts: dict[str, Callable[[Any], Any]] = {
            "open": lambda _: self.open(),
            "move": self.move,
            "pin": self.pin,
            "keep": self.keep,
            "experiment": self.experiment,
            "leave": self.leave,
        }
        app.router.routes[:0] = [
            Route("/", partial(_own_file, "index.html")),
            Route("/static/play/{name}", lambda request: _own_file(request.path_params["name"], request)),
            Route("/api/play/events", self.events),
            *(Route(f"/api/play/{name}", partial(_posted, work), methods=["POST"]) for name, work in posts.items()),
        ]
        return app

    def close(self) -> None:
        """End all processes, and remove all files that were not kept."""
        self._closed.set()
        for session in [*self._sessions.values(), *filter(None, [self._ready])]:
            session.close()
        super().close()
        shutil.rmtree(self._place, ignore_errors=True)

    def open(self) -> Opening:
        config = self.controls.base
        show = show_of(config)
        with self._guard:
            session, self._ready = self._ready or self._new_session(), None
            self._sessions[session.name] = session
            while len(self._sessions) > SESSIONS_MAX:
                self._sessions.pop(next(iter(self._sessions))).close()
        named = [show.named(each.column) for each in show.numbers]
        return Opening(
            page=session.name,
            name=self._name,
            controls=list(self.controls.all.values()),
            charts=[{"column": each.column, "name": each.name, "unit": each.unit} for each in named],
            colors={name: style.color for name, style in state_styles(sorted(states_of(config))).items()},
            sizes=SIZES,
            fans=FANS,
            seeds=SEEDS,
            pins=PINS_MAX,
            round=show.round,
            noun=show.agent,
            has_people="network" in show.pictures,
            ticks_per_round=config.simulation.ticks_per_round,
            note=self._note,
        )

    def move(self, asked: Any) -> Any:
        session = self._session(asked)
        return {"move": session.move(_changes(asked), asked.get("gesture"), asked.get("seeds"))}

    def pin(self, asked: Any) -> Any:
        self._session(asked).pin(str(asked.get("key"))[:40], _changes(asked))
        return {}

    def keep(self, asked: Any) -> Any:
        """Make the run again as `prism run` would, in a directory that stays, and return where and its digest."""
        self._session(asked)
        config = self.controls.configured(_changes(asked))
        directory = RunDirectory.create(None, self._name)
        done, found = Event(), list[Played | Failed]()

        def answered(_: int, played: Played | Failed) -> None:
            found.append(played)
            done.set()

        self._workshop.begin([config], directory.path, answered, is_shown=True, is_kept=True)
        while not done.wait(0.05):
            if self._closed.is_set():
                raise RunDirectoryError(f"{directory.path}: the page was closed before the run ended")
        if isinstance(found[0], Failed):
            directory.discard()
            raise RunDirectoryError(found[0].problem)
        self.kept = directory.path
        return {"path": str(directory.path), "digest": found[0].digest}

    def experiment(self, asked: Any) -> Any:
        """Write an experiment that compares pinned settings over seeds, and return its file."""
        pins = asked.get("pins")
        if not isinstance(pins, dict) or not 2 <= len(pins) <= PINS_MAX:
            raise ConfigError("the page", f"expected 2 to {PINS_MAX} pins to compare")
        base, show = self.controls.base, show_of(self.controls.base)
        conditions = {
            str(name)[:40]: differences(base, self.controls.configured(_changes({"changes": changes})))
            for name, changes in pins.items()
        }
        directory = next(
            path for number in count(1) if not (path := Path("experiments") / f"{self._name}-{number:03d}").exists()
        )
        directory.mkdir(parents=True)
        RunDirectory(directory).write_config(base)
        seed = base.simulation.seed
        totals = [each.column if each.is_total else f"rounds.mean.{each.column}" for each in show.numbers]
        places = dict.fromkeys([*show.compared, *totals[:6]])
        text = yaml.safe_dump(
            {
                "question": f"How do {', '.join(conditions)} differ?",
                "base": "config.yaml",
                "design": {"kind": "list", "conditions": conditions},
                "seeds": list(range(seed, seed + EXPERIMENT_SEEDS)),
                "measures": {place.removeprefix("rounds.").replace(".", "_"): place for place in places},
            },
            sort_keys=False,
            allow_unicode=True,
        )
        read_experiment(text, "experiment.yaml")
        (directory / "experiment.yaml").write_text(text)
        return {"path": str(directory / "experiment.yaml")}

    def leave(self, asked: Any) -> Any:
        """End what a page has begun: it is closed."""
        with self._guard:
            session = self._sessions.pop(str(asked.get("page")), None)
        if session is not None:
            session.close()
        return {}

    async def events(self, request: Request) -> Response:
        """Return the events after a number, and wait for the next one if there are none."""
        session = self._sessions.get(request.query_params.get("page", ""))
        after = request.query_params.get("after", "0")
        if session is None or not after.isdecimal():
            return _json({"problem": "this page was closed here: load it again"}, 404)
        until = monotonic() + WAIT_S
        while not (found := session.events(int(after))) and monotonic() < until and not self._closed.is_set():
            if await request.is_disconnected():
                break
            await anyio.sleep(LOOK_S)
        return _json(found)

    def _new_session(self) -> Session:
        return Session(self.controls, self._workshop, self._runs, token_hex(8))

    def _session(self, asked: Mapping[str, Any]) -> Session:
        session = self._sessions.get(str(asked.get("page")))
        if session is None:
            raise ProblemError(404, "this page was closed here: load it again")
        return session

    def _end_unseen(self) -> None:
        """End what pages have begun that were closed without a word."""
        while not self._closed.wait(LEASE_S / 6):
            with self._guard:
                gone = [name for name, each in self._sessions.items() if monotonic() - each.seen > LEASE_S]
                closed = [self._sessions.pop(name) for name in gone]
            for session in closed:
                session.close()


def _changes(asked: Mapping[str, Any]) -> Changes:
    changes = asked.get("changes")
    if not isinstance(changes, dict):
        raise ConfigError("the page", "expected changes as {path: value}")
    return changes


async def _posted(work: Callable[[Any], Any], request: Request) -> Response:
    """Answer a request whose body is JSON: no page of another site can send that without asking first."""
    if request.headers.get("content-type") != "application/json":
        return _json({"problem": "expected a body of application/json"}, 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_MAX:
            return _json({"problem": f"expected at most {BODY_MAX:,} bytes"}, 413)
    try:
        asked = msgspec.json.decode(body)
        if not isinstance(asked, dict):
            raise ConfigError("the page", "expected an object")
        return _json(await to_thread.run_sync(work, asked))
    except ProblemError as error:
        return _json({"problem": str(error)}, error.status)
    except TOLD as error:
        return _json({"problem": shown(str(error))}, 422)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _own_file(name: str, _: Request) -> Response:
    """Return one of the page's own files: only names that are listed."""
    listed = {entry.name: entry for entry in STATIC.iterdir()}
    if name not in listed:
        return _json({"problem": "there is no such file here"}, 404)
    return Response(listed[name].read_bytes(), media_type=KINDS[Path(name).suffix])
