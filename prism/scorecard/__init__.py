"""The scorecard: a run beside stylised facts of the real world."""

from prism.scorecard.cascades import parse_cascades
from prism.scorecard.facts import Feed

__all__ = ["Feed", "parse_cascades"]
