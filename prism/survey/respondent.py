"""A person who is asked: who they are at a moment of a run, and what they have lately seen and done."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from prism.config.attributes import Value
from prism.quoting import quoted
from prism.statechart.oracle import memory_lines, person_lines


class Respondent(msgspec.Struct, frozen=True, kw_only=True):
    """A person who is asked, as they were at the moment.

    Args:
        number: the agent's number; tick: the whole ticks before the moment.
        facts: what a model is told besides, by the name that it is told; attributes: all, by name.
        memory: what the person remembers, as of `prism.social.memory.Memory.lines`.
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
    memory: tuple[str, ...] = ()
    answers: dict[tuple[str, int], int | str | None] = {}

    def situation(self) -> str:
        """Return what a prompt says of the person, texts as quoted data."""
        interests = [quoted(interest) for interest in self.interests]
        person = person_lines(quoted(self.name), interests, quoted(self.personality), self.facts)
        return f"{person}{memory_lines(self.memory)}".removesuffix("\n")
