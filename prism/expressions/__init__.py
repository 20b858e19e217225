"""Conditions and numbers as texts: one tree, read for an agent or for ranges of values."""

from prism.errors import ExpressionError
from prism.expressions.fields import Field
from prism.expressions.intervals import Box, Interval, Members, Truth, Words, possible, span, whole
from prism.expressions.parser import parse
from prism.expressions.search import BOXES_MAX, Search, find
from prism.expressions.source import compiled, expression_of, readers_of
from prism.expressions.tree import Expression

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
    "whole",
]
