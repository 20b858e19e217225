"""The page of `prism play` at its addresses. The panels of a run are those of the view.

A move is one request, and its answer a stream: the run of the seed, then the fan, a line of JSON each. The page ends
the request when the next move comes, and so does a browser that closes the page; with the request end its processes.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, Literal, TypeVar

import msgspec
import yaml
from anyio import CancelScope, to_thread
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from actors.core.errors import RunDirectoryError
from actors.core.files import write_file
from actors.core.machine import processors
from actors.factory.domains import own_code, show_of
from actors.factory.input_files import kept_inputs, place_of
from actors.factory.own_code import refuse_unknown
from actors.playground.controls import Controls, differences
from actors.playground.world import (
    SIZES,
    Measures,
    Played,
    begin_process,
    changed_in_words,
    fan_in_words,
    play,
    problem_of,
    states_of,
)
from actors.runs.directory import RunDirectory, make_numbered
from actors.runs.inputs import keep_files
from actors.studies.experiments.cells import Pool
from actors.view.app import STATIC, ProblemError, Site, answered, json_of
from actors.view.explainer import EXPLAIN
from prism.config import Config, OracleConfig
from prism.experiment.experiment_file import read_experiment
from prism.kernels import WORTH_COMPILING, are_wanted, is_kept
from prism.palette import state_styles

FANS: Final = (1, 5, 20, 100)  # the numbers of seeds that a page can ask for; at each of them the interval is told
SEEDS: Final = 20
BODY_MAX: Final = 1_000_000
PINS_MAX, AT_ONCE_MAX = 4, 8  # the most pins of a page, and the most moves of all pages that are under way
SHOWN_MAX = 16  # the latest moves of all pages whose files are kept for panels
KILLED: Final = "its process was ended from outside, perhaps for lack of memory"
OPENING: Final = "opening"  # the run with which pages open

A = TypeVar("A", bound=msgspec.Struct)
encode_lines: Final = msgspec.json.Encoder().encode_lines


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a move is compared with: its digest, and what is known of each seed."""

    digest: str
    seeds: dict[str, Measures]


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the run with some settings changed, and further seeds. `shows`: panels may be asked for."""

    changes: dict[str, Any]
    seeds: Literal[1, 5, 20, 100] = 1
    shows: bool = False
    before: Before | None = None


class Pins(msgspec.Struct, frozen=True, kw_only=True):
    """A request for an experiment. `pins`: `{name of a condition: what it changes}`."""

    pins: dict[str, dict[str, Any]]


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

    `name`: of runs that are kept. `place`: of all others. `frame`: the pages that may show it inside of them.
    """

    name = "play"
    methods = ("GET", "HEAD", "POST")
    static = (STATIC, files("actors.playground") / "static")
    first = "play.html"
    home = "The world"

    def __init__(self, config: Config, title: str, place: Path, frame: str = "'none'") -> None:
        refuse_unknown(own_code(config))  # before a process finds the configuration, and runs it
        self.frame = frame
        config, self._note = playable(config)
        self._title, self._place, self._runs = title, place, place / "runs"
        RunDirectory(place).write_config(config)
        self._runs.mkdir()
        super().__init__(self._runs, EXPLAIN)
        self.controls = Controls(config, place)
        self.controls.configured({})  # refuses at the start what no page could run
        self.kept: Path | None = None
        self._numbers, self._pools, self._ending = count(1), set[Pool](), Lock()
        self._shown, self._is_closed = deque[Path](), False
        self.compiles = are_wanted(WORTH_COMPILING) and not is_kept()
        """True if the kernels have to be compiled before the first run."""
        self.opening: Future[Played | str] = Future()
        """The run before any change: it is there when the first page asks."""
        # The server of processes is still making itself ready, and accepts no process before it is.
        Thread(target=lambda: self.opening.set_result(self._play(config, self._runs / OPENING)), daemon=True).start()

    def app(self) -> Starlette:
        app = super().app()
        app.router.routes[:0] = [
            Route("/api/play/settings", lambda _: json_of(self.settings())),
            Route("/api/play/move", partial(_posted, Move, self.move), methods=["POST"]),
            Route("/api/play/keep", partial(_posted, Move, self.keep), methods=["POST"]),
            Route("/api/play/experiment", partial(_posted, Pins, self.experiment), methods=["POST"]),
        ]
        return app

    def close(self) -> None:
        """End all processes, and remove all files that were not kept."""
        self._is_closed = True
        for pool in [*self._pools]:
            self._end(pool)
        super().close()
        shutil.rmtree(self._place, ignore_errors=True)

    def settings(self) -> Any:
        config = self.controls.base
        show = show_of(config)
        named = [show.named(each.column) for each in show.numbers]
        return {
            "name": self._title,
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

    def move(self, asked: Move) -> Response:
        config = self.controls.configured(asked.changes)
        if len(self._pools) >= AT_ONCE_MAX:
            raise ProblemError(429, f"{AT_ONCE_MAX} pages are at work already: close one of them")
        return StreamingResponse(self._answer(asked, config), media_type="application/x-ndjson")

    async def _answer(self, asked: Move, config: Config) -> AsyncIterator[bytes]:
        """Yield the lines of the answer to a move. If the reader stops, the processes of the move end."""
        loop, results = asyncio.get_running_loop(), asyncio.Queue[Played | str]()
        with CancelScope(shield=True):
            pool = await to_thread.run_sync(self._pool, processors())
        number = next(self._numbers)
        run, others = self._runs / f"run-{number}", self._place / f"fan-{number}"

        def tell(future: Future[Played | str]) -> None:
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(results.put_nowait, _result(future))

        def begin(wanted: Sequence[tuple[Config, Path]], *, is_shown: bool) -> None:
            for one, path in wanted:
                _submit(pool, one, path, is_shown=is_shown).add_done_callback(tell)

        answered = config == self.controls.base
        if answered:
            run = self._runs / OPENING
            self.opening.add_done_callback(tell)
        else:
            Thread(target=partial(begin, [(config, run)], is_shown=asked.shows)).start()
        before, now = asked.before or Before(digest="", seeds={}), dict[str, Measures]()
        try:
            first = found = await results.get()
            if isinstance(first, str):
                yield encode_lines([{"kind": "failed", "problem": first}])
                return
            answered, now[first.seed] = True, first.values
            if asked.shows and run.name != OPENING:
                self._shown.append(run)
            words = changed_in_words(before.seeds.get(first.seed), first, is_same=first.digest == before.digest)
            yield encode_lines([{"kind": "answer", "played": first, "run": run.name, "words": words}])
            seeds = [(config.simulation.seed + place) % 2**63 for place in range(1, asked.seeds)]
            fan = [replace(config, simulation=replace(config.simulation, seed=seed)) for seed in seeds]
            wanted = [(one, others / str(one.simulation.seed)) for one in fan]
            Thread(target=partial(begin, wanted, is_shown=False)).start()
            for place in range(1, len(fan) + 1):
                found = await results.get()
                if isinstance(found, str):
                    yield encode_lines([{"kind": "failed", "problem": found}])
                    if found == KILLED:
                        return
                    continue
                now[found.seed] = found.values
                yield encode_lines([{"kind": "seed", "played": replace(found, words=(), remarks=())}])
                if place == len(fan) or len(now) in FANS:
                    yield encode_lines([{"kind": "fan", "words": fan_in_words(now, before.seeds, first)}])
        finally:
            gone = [others] if answered else [others, run]
            while len(self._shown) > SHOWN_MAX:
                gone.append(self._shown.popleft())
            Thread(target=self._end, args=(pool, *gone)).start()

    def keep(self, asked: Move) -> Any:
        """Make the run again as `prism run` would, in a directory that stays, and return where and its digest."""
        config, directory = self.controls.configured(asked.changes), RunDirectory.create(None, self._title)
        found = self._play(config, directory.path, is_kept=True)
        if isinstance(found, str):
            directory.discard()
            raise RunDirectoryError(found)
        self.kept = directory.path
        return {"path": str(directory.path), "digest": found.digest}

    def experiment(self, asked: Pins) -> Any:
        """Write an experiment that compares pinned settings over seeds, and return its file."""
        base, opening = self.controls.base, self.opening.result()
        configs = {name: self.controls.configured(changes) for name, changes in asked.pins.items()}
        seed, names = base.simulation.seed, [f"“{name}”" for name in configs]
        experiment = {
            "question": f"How do {', '.join(names[:-1])} and {names[-1]} differ?",
            "base": "config.yaml",
            "design": {
                "kind": "list",
                "conditions": {name: differences(base, config) for name, config in configs.items()},
            },
            "seeds": list(range(seed, seed + SEEDS)),
            "measures": {} if isinstance(opening, str) else {each.replace(".", "_"): each for each in opening.values},
        }
        text = yaml.safe_dump(experiment, sort_keys=False, allow_unicode=True)
        read_experiment(text, "experiment.yaml")
        directory = RunDirectory(make_numbered(Path("experiments"), self._title, "a directory"))
        directory.write_config(base)
        keep_files(directory, {path for each in [base, *configs.values()] for path in _inputs(each).values()})
        write_file(directory.path / "experiment.yaml", text.encode())
        return {"path": str(directory.path / "experiment.yaml")}

    def _play(self, config: Config, directory: Path, *, is_kept: bool = False) -> Played | str:
        """Run a configuration in a process of its own, and wait for it."""
        try:
            pool = self._pool(1)
            try:
                return _result(_submit(pool, config, directory, is_kept=is_kept))
            finally:
                self._end(pool)
        except OSError as error:
            return problem_of(error)

    def _pool(self, number: int) -> Pool:
        pool = Pool(number, begin_process)
        self._pools.add(pool)
        if self._is_closed:  # the command ended meanwhile
            self._end(pool)
        return pool

    def _end(self, pool: Pool, *paths: Path) -> None:
        """End processes, and then remove what they have written."""
        with self._ending:  # a move and the command may end at the same time
            pool.stop(at_once=True)
            self._pools.discard(pool)
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)


