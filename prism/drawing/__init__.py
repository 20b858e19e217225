"""Drawings of charts as text: Mermaid, Graphviz, SCXML and SVG."""

from prism.drawing.dot import dot
from prism.drawing.mermaid import mermaid
from prism.drawing.outline import Activity, Outline, outline
from prism.drawing.scxml import scxml
from prism.drawing.svg import svg

__all__ = ["Activity", "Outline", "dot", "mermaid", "outline", "scxml", "svg"]
