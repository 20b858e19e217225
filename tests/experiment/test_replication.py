"""The file of a replication: what it says, and what is refused."""

from __future__ import annotations

import pytest

from prism.errors import ConfigError
from prism.experiment import read_replication
from tests.catalogue import catalogue

FILE = """\
claim: Likes rise.
study: A (2000), B.
experiment: e.yaml
figures:
  likes: {source: Table 1, measure: likes, condition: hot, value: 3}
"""


def with_figure(keys: str) -> str:
    return FILE.replace("condition: hot, value: 3", keys)


@catalogue(
    ("text", "said"),
    [
        (FILE.replace("claim", "clame"), "r.yaml:1: clame: unknown key; did you mean claim?"),
        (with_figure("condition: hot, valu: 3"), "r.yaml:5: figures.likes.valu: unknown key; did you mean value?"),
        (
            FILE.replace("study: A (2000), B.\n", ""),
            "r.yaml: study: is missing; expected the study: authors, year, title, journal",
        ),
        (
            FILE.replace("source: Table 1, ", ""),
            "r.yaml:5: figures.likes.source: is missing; expected the table, figure or page that it is from",
        ),
        (with_figure("value: 3"), "r.yaml:5: figures.likes: expected condition or contrast, got none of them"),
        (
            with_figure("condition: hot, contrast: [a, b], value: 3"),
            "r.yaml:5: figures.likes: expected condition or contrast, got condition and contrast",
        ),
        (
            with_figure("contrast: [a, a], value: 3"),
            "r.yaml:5: figures.likes.contrast: expected two different conditions",
        ),
        (
            with_figure("condition: hot"),
            "r.yaml:5: figures.likes: expected value, range, direction or computed, got none of them",
        ),
        (
            with_figure("condition: hot, computed: 'm:f'"),
            "r.yaml:5: figures.likes.computed: is computed from the file at the key data, which is not given",
        ),
        (
            with_figure("condition: hot, direction: less, se: 1"),
            "r.yaml:5: figures.likes.se: expected se or interval, and neither with direction or computed",
        ),
        (
            with_figure("condition: hot, value: 3, se: 1, worlds: 4"),
            "r.yaml:5: figures.likes.worlds: is for a number without published noise: no se, interval or direction",
        ),
        (
            with_figure("condition: hot, range: [3, 2]"),
            "r.yaml:5: figures.likes.range: expected two finite numbers, the lower one first, got [3.0, 2.0]",
        ),
        (
            with_figure("condition: hot, value: .nan"),
            "r.yaml:5: figures.likes.value: expected a finite number, got nan",
        ),
        (
            with_figure("condition: hot, direction: up"),
            "r.yaml:5: figures.likes.direction: expected one of greater, less, got 'up'",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_replication(text, "r.yaml")
    assert str(refused.value) == said
