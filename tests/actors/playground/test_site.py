"""The page of `prism play`: who may ask, what a move answers and says, what is kept, and what is left after its end."""

import json
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from starlette.responses import StreamingResponse

import actors
from actors.playground.app import Move, PlaySite, playable
from actors.playground.place import begun
from actors.playground.world import Measured, Measures, Played, changed_in_words, fan_in_words, play
from actors.studies.experiments.cells import Pool
from actors.studies.experiments.plan import make_plan
from actors.view.server import Guard
from prism.config import Config, load_config
from tests.actors.view.asking import HOST, get
from tests.catalogue import catalogue
from tests.patience import HANG_S, wait_until
from tests.standin import ModelServer

SMALL = {"population.size": 60, "simulation.rounds": 3}
PEOPLE = {"population.size": 200, "population.ambiguity": 0.6, "simulation.rounds": 3}
CHANGES = {"feed.algorithm": "hot", "interventions": [{"tick": 30, "silence": [3]}]}


class Page:
    """One page of a site: it asks, and reads what it is told."""

    def __init__(self, site: PlaySite) -> None:
        self.site = site
        self.guard = Guard(site.app(), host="127.0.0.1", port=8481, site=site)

    async def ask(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        sent = json.dumps(body or {}) if not isinstance(body, str) else body
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.guard), base_url=HOST) as client:
            given = {"content-type": "application/json", **headers}
            return await client.post(f"/api/play/{path}", content=sent, headers=given, timeout=HANG_S)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return anyio.run(partial(self.ask, path, body, **headers))

    def move(self, changes: dict[str, Any], **more: Any) -> dict[str, list[Any]]:
        answer = self.post("move", {"changes": changes, "shows": True, **more})
        assert answer.status_code == 200, answer.text
        told: dict[str, list[Any]] = defaultdict(list)
        for line in answer.text.splitlines():
            told[json.loads(line)["kind"]].append(json.loads(line))
        return told


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let runs open their tapes, and the collector finish pools: in any task, and it tells their tracker by a pipe."""


@pytest.fixture(scope="module")
def site() -> Iterator[PlaySite]:
    with begun() as place, closing(PlaySite(load_config(overrides=SMALL), "mine", place)) as site:
        yield site


@pytest.fixture
def page(site: PlaySite) -> Page:
    return Page(site)


def values(played: dict[str, Any]) -> dict[str, float]:
    return {place: value for place, _, _, value in played["measures"]}


def test_a_move_answers_with_the_run_that_prism_run_makes_and_then_with_a_fan(page: Page) -> None:
    told = page.move(CHANGES, seeds=5)
    (answer,) = told["answer"]
    expected = actors.run(load_config(overrides={**SMALL, **CHANGES})).summary
    assert (answer["played"]["digest"], answer["played"]["words"]) == (expected.digest, expected.in_words)
    assert sum(answer["played"]["rounds"]["likes"]) == expected.world["likes"]
    assert {each["played"]["seed"] for each in told["seed"]} == {"43", "44", "45", "46"}
    assert told["fan"][-1]["words"][0].startswith("Mean over 5 seeds")
    # The panels are those of the view.
    run = answer["run"]
    while get(page.guard, f"/api/runs/{run}").json()["is_reading"]:
        pass
    assert get(page.guard, f"/api/runs/{run}").json()["read_ticks"] == 72
    assert "person 3" in get(page.guard, f"/part/runs/{run}/agent?agent=3&tick=40").text


def test_a_move_is_compared_with_the_run_before_over_the_seeds_of_both(page: Page) -> None:
    first = page.move({}, seeds=5)
    runs = [each["played"] for each in (*first["answer"], *first["seed"])]
    before = {"digest": runs[0]["digest"], "seeds": {each["seed"]: values(each) for each in runs}}
    told = page.move(CHANGES, seeds=5, before=before)
    assert "largest cascade" in " ".join(told["answer"][0]["words"])
    assert "The same under each of these seeds: " in " ".join(told["fan"][-1]["words"])
    assert page.move({}, before=before)["answer"][0]["words"] == ["This run is the run before, to the byte."]


def test_a_move_that_is_left_ends_its_processes_and_its_files(page: Page) -> None:
    before = {*active_children()}

    async def leave() -> None:
        with anyio.move_on_after(1.0):
            asked = Move(changes={"simulation.rounds": 5000}, seeds=100)
            answer = page.site.move(asked)
            assert isinstance(answer, StreamingResponse)
            async for _ in answer.body_iterator:
                pass

    anyio.run(leave)
    wait_until(lambda: not ({*active_children()} - before or [*page.site._place.glob("fan-*")]))
    assert page.move({"simulation.rounds": 2})["answer"][0]["played"]["agents"] == 60


def test_files_are_kept_of_the_latest_moves(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.playground.app.SHOWN_MAX", 1)
    first, last = [page.move({"feed.size": size})["answer"][0]["run"] for size in (11, 12)]
    assert get(page.guard, f"/api/runs/{last}").status_code == 200
    wait_until(lambda: not (page.site._runs / first).exists())


def test_a_kept_run_has_the_digest_and_a_kept_experiment_can_be_read(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changes = {**CHANGES, "population.ambiguity": 0.9, **{f"chart.{place}": 5 for place in range(3)}}  # ticks of acts
    kept = page.post("keep", {"changes": changes}).json()
    assert kept["path"] == "runs/mine-001"
    assert kept["digest"] == page.move(changes)["answer"][0]["played"]["digest"]
    assert kept["digest"] == actors.run(Path(kept["path"]) / "config.yaml").summary.digest
    assert kept["digest"] != page.move({**CHANGES, "population.ambiguity": 0.9})["answer"][0]["played"]["digest"]
    assert page.site.kept == Path(kept["path"])
    pins = {"as configured": {}, "hot, one silent": changes}
    written = Path(page.post("experiment", {"pins": pins}).json()["path"])
    plan = make_plan(written)
    assert plan.experiment.question == "How do “as configured” and “hot, one silent” differ?"
    assert [each.config.statechart.file is None for each in plan.cells[::20]] == [True, False]
    assert page.post("experiment", {"pins": [1]}).status_code == 422


class Broken(Pool):
    """Processes of which none begins, or each ends with an error that nobody expects."""

    def __init__(self, error: Exception, _: int, *, begins: bool) -> None:
        self.error, self.begins = error, begins

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        if not self.begins:
            raise self.error
        failed = Future[Any]()
        failed.set_exception(self.error)
        return failed

    def stop(self, *, at_once: bool) -> None: ...


def test_a_page_does_not_wait_for_a_run_that_cannot_begin_or_fails(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, begins in ((BlockingIOError(11, "Resource unavailable"), False), (ImportError("no map"), True)):
        monkeypatch.setattr(page.site, "_pool", partial(Broken, error, begins=begins))
        (failed,) = page.move({"feed.size": 9})["failed"]
        assert failed["problem"] == f"the run has failed: {type(error).__name__}: {error}"


def test_two_pages_do_not_disturb_each_other(site: PlaySite) -> None:
    found = dict[int, str]()

    async def move(page: Page, size: int) -> None:
        found[size] = (await page.ask("move", {"changes": {"population.size": size}})).text

    async def move_both() -> None:
        one, other = Page(site), Page(site)
        async with anyio.create_task_group() as tasks:
            for page, size in ((one, 30), (other, 40), (one, 50)):
                tasks.start_soon(move, page, size)

    anyio.run(move_both)
    assert len(found) == 3
    assert all(f'"agents":{size},' in text for size, text in found.items())


def test_a_run_that_cannot_be_made_says_why_in_the_words_of_the_page(page: Page) -> None:
    answer = page.post("move", {"changes": {"feed.size": 0, "population.size": "x", "chart.0": -1}})
    assert answer.status_code == 422
    assert answer.json()["problem"].splitlines() == [
        "composing: after ticks: expected int 0 to 10000, got -1",
        "population size: expected int 1 to 10000000, got 'x'",
        "feed size: expected int 1 to 1000, got 0",
    ]
    odd = page.post("move", {"changes": {"population.graph.kind": "watts_strogatz", "population.graph.degree": 7}})
    assert "even" in odd.text


@catalogue(
    ("body", "headers", "status"),
    [
        ({}, {"host": "example.org"}, 421),
        ({}, {"sec-fetch-site": "cross-site"}, 403),
        ({}, {"content-type": "text/plain"}, 415),
        ("[]", {}, 422),
        ("{", {}, 422),
        (json.dumps({"x": "y" * 1_000_000}), {}, 413),
        ({"changes": 7}, {}, 422),
        ({"changes": {}, "seeds": 10**6}, {}, 422),
        ({"changes": {"population.profiles": "/etc/passwd"}}, {}, 422),
    ],
)
def test_a_foreign_or_a_broken_request_begins_nothing(
    page: Page, body: Any, headers: dict[str, str], status: int
) -> None:
    assert page.post("move", body, **headers).status_code == status


def test_the_end_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    before = {*active_children()}
    site = PlaySite(load_config(overrides={**SMALL, "simulation.rounds": 5000}), "mine", tmp_path)
    while len(begun := {*active_children()} - before) < 1:
        pass
    site.close()
    assert not begun & {*active_children()}
    assert not site._place.exists()


# Runs by recorded answers, and what a move changed, in sentences

MODEL = {"oracle.backend": "ollama", "llm.model": "llama3.2"}


def played(config: Config, directory: Path) -> Played:
    found = play(config, {}, directory)
    assert isinstance(found, Played), found
    return found


def test_recorded_answers_decide_and_the_embedded_choice_where_there_is_none(tmp_path: Path) -> None:
    with ModelServer() as server:
        asked = {**PEOPLE, **MODEL, "llm.host": server.url, "oracle.tape": "record"}
        recorded = actors.run(load_config(overrides=asked), out=tmp_path / "taped").summary
    tape = {**asked, "oracle.tape": "replay", "oracle.tape_path": str(tmp_path / "taped" / "tape.sqlite")}
    config, note = playable(load_config(overrides=tape))
    assert note.startswith("Recorded answers of llama3.2 decide")
    same = played(config, tmp_path / "same")
    assert same.digest == recorded.digest
    assert same.words[0] == f"Recorded answers: {recorded.oracle_questions}; by the embedded choice: 0."
    other, _ = playable(load_config(overrides={**tape, "simulation.seed": 7}))
    assert not played(other, tmp_path / "other").words[0].endswith("by the embedded choice: 0.")


def test_a_model_is_never_asked_without_a_tape(tmp_path: Path) -> None:
    config, note = playable(load_config(overrides={**PEOPLE, **MODEL, "llm.host": "http://127.0.0.1:9"}))
    assert note == "The embedded choice decides here: llama3.2 is not asked while playing."
    expected = actors.run(load_config(overrides=PEOPLE)).summary.digest
    assert played(config, tmp_path / "run").digest == expected


@pytest.mark.slow
def test_a_notebook_shows_the_page_and_has_the_kept_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = actors.play(load_config(overrides=PEOPLE))
    try:
        assert f'<iframe src="{page.address}"' in page._repr_html_()
        with urllib.request.urlopen(page.address) as answer:
            assert "frame-ancestors http://localhost:*" in answer.headers["Content-Security-Policy"]
        kept = page._site.keep(Move(changes={"feed.algorithm": "hot"}))
        run = page.run
        assert run is not None
        assert run.summary.digest == kept["digest"]
    finally:
        page.close()


def moved(likes: float, largest: float) -> Played:
    measures = [
        Measured("largest_cascade.size", "largest cascade", f"{largest:g}", largest),
        Measured("likes", "likes", f"{likes:g}", likes),
    ]
    rest: Any = {"words": (), "remarks": (), "rounds": {}, "cascades": [], "states": {}}
    return Played(seed="1", digest="", seconds=0.1, agents=9, measures=measures, **rest)


def fan(likes: int, shift: int, seeds: int = 8) -> dict[str, Measures]:
    return {str(seed): moved(likes + seed, 40 + (seed + shift) % 3).values for seed in range(seeds)}


def test_a_move_says_what_changed_and_by_how_much() -> None:
    assert changed_in_words(None, moved(10, 4), is_same=False) == []
    assert changed_in_words({}, moved(10, 4), is_same=True) == ["This run is the run before, to the byte."]
    assert changed_in_words(moved(100, 40).values, moved(150, 40), is_same=False) == [
        "Beside the run before: likes 50% more (100 → 150).",
        "The same: largest cascade.",
    ]


def test_a_fan_says_its_interval_and_which_changes_are_beyond_chance() -> None:
    mean, clear, unclear = fan_in_words(fan(200, 1), fan(100, 0), moved(200, 40))
    intervals = "largest cascade 41.1 (40.4 to 41.8), likes 204 (201 to 206)"
    assert mean == f"Mean over 8 seeds, with its 95% interval: {intervals}."
    assert clear == "Changed beyond chance, over the same 8 seeds: likes 97% more."
    assert unclear == "Within chance: largest cascade."
    assert len(fan_in_words(fan(200, 1), {}, moved(200, 40))) == 1
