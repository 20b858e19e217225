"""The page of behavioural constants names settings that exist, and its example is a configuration."""

from __future__ import annotations

import re

from prism.config import load_config, settings
from tests.docs.pages import blocks, section
from tests.paths import ROOT

PAGE = ROOT / "docs" / "experiments.md"


def test_every_setting_that_the_page_names_exists_and_its_source_has_a_year() -> None:
    known = {each.path for each in settings()}
    text = section(PAGE, "All constants")
    named = set(re.findall(r"`((?:population|feed|oracle)\.[a-z_.]+)`", text)) - {"oracle.choice"}
    assert len(named) == 6
    assert named <= known
    assert len(re.findall(r"[12][0-9]{3}", text)) == len(named)


def test_the_example_is_a_configuration() -> None:
    (text,) = (block.text for block in blocks(PAGE, "Terms that are off by default") if block.info == "yaml")
    assert load_config(text).population.relevance.appeal == 0.3
