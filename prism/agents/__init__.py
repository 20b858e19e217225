"""Agents, and the turn that every agent takes."""

from typing import TYPE_CHECKING

from prism.agents.agent import Agent
from prism.agents.econ_llm_agent import EconLLMAgent
from prism.agents.llm_agent import LLMAgent
from prism.agents.stateful import StatefulAgent
from prism.agents.turn import DECIDED, FALLBACKS, MOVED, STALE, Decision, Question, Source, Trigger, Update, turn
from prism.lazy import lazy_names

if TYPE_CHECKING:
    from prism.social.person import SocialAgent

__all__ = [
    "DECIDED",
    "FALLBACKS",
    "MOVED",
    "STALE",
    "Agent",
    "Decision",
    "EconLLMAgent",
    "LLMAgent",
    "Question",
    "SocialAgent",
    "Source",
    "StatefulAgent",
    "Trigger",
    "Update",
    "turn",
]

if not TYPE_CHECKING:  # `prism.social.person` imports from here, so this name is imported late
    __getattr__, __dir__ = lazy_names(__name__, {"prism.social.person": ("SocialAgent",)})
