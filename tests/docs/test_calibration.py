"""The page of behavioural constants: it lists every setting, and the code holds no other constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from prism.config import load_config, settings
from tests.docs.pages import blocks, read
from tests.paths import ROOT

PAGE = ROOT / "docs" / "calibration.md"
ROWS = dict(re.findall(r"^\| `([a-z_.]+)` \| `([^`]+)` \|", read(PAGE), re.MULTILINE))

SECTIONS = ("population.", "feed.", "statechart.", "oracle.choice.")
OTHERS = {
    "population.size": "the size of the study",
    "population.attributes": "yours",
    "population.posts.attributes": "yours",
    "population.graph.columns": "the reading of a file",
    "statechart.max_history_depth": "what is remembered for you; nobody acts on it",
}
"""Numbers in these sections that shape nobody's behaviour."""

PLAIN = {0, 1, 2, -1}
"""Numbers that are part of a formula: counts, places, halves of a width, ends of a share."""

ROOMS = (*sorted(ROOT.glob("prism/social/**/*.py")), *sorted(ROOT.glob("prism/agents/*.py")))
ELSEWHERE = {
    "answer_kernel.py": "bits and bytes",
    "attribute_lines.py": "what is shown",
    "attributes.py": "what is shown, and the widest range of a number",
    "cascade.py": "the pieces of a column",
    "cells.py": "the reading of files",
    "choice_file.py": "the reading of files, and what stands for a taste that nobody has written down",
    "domain.py": "the depth of histories, a limit of memory",
    "edges.py": "the reading of files",
    "follow_lists.py": "the reading of files",
    "graph_kernel.py": "the size from which it is compiled, which changes no result",
    "living.py": "the posts that are made at once",
    "margins.py": "the precision of a fit to tables, and what is shown",
    "matrix_market.py": "the reading of files",
    "no_effect.py": "what is shown",
    "pajek.py": "the reading of files",
    "post_file.py": "the reading of files, and what is shown",
    "profile_columns.py": "the reading of files",
    "profile_rows.py": "the reading of files",
    "profiles.py": "the reading of files",
    "hours.py": "the widest range of a count",
    "reading.py": "the reading of files",
    "ready.py": "a world of two people, which is not run",
    "realised.py": "what is counted",
    "state.py": "the sizes of tables, and the most posts of a run",
    "stateful.py": "the depth of histories, a limit of memory",
    "stretch.py": "bits and bytes, and the size of a population whose ticks run together, with the same results",
    "stretch_kernel.py": "bits and bytes",
    "tables.py": "the columns of tables, and how stays are counted",
    "homophily.py": "the steps of a search, and when it ends",
    "measures.py": "definitions of statistics, and what rounding leaves",
    "memory.py": "the words of a prompt",
    "people_lists.py": "the room behind lists, with the same results",
    "view_kernel.py": "bits and bytes",
    "view_words.py": "bits and bytes",
}
"""Modules with numbers that are no behaviour of people on a feed, and what they are."""

