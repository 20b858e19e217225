"""The parts of a configuration that have no effect: what they are, and the interventions among them.

A delay that the end of the round cuts short, an attribute that nothing reads, an intervention that asks for the present
state: each is allowed, and hardly ever intended. Domains report their own parts; `actors.runs.no_effect` reports
the others, after a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum, unique
from typing import Any, Final, Protocol

import msgspec

from prism.config import Config, InterventionConfig
from prism.config.interventions import CHANGEABLE, planned, with_settings
from prism.config.interventions import PLACE as INTERVENTIONS

ROUND_ENDS: Final = "round_ends"
"""The trigger by which the end of a round leads agents out of a state."""


@unique
class NoEffectKind(StrEnum):
    """The part of a configuration that has no effect."""

    DELAY = "delay"
    EXIT = "exit"
    OPTION = "option"
    ATTRIBUTE = "attribute"
    INTERVENTION = "intervention"


class NoEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a configuration without an effect.

    Args:
        kind: what it is.
        place: a state of the chart, or the key of the setting.
        message: why it has no effect, in words.
    """

    kind: NoEffectKind
    place: str
    message: str

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.place}: {self.message}"


def told(found: Iterable[NoEffect]) -> tuple[str, ...]:
    """Return the parts without an effect, a line each."""
    return tuple(f"without effect: {each}" for each in found)


class Ties(Protocol):
    """The ties at the start."""

    def follows(self, follower: int, followee: int) -> bool:
        """Return whether one follows the other."""


class People(Protocol):
    """People with ties."""

    @property
    def graph(self) -> Ties:
        """Their ties."""

    def number(self, person: int | str) -> int:
        """Return the number of a person whom an intervention names."""


def idle_interventions(config: Config, people: People | None) -> Iterator[NoEffect]:
    """Yield interventions that ask for a state that already holds when they happen.

    Args:
        people: the people, whose ties are looked at; None if there are none, or they are not made.
    """
    places = {id(each): f"{INTERVENTIONS}[{index}]" for index, each in enumerate(config.interventions)}
    state = _State(config, people)
    for tick, each in planned(config.interventions, config.simulation.ticks_per_round):
        if not state.changes(each, tick):
            message = f"{each.kind} at tick {tick:,} changes nothing: what it asks for is so already"
            yield NoEffect(kind=NoEffectKind.INTERVENTION, place=places[id(each)], message=message)


class _State:
    """The settings, ties and silences that interventions have made so far."""

    def __init__(self, config: Config, people: People | None) -> None:
        self._config = config
        self._people = people
        self._ties: dict[tuple[int, int], bool] = {}
        self._silent: dict[int | str, float] = {}
        """`{agent: the tick until which it gets no trigger}`."""

    def changes(self, each: InterventionConfig, tick: int) -> bool:
        """Return whether an intervention changes anything, and note its changes; True if that is unknown."""
        if each.set is not None:
            return self._sets(each.set)
        if each.shock is not None:
            return any(each.shock.values())
        if each.silence is not None:
            length = self._config.simulation.ticks_per_round
            until = float("inf") if each.until_round is None else (each.until_round - 1) * length
            people = self._people
            silenced = each.silence if people is None else [people.number(agent) for agent in each.silence]
            before = [self._silent.get(agent, -1.0) for agent in silenced]
            self._silent.update(dict.fromkeys(silenced, until))
            return any(end <= tick or end != until for end in before)
        ties = each.follow or each.unfollow or ()
        return self._binds(ties, self._people, follows=each.follow is not None) if self._people else True

    def _sets(self, settings: Mapping[str, Any]) -> bool:
        domain = self._config.simulation.domain
        if any(path not in CHANGEABLE.get(domain, {}) for path in settings):
            return True  # a user's domain
        before, self._config = self._config, with_settings(self._config, settings)
        return before != self._config

    def _binds(self, ties: tuple[tuple[int | str, ...], ...], people: People, *, follows: bool) -> bool:
        is_changed = not ties  # a post is none of these, and changes something
        for one, other in ties:
            tie = people.number(one), people.number(other)
            before = self._ties.get(tie)
            is_changed |= follows != (people.graph.follows(*tie) if before is None else before)
            self._ties[tie] = follows
        return is_changed
