"""The texts of synthetic posts: plain sentences with the topic in them, so that a person or a model can react."""

from __future__ import annotations

from typing import Final

from prism.rng import Draw, integer
from prism.social.posts.post import PostKind

TEMPLATES: Final[dict[PostKind, tuple[str, ...]]] = {
    PostKind.ORIGINAL: (
        "Something about {topic} surprised me today.",
        "Unpopular opinion on {topic}: we have been asking the wrong question.",
        "A short thread on {topic}, and why it matters more than it seems.",
        "Who else is following the news on {topic}?",
        "After ten years with {topic}, this is the one thing I would tell a beginner.",
        "Numbers on {topic} that I cannot stop thinking about.",
    ),
    PostKind.REPLY: (
        "I see {topic} quite differently.",
        "Exactly this. More people in {topic} should say so.",
        "Do you have a source for that?",
        "This is what the debate on {topic} has been missing.",
    ),
    PostKind.RESHARE: (
        "Worth reading if you care about {topic}.",
        "Not sure I agree, but it made me think.",
        "Sharing this for everyone in {topic}.",
        "This.",
    ),
}


def write_post(kind: PostKind, topic: str, seed: int, author: int, tick: int) -> str:
    """Return a sentence for a post of this kind and topic, drawn for the author and tick."""
    templates = TEMPLATES[kind]
    return templates[integer(len(templates), seed, author, tick, Draw.TEXT)].format(topic=topic)
