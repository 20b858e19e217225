"""The line of an error is that of the innermost key that stands in the file."""

from __future__ import annotations

from prism.config.yaml_text import Entry, read_document
from tests.catalogue import catalogue

TEXT = """\
set:
  feed.size: 3
  feed: {size: 4}
design:
  conditions:
    a.b: {feed.size: 3}
hypotheses:
  - {measure: likes}
  - measure: posts
    contrast: [a, b]
"""


@catalogue(
    ("key", "line"),
    [
        ("set.feed.size", 2),
        ("set.feed.algorithm", 3),
        ("design.conditions.a.b.feed.size", 6),
        ("design.factors", 4),
        ("hypotheses[0].measure", 8),
        ("hypotheses[1].contrast", 10),
        ("hypotheses[1].test", 9),
        ("hypotheses[7].test", 7),
        ("hypotheses[1].contrast[1]", 10),
        ("thresholds", None),
        ("", None),
    ],
)
def test_keys_may_have_dots_and_lists_have_items(key: str, line: int | None) -> None:
    top = Entry(value=read_document(TEXT, "e.yaml"), source="e.yaml")
    assert top.refused("is wrong", key).line == line
