"""People, posts and views that several tests share."""

import math
from collections.abc import Sequence
from typing import Any

from prism.agents.social_agent import SocialAgent
from prism.config import ChoiceConfig
from prism.social.choice import ChoiceOracle
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
    counts = dict.fromkeys(("age_ticks", "likes", "replies", "reshares"), 0)
    shares = dict.fromkeys(("velocity", "popularity", "topic_match", "appeal", "fatigue"), 0.0)
    plain = {"id": 1, "author": 9, "author_name": "Bo", "text": "Hello", "topics": (), "followed": False}
    return PostView(**{**plain, **counts, **shares, **differences})


def relevant(share: float) -> PostView:
    """Return a post whose relevance to every person is `share`."""
    return view(topic_match=share, popularity=share, appeal=share)


def chances(oracle: ChoiceOracle, agent: SocialAgent, options: Sequence[Any], seen: PostView | None) -> list[float]:
    """Return the probability of each option of a question, by the effects with which their delays end."""
    return oracle.distribution(agent, agent.state, "", options, seen)


def utility(oracle: ChoiceOracle, agent: SocialAgent, option: AgentState, seen: PostView | None) -> float:
    """Return V of an option that engages, from the odds of it against an option that does not."""
    reference, chance = chances(oracle, agent, [AgentState.SCROLLING, option], seen)
    return ChoiceConfig().scale * math.log(chance / reference)
