"""Engines: they work out the state after valid actions."""

from prism.engines.econ_llm_engine import EconLLMEngine
from prism.engines.llm_engine import Engine, LLMEngine

__all__ = ["EconLLMEngine", "Engine", "LLMEngine"]
