"""People, posts and views that several tests share."""

from __future__ import annotations

from typing import Any

from prism.agents.social_agent import SocialAgent
from prism.social.people.persona import Persona
from prism.social.posts.post import PostView
from prism.statechart import AgentState


def persona(**differences: Any) -> Persona:
    """Return a person who likes tea and engages at a relevance of one half."""
    return Persona(**{"name": "Ada", "interests": ("tea",), "personality": "calm", **differences})


def person(state: AgentState = AgentState.EVALUATING, *, agent_id: int = 0, **differences: Any) -> SocialAgent:
    """Return Ada in a state; differences are settings of the agent."""
    return SocialAgent(agent_id, state=state, **{"persona": persona(), **differences})


def view(**differences: Any) -> PostView:
    """Return a post without topics by an author who is not followed."""
    return PostView(
        **{
            "id": 1,
            "author": 9,
            "author_name": "Bo",
            "text": "Hello",
            "topics": (),
            "age_ticks": 0,
            "likes": 0,
            "replies": 0,
            "reshares": 0,
            "velocity": 0.0,
            "popularity": 0.0,
            "followed": False,
            "topic_match": 0.0,
            "appeal": 0.0,
            "fatigue": 0.0,
            **differences,
        }
    )


def relevant(share: float) -> PostView:
    """Return a post whose relevance to every person is `share`: 0 to 0.95; the rest is for people they follow."""
    part = share / 0.95
    return view(topic_match=part, popularity=part, appeal=part)
