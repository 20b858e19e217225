"""The page of `prism play` at its addresses. The panels of a run are those of the view."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.resources import files
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
from actors.core.files import write_file
from actors.factory.domains import own_code, show_of
from actors.factory.input_files import kept_inputs, place_of
from actors.factory.own_code import refuse_unknown
from actors.playground.controls import Controls, differences
from actors.playground.session import FANS, KILLED, SEEDS, Session
from actors.playground.world import SIZES, begin, play, states_of
from actors.runs.directory import RunDirectory, make_numbered
from actors.studies.experiments.processes import Pool
from actors.view.app import STATIC, ProblemError, Site
from actors.view.explainer import EXPLAIN
from actors.view.run_list import shown
from prism.config import Config, OracleConfig
from prism.errors import PrismError
from prism.experiment import read_experiment
from prism.palette import state_styles

BODY_MAX: Final = 100_000
WAIT_S, LOOK_S = 20.0, 0.01
"""The longest time that a request for events waits, and the time between two looks."""
LEASE_S: Final = 90.0
"""The time after which a page that has not asked counts as closed: browsers let a hidden page ask once a minute."""
SESSIONS_MAX, PINS_MAX = 8, 4
TOLD: Final = (PrismError, ActorError, ValueError, LookupError, OSError)


def playable(config: Config) -> tuple[Config, str]:
    """Return a configuration whose ambiguous choices no model is asked about, and a sentence on who decides them."""
    oracle, model = config.oracle, config.llm.model
    if oracle.backend == "choice":
        return config, ""
    if oracle.tape == "replay":
        return config, f"Recorded answers of {model} decide, and the embedded choice where there is none."
    plain = replace(config, oracle=OracleConfig(choice=oracle.choice))
    return plain, f"The embedded choice decides here: {model} is not asked while playing."


class PlaySite(Site):
    """The pages of one configuration.

    Args:
        config: the configuration before any change.
        name: of runs that are kept.
        place: the directory of all others, by `actors.playground.place`.
        frame: the pages that may show it inside of them.
    """

    methods = ("GET", "HEAD", "POST")
    static = (STATIC, files("actors.playground") / "static")
    first = "play.html"

    def __init__(self, config: Config, name: str, place: Path, frame: str = "'none'") -> None:
        refuse_unknown(own_code(config))  # before a process finds the configuration, and runs it
        self.frame = frame
        config, self._note = playable(config)
        self._place, self._runs = place, place / "runs"
        RunDirectory(place).write_config(config)
        self._runs.mkdir()
        super().__init__(self._runs, EXPLAIN)
        self.controls = Controls(config)
        self.controls.configured({})  # refuses at the start what no page could run
        self.kept: Path | None = None
        """The run that was kept last."""
        self._name = name
        self._begin = partial(begin, {each: place_of(each).absolute() for each in kept_inputs(config)})
        self._beside = Pool(2, self._begin)
        self._sessions: dict[str, Session] = {}
        self._guard, self._closed = Lock(), Event()
        self._ready: Session | None = self._new_session()
        # The first picture is there when the page asks; the server of processes may still be making itself ready.
        Thread(target=self._ready.move, args=({}, 0, SEEDS), name="first move", daemon=True).start()
        Thread(target=self._end_unseen, name="pages", daemon=True).start()

    def app(self) -> Starlette:
        """Return the application, without its guard."""
        app = super().app()
        posts = (self.open, self.move, self.pin, self.keep, self.experiment, self.leave)
        app.router.routes[:0] = [
            Route("/api/play/events", self.events),
            *(Route(f"/api/play/{each.__name__}", partial(_posted, each), methods=["POST"]) for each in posts),
        ]
        return app

    def close(self) -> None:
        """End all processes, and remove all files that were not kept."""
        self._closed.set()
        for session in [*self._sessions.values(), *filter(None, [self._ready])]:
            session.close()
        self._beside.stop(at_once=True)
        super().close()
        shutil.rmtree(self._place, ignore_errors=True)

    def open(self, _: Any) -> Any:
        """Begin a page, and return all that it is told once."""
        config = self.controls.base
        show = show_of(config)
        with self._guard:
            ready, self._ready = self._ready, None
            session = ready or self._new_session()
            session.seen = monotonic()  # the first one was made long before
            self._sessions[session.name] = session
            while len(self._sessions) > SESSIONS_MAX:
                self._sessions.pop(next(iter(self._sessions))).close()
        if ready is None:
            session.move({}, 0, SEEDS)
        named = [show.named(each.column) for each in show.numbers]
        return {
            "page": session.name,
            "name": self._name,
            "controls": list(self.controls.all.values()),
            "charts": [{"column": each.column, "name": each.name, "unit": each.unit} for each in named],
            "colors": {name: style.color for name, style in state_styles(sorted(states_of(config))).items()},
            "sizes": SIZES,
            "fans": FANS,
            "seeds": SEEDS,
            "pins": PINS_MAX,
            "round": show.round,
            "noun": show.agent,
            "nouns": show.agents,
            "has_people": "network" in show.pictures,
            "ticks_per_round": config.simulation.ticks_per_round,
            "note": self._note,
        }

    def move(self, asked: Any) -> Any:
        return {"move": self._session(asked).move(asked["changes"], asked["gesture"], asked["seeds"])}

    def pin(self, asked: Any) -> Any:
        self._session(asked).pin(str(asked["key"]), asked["changes"])
        return {}

    def keep(self, asked: Any) -> Any:
        """Make the run again as `prism run` would, in a directory that stays, and return where and its digest."""
        config = self.controls.configured(asked["changes"])
        directory = RunDirectory.create(None, self._name)
        try:
            found = self._beside.submit(play, config, directory.path, is_kept=True).result()
        except BrokenProcessPool:
            found = f"{KILLED}; start `prism play` again"
        if isinstance(found, str):
            directory.discard()
            raise RunDirectoryError(found)
        self.kept = directory.path
        return {"path": str(directory.path), "digest": found.digest}

    def experiment(self, asked: Any) -> Any:
        """Write an experiment that compares pinned settings over seeds, and return its file."""
        base, places = self.controls.base, self._session(asked).measured()
        conditions = {
            name: differences(base, self.controls.configured(changes))
            for name, changes in msgspec.convert(asked["pins"], dict[str, Any]).items()
        }
        seed = base.simulation.seed
        experiment = {
            "question": f"How do {', '.join(conditions)} differ?",
            "base": "config.yaml",
            "design": {"kind": "list", "conditions": conditions},
            "seeds": list(range(seed, seed + SEEDS)),
            "measures": {place.replace(".", "_"): place for place in places},
        }
        text = yaml.safe_dump(experiment, sort_keys=False, allow_unicode=True)
        read_experiment(text, "experiment.yaml")
        directory = make_numbered(Path("experiments"), self._name, "a directory")
        RunDirectory(directory).write_config(base)
        write_file(directory / "experiment.yaml", text.encode())
        return {"path": str(directory / "experiment.yaml")}

    def leave(self, asked: Any) -> Any:
        """End what a page has begun: it is closed."""
        with self._guard:
            session = self._sessions.pop(str(asked["page"]), None)
        if session is not None:
            session.close()
        return {}

    async def events(self, request: Request) -> Response:
        """Return the events after a number, and wait for the next one if there are none."""
        session = self._sessions.get(request.query_params.get("page", ""))
        after, until = request.query_params.get("after", "0"), monotonic() + WAIT_S
        if session is None or not after.isdecimal():
            return _json({"problem": "this page was closed here: load it again"}, 404)
        while not (found := session.events(int(after))) and monotonic() < until and not self._closed.is_set():  # noqa: ASYNC110
            await anyio.sleep(LOOK_S)
        return _json(found)

    def _new_session(self) -> Session:
        return Session(self.controls, self._runs, token_hex(8), self._beside, self._begin)

    def _session(self, asked: Any) -> Session:
        session = self._sessions.get(str(asked["page"]))
        if session is None:
            raise ProblemError(404, "this page was closed here: load it again")
        return session

    def _end_unseen(self) -> None:
        """End what pages have begun that were closed without a word."""
        while not self._closed.wait(LEASE_S / 6):
            for name, session in [*self._sessions.items()]:
                if monotonic() - session.seen > LEASE_S:
                    self.leave({"page": name})


async def _posted(work: Callable[[Any], Any], request: Request) -> Response:
    """Answer a request whose body is JSON: a page of another site cannot send that without asking first."""
    if request.headers.get("content-type") != "application/json":
        return _json({"problem": "expected a body of application/json"}, 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_MAX:
            return _json({"problem": f"expected at most {BODY_MAX:,} bytes"}, 413)
    try:
        asked = msgspec.json.decode(body, type=dict[str, Any])
        return _json(await to_thread.run_sync(work, asked))
    except ProblemError as error:
        return _json({"problem": str(error)}, error.status)
    except KeyError as error:
        return _json({"problem": f"expected {error} in the request"}, 422)
    except TOLD as error:
        return _json({"problem": shown(str(error))}, 422)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
