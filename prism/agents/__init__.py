"""Agents, and the turn that every one of them takes."""

from prism.agents.social_agent import SocialAgent
from prism.agents.stateful import StatefulAgent
from prism.agents.turn import DECIDED, FALLBACKS, MOVED, Decision, Question, Source, Trigger, Update, turn

__all__ = [
    "DECIDED",
    "FALLBACKS",
    "MOVED",
    "Decision",
    "Question",
    "SocialAgent",
    "Source",
    "StatefulAgent",
    "Trigger",
    "Update",
    "turn",
]
