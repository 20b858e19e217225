"""The scorecard: a run beside stylised facts of the real world."""

from __future__ import annotations

from prism.scorecard.facts import Agreement, Fact, macro_facts
from prism.scorecard.matched import Matching
from prism.scorecard.social import Feed, social_facts
from prism.scorecard.trees import Shapes, Tree, above_all, parse_cascades, shapes_in, shapes_of, together

__all__ = [
    "Agreement",
    "Fact",
    "Feed",
    "Matching",
    "Shapes",
    "Tree",
    "above_all",
    "macro_facts",
    "parse_cascades",
    "shapes_in",
    "shapes_of",
    "social_facts",
    "together",
]
