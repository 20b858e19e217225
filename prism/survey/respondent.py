"""A person who is asked: who they are at a moment of a run, and what they have lately seen and done."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from prism.config.attributes import Value
from prism.quoting import quoted
from prism.social.post import PostView
from prism.statechart.oracle import person_lines

_DONE = {
    "publish": "you wrote {text}",
    "reply": "you answered a post by {author}: {parent}; you wrote {text}",
    "reshare": "you reshared a post by {author}: {parent}",
    "like": "you liked a post by {author}: {text}",
}
"""`{kind of an event of a feed: what a prompt says of it}`."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The latest that a person has seen and done, the latest last: a line for each. Texts in it are quoted."""

    seen: tuple[str, ...] = ()
    done: tuple[str, ...] = ()


class Respondent(msgspec.Struct, frozen=True, kw_only=True):
    """A person who is asked, as they were at the moment.

    Args:
        number: the agent's number; tick: the whole ticks before the moment.
        facts: what a model is told besides, by the name that it is told; attributes: all, by name.
        answers: `{(question, repeat): the answer}` where they are worked out without a model; None for none.
    """

    number: int
    tick: int
    moment: str
    name: str
    interests: tuple[str, ...]
    personality: str
    facts: Mapping[str, Value]
    attributes: Mapping[str, Value]
    memory: Memory = Memory()
    answers: dict[tuple[str, int], int | str | None] = {}

    def situation(self) -> str:
        """Return what a prompt says of the person, texts as quoted data."""
        interests = [quoted(interest) for interest in self.interests]
        person = person_lines(quoted(self.name), interests, quoted(self.personality), self.facts)
        seen = _listed("Posts that you have lately seen", self.memory.seen)
        done = _listed("What you have lately done", self.memory.done)
        return f"{person}\n{seen}\n\n{done}"


def seen_line(view: PostView) -> str:
    """Return what a prompt says of a post that a person has seen."""
    follows = ", whom you follow" if view.followed else ""
    return f"by {quoted(view.author_name)}{follows}: {quoted(view.text)}"


def done_line(kind: str, author: str, text: str, parent: str) -> str:
    """Return what a prompt says of something that a person has done on the feed.

    Args:
        kind: as of `PostEvent`.
        author: whose post was liked, answered or reshared; parent: the text that was answered or reshared.
        text: of the new post, or of the one that was liked.
    """
    return _DONE[kind].format(author=quoted(author), text=quoted(text), parent=quoted(parent))


def _listed(head: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"{head}, the latest last:", *(f"- {line}" for line in lines)]) if lines else f"{head}: nothing."
