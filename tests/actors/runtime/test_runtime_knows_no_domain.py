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
    "factory/config_file.py": "names the line of a field that people's questions do not have, before people are built",
    "factory/graph_files.py": "reads the files of graphs, in all their formats",
    "factory/input_files.py": "opens the files of populations and graphs",
    "studies/calibration/plan.py": "says which numbers only a run of people has",
    "studies/calibration/run.py": "works out the statistics that real cascades are compared by",
    "studies/experiments/processes.py": "loads the domain that most cells have before the workers are forked",
    "cli/chart.py": "finds the delays of people that the end of a round cuts short",
    "cli/doctor.py": "asks the oracle of a domain what the domain asks, to see that it answers",
    "cli/explain.py": "has an option for a quarter of an economy",
    "cli/explain_view.py": "shows a quarter of an economy",
    "cli/view.py": "names the page",
    "cli/init.py": "writes the configuration of the domain that is asked for",
    "cli/report_page.py": "takes the figures of a domain to stand beside its runs",
    "cli/report.py": "says what the feeds of a world had beside what they were to have",
    "cli/validate_world.py": "compares runs with facts, which are of a domain",
    "cli/templates.py": "the settings that a domain starts from",
    "testing/answers.py": "answers the questions of every domain",
    "testing/economist.py": "answers those of one",
}
"""`{module: why it may name a domain}`."""
ROOMS_OF_RESULTS = ("results", "pages", "view")
"""Rooms that say what took place in a run. They draw posts and quarters where the show of a domain has them."""
ASKED = re.compile(r"""["'](social|economy)["']""")
"""The name of a domain as a value: to compare with, or to look up."""


def naming() -> set[str]:
    """The modules whose code or words name a domain."""
    return {
        path.relative_to(ACTORS).as_posix()
        for path in ACTORS.rglob("*.py")
        if path.relative_to(ACTORS).parts[0] not in ROOMS_OF_RESULTS and NAMES.search(path.read_text(encoding="utf-8"))
    }


def test_only_the_modules_with_a_reason_name_a_domain() -> None:
    assert naming() - ALLOWED.keys() == set()


def test_who_says_what_took_place_asks_no_domain_for_its_name() -> None:
    files = [
        path for room in ROOMS_OF_RESULTS for path in (ACTORS / room).rglob("*.*") if path.suffix in (".py", ".js")
    ]
    assert len(files) > 50
    assert [path.name for path in files if ASKED.search(path.read_text(encoding="utf-8"))] == []


def test_every_exception_is_one() -> None:
    assert ALLOWED.keys() - naming() == set()
