"""The scorecard: a run beside stylised facts of the real world."""

from __future__ import annotations

from prism.scorecard.facts import Agreement, Fact, macro_facts
from prism.scorecard.matched import Matching
from prism.scorecard.real_data import parse_cascades
from prism.scorecard.social import Feed, social_facts
from prism.scorecard.trees import ALONE, Tree, TreeShape, shape_of, trees_of

__all__ = [
    "ALONE",
    "Agreement",
    "Fact",
    "Feed",
    "Matching",
    "Tree",
    "TreeShape",
    "macro_facts",
    "parse_cascades",
    "shape_of",
    "social_facts",
    "trees_of",
]
