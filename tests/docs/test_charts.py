"""docs/behaviour.md: its chart is one, and its tables name every key, field, role, effect and action."""

from __future__ import annotations

import re

from prism.expressions.fields import WORDS as LANGUAGE
from prism.social.chart import SOCIAL_CHART, social_behaviour
from prism.social.vocabulary import DELAYS, social_vocabulary
from prism.statechart import FindingKind, chart_file, read_chart
from tests.catalogue import catalogue
from tests.docs.pages import blocks
from tests.paths import ROOT

PAGE = ROOT / "docs" / "behaviour.md"
TEXT = PAGE.read_text(encoding="utf-8")
WORDS = social_vocabulary()


def named(heading: str) -> set[str]:
    """Return the words in the first column of the table below a heading."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def test_the_small_chart_of_the_page_can_be_run() -> None:
    chart = next(block.text for block in blocks(PAGE) if block.info == "yaml" and block.text.startswith("initial"))
    behaviour = social_behaviour(read_chart(chart, "page"))
    assert [state.value for state in behaviour.states] == ["away", "reading", "writing", "liking"]


@catalogue(
    ("heading", "words"),
    [
        ("Keys of a chart", set(chart_file.CHART_KEYS)),
        ("Keys of a row", set(chart_file.ROW_KEYS)),
        ("Roles", set(WORDS.roles)),
        ("Effects", set(WORDS.effects)),
        ("Actions", set(WORDS.actions)),
        ("Fields", set(WORDS.fields)),
    ],
)
def test_the_tables_name_everything_and_nothing_else(heading: str, words: set[str]) -> None:
    assert named(heading) == words


def test_the_table_of_faults_has_every_kind_of_finding() -> None:
    assert named("Faults of a chart") >= set(FindingKind)


def test_the_table_has_every_word_of_the_language() -> None:
    language = TEXT.split("### The language")[1].split("\n## ")[0]
    assert [word for word in LANGUAGE if f"`{word}" not in language and f" {word} " not in language] == []


def test_the_keys_of_a_state_and_the_delays_are_named() -> None:
    assert set(chart_file.STATE_KEYS) | set(DELAYS) <= named("Keys of a state")


def test_the_picture_of_the_default_chart_has_its_states_and_triggers() -> None:
    picture = (ROOT / "docs" / "images" / "chart.svg").read_text(encoding="utf-8")
    for row in SOCIAL_CHART.transitions:
        assert row.target is not None
        assert f">{row.source}<" in picture
        assert row.trigger in picture
