"""The changes of attributes that a turn may make, worked out for one person, as an explanation shows them."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from prism.config.attributes import Value
from prism.config.model import PopulationConfig
from prism.expressions import Expression, compiled
from prism.expressions.fields import reads_view
from prism.rng import Draw
from prism.social.posts.post import PostView
from prism.social.vocabulary import drawn_readers, social_vocabulary
from prism.statechart.behaviour import Behaviour, Change, Reader


class ReadChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of an attribute, as it is worked out.

    Args:
        to: the expression of its new value; `when`: its condition, empty if there is none.
        values: `{field: value}` of the fields that these read; empty where they need a post in view, and none is.
        holds: whether it is worked out: its condition holds, and the fields that it reads have values.
        found: the value of the expression, before it is kept in its range; None if it has no value or does not hold.
        before: the value that the attribute has.
    """

    name: str
    to: str
    when: str
    values: dict[str, Any]
    holds: bool
    found: Value | None
    before: Value


class ChangeReader:
    """The changes of a chart as functions of a person and the post in view."""

    def __init__(self, behaviour: Behaviour[Any], people: PopulationConfig) -> None:
        self._changes = behaviour.changes
        self._readers: dict[str, Reader] = {
            **social_vocabulary(people.attributes, people.posts.attributes).readers,
            **drawn_readers(Draw.CHANGE, Draw.CHANGE_NORMAL),
        }
        self._compiled: dict[Expression, Reader] = {}

    def read(self, trigger: str, agent: Any, view: PostView | None) -> dict[str, tuple[ReadChange, ...]]:
        """Return the changes of each row of the agent's state with this trigger, by the state after it."""
        return {
            after: tuple(map(partial(self._read, agent=agent, view=view), changes))
            for (before, after), changes in self._changes.get(trigger, {}).items()
            if before == str(agent.state)
        }

    def _read(self, change: Change, agent: Any, view: PostView | None) -> ReadChange:
        is_there = view is not None or not reads_view(change.fields)
        values = {each: self._readers[each](agent, view) for each in change.fields} if is_there else {}
        holds = is_there and (change.when is None or bool(self._value(change.when, agent, view)))
        found = self._value(change.to, agent, view) if holds else None
        return ReadChange(
            name=change.name,
            to=change.to.text,
            when="" if change.when is None else change.when.text,
            values=values,
            holds=holds,
            found=None if isinstance(found, float) and found != found else found,  # noqa: PLR0124  # not a number
            before=agent.persona.attributes[change.name],
        )

    def _value(self, expression: Expression, agent: Any, view: PostView | None) -> Any:
        if expression not in self._compiled:
            self._compiled[expression] = compiled(expression, self._readers)
        return self._compiled[expression](agent, view)
