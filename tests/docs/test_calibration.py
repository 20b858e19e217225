"""The page of behavioural constants: it lists every setting, and the code holds no other constant."""

from __future__ import annotations

import re

from prism.config import load_config, settings
from tests.docs.pages import blocks, section
from tests.paths import ROOT

PAGE = ROOT / "docs" / "experiments.md"
CONSTANTS = section(PAGE, "All constants")
ROWS = dict(re.findall(r"^\| `([a-z_.]+)` \| `([^`]+)` \|", CONSTANTS, re.MULTILINE))

SECTIONS = ("population.", "feed.", "statechart.", "oracle.choice.")
OTHERS = {
    "population.size": "the size of the study",
    "population.attributes": "yours",
    "population.posts.attributes": "yours",
    "population.graph.columns": "the reading of a file",
    "statechart.max_history_depth": "what is remembered for you; nobody acts on it",
}
"""Numbers in these sections that shape nobody's behaviour."""


def test_every_number_that_shapes_behaviour_is_on_the_page_with_its_default() -> None:
    expected = {
        each.path: each.default
        for each in settings()
        if each.path.startswith(SECTIONS)
        and re.search(r"\b(int|float|mapping)\b", each.type)
        and each.path not in OTHERS
    }
    assert expected == ROWS


def test_each_row_has_a_source_or_says_that_there_is_none() -> None:
    sources = re.findall(r"^\| `[a-z_.]+` \| `[^`]+` \| .* \| ([^|]+) \|$", CONSTANTS, re.MULTILINE)
    assert len(sources) == len(ROWS)
    for source in sources:
        assert re.search(r"\*\*uncalibrated\*\*|\([12][0-9]{3}\)|yours|a limit of memory", source), source


def test_the_example_is_a_configuration() -> None:
    (text,) = (block.text for block in blocks(PAGE, "Terms that are off by default") if block.info == "yaml")
    assert load_config(text).population.relevance.appeal == 0.3
