"""One configuration and one seed are one digest, whatever order the tasks run in, and the runtime names no domain."""

import re

import pytest

from tests.actors.social_runs import (
    digest_of,
    with_deliberation,
)
from tests.paths import ROOT
from tests.tiers import Size


@pytest.mark.parametrize(("lookahead", "full", "everyday"), [(4, 120, 4), (0, 15, 2), (1, 15, 2)])
def test_every_schedule_gives_the_same_digest(lookahead: int, full: int, everyday: int, size: Size) -> None:
    config, schedules = with_deliberation(lookahead), size(full, everyday=everyday)
    assert {digest_of(config, schedule=seed) for seed in range(schedules)} == {digest_of(config)}


ACTORS = ROOT / "actors"
NAMES = re.compile(r"social|econom|\bnations?\b", re.IGNORECASE)

ROOMS_OF_ANY_DOMAIN = ("core", "oracle", "runtime", "store", "metrics", "logs", "http")
ROOMS_OF_RESULTS = ("results", "pages", "view")
"""Rooms that say what took place in a run. They draw posts and quarters where the show of a domain has them."""
ASKED = re.compile(r"""["'](social|economy)["']""")
"""The name of a domain as a value: to compare with, or to look up."""


def test_the_rooms_that_run_name_no_domain() -> None:
    files = [path for room in ROOMS_OF_ANY_DOMAIN for path in (ACTORS / room).rglob("*.py")]
    assert len(files) > 20
    assert [path.name for path in files if NAMES.search(path.read_text(encoding="utf-8"))] == []


def test_who_says_what_took_place_asks_no_domain_for_its_name() -> None:
    files = [
        path for room in ROOMS_OF_RESULTS for path in (ACTORS / room).rglob("*.*") if path.suffix in (".py", ".js")
    ]
    assert len(files) > 15
    assert [path.name for path in files if ASKED.search(path.read_text(encoding="utf-8"))] == []
