"""The page's interface: who may ask, what a move answers, what is kept, and what is left after its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import httpx
import pytest

import actors
from actors.playground.app import PlaySite
from actors.playground.place import begun
from actors.view.server import Guard
from prism.config import load_config
from prism.errors import ConfigError
from prism.experiment import read_experiment
from tests.actors.view.asking import HOST, get
from tests.catalogue import catalogue
from tests.patience import HANG_S

SMALL = {"population.size": 60, "simulation.rounds": 3}
CHANGES = {"feed.algorithm": "hot", "interventions": [{"tick": 30, "silence": [3]}]}


class Page:
    """One page of a site: it asks, and waits for events."""

    def __init__(self, site: PlaySite) -> None:
        self.site = site
        self.guard = Guard(site.app(), host="127.0.0.1", port=8481, methods=site.methods)
        self.opening = self.post("open").json()
        self.after = 0

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        page = {"page": self.opening["page"]} if hasattr(self, "opening") else {}
        sent = json.dumps({**page, **(body or {})}) if not isinstance(body, str) else body

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.guard), base_url=HOST) as client:
                given = {"content-type": "application/json", **headers}
                return await client.post(f"/api/play/{path}", content=sent, headers=given)

        return anyio.run(ask)

    def wait(self, kind: str) -> dict[str, Any]:
        """Return the next event of a kind."""
        until = monotonic() + HANG_S
        while monotonic() < until:
            for event in get(self.guard, f"/api/play/events?page={self.opening['page']}&after={self.after}").json():
                self.after = event["number"]
                if event["kind"] == kind:
                    found: dict[str, Any] = event
                    return found
        raise AssertionError(f"no event {kind}")

    def move(self, changes: dict[str, Any], seeds: int = 1, gesture: object = 1) -> httpx.Response:
        return self.post("move", {"changes": changes, "gesture": gesture, "seeds": seeds})


@pytest.fixture(scope="module")
def site() -> Iterator[PlaySite]:
    with begun() as place, closing(PlaySite(load_config(overrides=SMALL), "mine", place)) as site:
        yield site


@pytest.fixture
def page(site: PlaySite) -> Page:
    return Page(site)


def test_a_move_answers_with_the_run_that_prism_run_makes_and_then_with_a_fan(page: Page) -> None:
    assert page.move(CHANGES, seeds=5).status_code == 200
    answer = page.wait("answer")
    expected = actors.run(load_config(overrides={**SMALL, **CHANGES})).summary
    assert (answer["played"]["digest"], answer["played"]["words"]) == (expected.digest, expected.in_words)
    assert sum(answer["played"]["rounds"]["likes"]) == expected.world["likes"]
    assert {page.wait("seed")["played"]["seed"] for _ in range(4)} == {43, 44, 45, 46}
    assert page.wait("fan")["words"][0].startswith("Mean over 5 seeds")
    # The panels are those of the view.
    run = answer["run"]
    while get(page.guard, f"/api/runs/{run}").json()["is_reading"]:
        pass
    assert get(page.guard, f"/api/runs/{run}").json()["read_ticks"] == 72
    assert "person 3" in get(page.guard, f"/part/runs/{run}/agent?agent=3&tick=40").text
    # The next gesture is compared with it.
    page.move({}, gesture=2)
    assert "largest cascade" in " ".join(page.wait("answer")["words"])


def test_the_next_move_ends_the_one_before(page: Page) -> None:
    for rounds in (2000, 1900, 2):
        assert page.move({"simulation.rounds": rounds}, seeds=100).status_code == 200
    assert len(page.wait("answer")["played"]["rounds"]["posts"]) == 2
    page.post("leave")
    assert not [*page.site._runs.glob(f"{page.opening['page']}-*")]


def test_a_kept_run_has_the_digest_and_a_kept_experiment_can_be_read(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page.move({})
    page.wait("answer")
    kept = page.post("keep", {"changes": CHANGES}).json()
    assert kept["path"] == "runs/mine-001"
    assert kept["digest"] == actors.run(Path(kept["path"]) / "config.yaml").summary.digest
    assert page.site.kept == Path(kept["path"])
    written = page.post("experiment", {"pins": {"as configured": {}, "hot, one silent": CHANGES}}).json()["path"]
    text = Path(written).read_text()
    assert [*read_experiment(text, written).design.conditions] == ["as configured", "hot, one silent"]
    assert page.post("experiment", {"pins": [1]}).status_code == 422


def test_two_pages_do_not_disturb_each_other_and_a_pin_runs_beside_the_moves(site: PlaySite) -> None:
    one, other = Page(site), Page(site)
    one.move({"population.size": 30})
    other.move({"population.size": 40})
    assert one.post("pin", {"key": "mine", "changes": {"population.size": 50}}).status_code == 200
    assert one.wait("answer")["played"]["agents"] == 30
    one.after = 0
    pinned = one.wait("pin")
    assert (pinned["key"], pinned["played"]["agents"]) == ("mine", 50)
    assert other.wait("answer")["played"]["agents"] == 40
    assert one.post("leave").status_code == 200
    assert one.move({}).status_code == 404


def test_a_page_that_is_opened_again_gets_the_run_of_the_configuration(site: PlaySite) -> None:
    for _ in range(2):
        assert Page(site).wait("answer")["played"]["agents"] == SMALL["population.size"]


def test_a_configuration_that_is_too_large_for_a_page_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at most 200,000 people"):
        PlaySite(load_config(overrides={"population.size": 200_001}), "large", tmp_path)


def test_a_run_that_cannot_be_made_says_why(page: Page) -> None:
    page.move({"population.graph.kind": "watts_strogatz", "population.graph.degree": 7})
    found = page.move({"population.graph.kind": "watts_strogatz", "population.graph.degree": 7})
    problem = found.json().get("problem") or page.wait("failed")["problem"]
    assert "even" in problem


@catalogue(
    ("body", "headers", "status"),
    [
        ({}, {"host": "example.org"}, 421),
        ({}, {"sec-fetch-site": "cross-site"}, 403),
        ({}, {"content-type": "text/plain"}, 415),
        ("[]", {}, 422),
        ("{", {}, 422),
        ('{"page": "another", "changes": {}}', {}, 404),
        (json.dumps({"x": "y" * 200_000}), {}, 413),
        ({"changes": 7}, {}, 422),
        ({"changes": {}, "seeds": 10**6}, {}, 422),
    ],
)
def test_a_foreign_or_a_broken_request_begins_nothing(
    page: Page, body: Any, headers: dict[str, str], status: int
) -> None:
    assert page.post("move", body, **headers).status_code == status


def test_the_end_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    before = {*active_children()}
    site = PlaySite(load_config(overrides=SMALL), "mine", tmp_path)
    page = Page(site)
    page.move({"simulation.rounds": 5000}, seeds=100)
    while len(begun := {*active_children()} - before) < 1:
        pass
    site.close()
    assert not begun & {*active_children()}
    assert not site._place.exists()
