"""Agents, and the turn that every agent takes."""

from prism.agents.econ_llm_agent import EconLLMAgent
from prism.agents.llm_agent import Agent, LLMAgent
from prism.agents.social_agent import SocialAgent
from prism.agents.stateful import StatefulAgent
from prism.agents.turn import DECIDED, FALLBACKS, MOVED, STALE, Decision, Question, Source, Trigger, Update, turn

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
