"""Agents, and the turn that every one of them takes."""

from prism.agents.social_agent import SocialAgent
from prism.agents.stateful import StatefulAgent
from prism.agents.turn import MOVED, Decision, Question, Source, Trigger, Update, turn

__all__ = [
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
