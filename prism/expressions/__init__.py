"""Conditions and numbers as texts: one tree, read for an agent, and searched for values."""

from prism.errors import ExpressionError
from prism.expressions.parser import parse
from prism.expressions.source import compiled, expression_of, pattern_of, readers_of
from prism.expressions.tree import Expression, Field

__all__ = [
    "Expression",
    "ExpressionError",
    "Field",
    "compiled",
    "expression_of",
    "parse",
    "pattern_of",
    "readers_of",
]