def _inputs(config: Config) -> dict[str, Path]:
    return {each: place_of(each).absolute() for each in kept_inputs(config)}


def _submit(pool: Pool, config: Config, directory: Path, **more: bool) -> Future[Played | str]:
    ended: Future[Played | str] = Future()
    try:
        return pool.submit(play, config, _inputs(config), directory, **more)
    except RuntimeError:  # its processes were ended, by the next move or from outside
        ended.set_result(KILLED)
    except (OSError, EOFError) as error:  # no process could begin, such as at a limit of the system
        ended.set_exception(error)
    return ended


def _result(future: Future[Played | str]) -> Played | str:
    try:
        return future.result()
    except (BrokenProcessPool, CancelledError):
        return KILLED
    except Exception as error:  # noqa: BLE001  # whatever it is: a page must not wait for it without end
        return f"the run has failed: {type(error).__name__}: {problem_of(error)}"


async def _posted(kind: type[A], work: Callable[[A], Any], request: Request) -> Response:
    """Answer a request whose body is JSON: a page of another site cannot send that without asking first."""
    if request.headers.get("content-type") != "application/json":
        return json_of({"problem": "expected a body of application/json"}, 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_MAX:
            return json_of({"problem": f"expected at most {BODY_MAX:,} bytes"}, 413)
    return await to_thread.run_sync(
        lambda: answered(lambda _: work(msgspec.json.decode(body, type=kind)), request, problem_of)
    )
