"""Conditions and numbers as texts: one tree, read for an agent, for many agents at once, or for ranges of values."""

from typing import TYPE_CHECKING

from prism.errors import ExpressionError
from prism.expressions.fields import Field
from prism.expressions.intervals import Box, Interval, Members, Truth, Words, possible, span, whole
from prism.expressions.parser import parse
from prism.expressions.search import BOXES_MAX, Search, find
from prism.expressions.source import compiled, expression_of, readers_of
from prism.expressions.tree import Expression
from prism.lazy import lazy_names

if TYPE_CHECKING:
    from prism.expressions.vectors import vector

__all__ = [
    "BOXES_MAX",
    "Box",
    "Expression",
    "ExpressionError",
    "Field",
    "Interval",
    "Members",
    "Search",
    "Truth",
    "Words",
    "compiled",
    "expression_of",
    "find",
    "parse",
    "possible",
    "readers_of",
    "span",
    "vector",
    "whole",
]

if not TYPE_CHECKING:  # only arrays need NumPy, which takes longer to import than all the rest
    __getattr__, __dir__ = lazy_names(__name__, {"prism.expressions.vectors": ("vector",)})
