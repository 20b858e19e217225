"""The runtime runs any domain, so it names none. The traffic lights of `tests.domains` show that it can."""

from __future__ import annotations

import re

from tests.paths import ROOT

ACTORS = ROOT / "actors"
NAMES = re.compile(r"social|econom|\bnations?\b", re.IGNORECASE)

ALLOWED = {
    "factory/domains.py": "maps the names of domains to what builds them",
    "factory/oracle_backends.py": "asks for no probabilities where the answers are no options",
    "factory/charts.py": "loads the charts of people, and knows where that of nations is",
    "factory/checks.py": "checks what a domain is built from",
    "factory/input_files.py": "opens the files of populations and graphs",
    "cli/backtest.py": "a command about the rule of the economy, and about nothing that is run",
    "cli/backtest_plot.py": "its picture",
    "cli/doctor.py": "asks the oracle of a domain what the domain asks, to see that it answers",
    "cli/report.py": "says what the feeds of a world had beside what they were to have",
    "cli/validate_world.py": "compares runs with facts, which are of a domain",
    "cli/watch_view.py": "shows the numbers of a world, which have its own names in the metrics",
    "cli/templates.py": "the settings that a domain starts from",
    "runs/observed.py": "reads from runs what those facts are about",
    "testing/answers.py": "answers the questions of every domain",
    "testing/economist.py": "answers those of one",
}
"""`{module: why it may name a domain}`."""


def naming() -> set[str]:
    """The modules whose code or words name a domain."""
    return {
        path.relative_to(ACTORS).as_posix()
        for path in ACTORS.rglob("*.py")
        if NAMES.search(path.read_text(encoding="utf-8"))
    }


def test_only_the_modules_with_a_reason_name_a_domain() -> None:
    assert naming() - ALLOWED.keys() == set()


def test_every_exception_is_one() -> None:
    assert ALLOWED.keys() - naming() == set()
