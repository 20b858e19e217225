"""The scorecard: a run beside stylised facts of the real world."""

from prism.scorecard.social import Feed
from prism.scorecard.trees import parse_cascades

__all__ = ["Feed", "parse_cascades"]