ALLOWED = {
    ("persona.py", 40.0): "the widest range of a search, in logarithms",
    ("persona.py", 100): "the steps of a search",
    ("graph.py", 40): "what is shown",
    ("network.py", 2048): "posts in a piece of a column",
    ("person.py", 5): "statechart.default_timeout_ticks, for an agent that is made by hand",
    ("choice_kernel.py", 3): "the forms of a utility, and the columns of draws",
    ("choice_kernel.py", 7): "the columns of what people see",
    ("choice_kernel.py", 8): "the same",
    ("person.py", 50): "the depth of histories",
    ("vocabulary.py", 1e12): "the widest range of a count",
    ("vocabulary.py", 9.0): "the range of a standard normal number from 53 bits",
    ("changing.py", 3): "the columns of changes",
    ("changing.py", 4): "the indentation of generated source",
    ("changing.py", 8): "the same",
    ("changing.py", 12): "the same",
    ("ranking.py", 1e12): "the widest range of a count",
    ("turns.py", 8): "the indentation of generated source",
    ("persona.py", 0.5): "population.engagement_threshold, for a persona that is made by hand",
    ("persona.py", 0.45): "its low threshold",
    ("persona.py", 0.55): "its high threshold",
    ("persona.py", 0.35): "population.activity.mean, for a persona that is made by hand",
    ("turn.py", 3): "the tag of a message",
    ("post.py", 31): "the ticks between the draws of two exposures",
    ("network.py", 1000): "the newest originals of which a display shows the first",
    ("choice.py", 3): "the columns of draws",
    ("choice.py", 100_000): "the distributions that are kept for a while",
    ("world.py", 4): "the columns of a kind of update",
    ("post_kernel.py", 3): "the columns of views, and the bits of a byte",
    ("post_kernel.py", 4): "the columns of views",
    ("post_kernel.py", 7): "the bits of a byte",
    ("post_kernel.py", 64): "the bits of a hash",
    ("post_kernel.py", 1000): "the most posts that are offered: each has a number of its own in a tick",
    ("post_file.py", 1_000_000): "a limit of a file",
    ("feed_kernel.py", 8): "the hashes that are kept beyond twice the places of a sample",
    ("feed_kernel.py", 64): "the bits of a hash",
    ("feed_kernel.py", 2**64 - 1): "the largest hash",
    ("shard.py", 0.02): "how people are divided among shards, with the same results",
    ("shard.py", 3): "the columns of acts",
    ("shard.py", 50.0): "how people are divided among shards, with the same results",
    ("turn_kernel.py", 3): "the columns of delays",
    ("turn_kernel.py", 6): "the columns of kinds of updates",
    ("turn_kernel.py", 10): "how stays are counted",
    ("turns.py", 12): "the guards that are read at once, with the same results",
    ("synthetic.py", 20_000): "the personas that are kept",
    ("synthetic.py", 3): "the columns of a name",
    ("post.py", 8): "the bit of posts from outside in an origin",
    ("post.py", 33): "the bits below the tick in an origin",
    ("post.py", 24): "the bits of a post's number in its id",
    ("post.py", 29): "the bits of an author's number in a post's id",
    ("posting.py", 1e-12): "the rounding of a scale",
    ("posting.py", 7.0): "the originals of one tick that have names of their own",
    ("persona.py", 3): "the words of a personality",
    ("people.py", 3): "the bits of a byte",
    ("people.py", 7): "the same",
    ("people.py", 8): "the same",
}
"""Other numbers that are no setting, and why."""


def numbers(module: Path) -> Iterator[float]:
    """Yield every number in the code of a module, except the plain ones."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value not in PLAIN:
            yield value


def test_every_number_that_shapes_behaviour_is_on_the_page_with_its_default() -> None:
    expected = {
        each.path: each.default
        for each in settings()
        if each.path.startswith(SECTIONS)
        and re.search(r"\b(int|float|mapping)\b", each.type)
        and each.path not in OTHERS
    }
    assert expected == ROWS


@pytest.mark.parametrize("module", ROOMS, ids=lambda module: module.name)
def test_no_other_number_shapes_behaviour(module: Path) -> None:
    if module.name not in ELSEWHERE:
        found = {number for number in numbers(module) if (module.name, number) not in ALLOWED}
        assert not found, f"make each a setting on docs/calibration.md, or say in this test why it is none: {found}"


def test_the_exceptions_are_needed() -> None:
    there = {(module.name, number) for module in ROOMS for number in numbers(module)}
    assert set(ALLOWED) <= there
    assert set(ELSEWHERE) <= {name for name, _ in there}


def test_each_row_has_a_source_or_says_that_there_is_none() -> None:
    sources = re.findall(r"^\| `[a-z_.]+` \| `[^`]+` \| .* \| ([^|]+) \|$", read(PAGE), re.MULTILINE)
    assert len(sources) == len(ROWS)
    for source in sources:
        assert re.search(r"\*\*uncalibrated\*\*|\([12][0-9]{3}\)|yours|a limit of memory", source), source


@pytest.mark.parametrize("block", [block for block in blocks(PAGE) if block.info == "yaml"])
def test_the_example_is_a_configuration(block: object) -> None:
    text = getattr(block, "text", "")
    assert load_config(text).population.relevance.appeal == 0.3
