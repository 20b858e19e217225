"""The differences between two futures of a run: the recorded one, and one with another answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from actors.core.frames import HEAD
from actors.core.messages import Message
from actors.record.messages import decoded, encoded_in
from actors.results.agent_path import add_message
from actors.results.explanation import AgentDifference, Counted, PathTurn, TickDifference, WhatIf
from actors.results.retrace import OpenRun
from actors.runtime.simulation import Simulation
from prism.agents import Question, Update
from prism.events import AttributeSet, PostEvent, TieChanged

LARGEST = 10
"""The agents and posts that are listed."""

_Acts = dict[int, list[Any]]


class Differences:
    """The differences between two futures, tick by tick. Each tick of the first is added before that of the second."""

    def __init__(self, agent: int, first: int) -> None:
        self._agent = agent
        self._first = first
        self._frames: dict[int, bytes] = {}
        self._paths: tuple[list[PathTurn], list[PathTurn]] = ([], [])
        self._events: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._engagements: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._ticks: list[TickDifference] = []
        self._acting: dict[int, list[int]] = defaultdict(list)

    def add_was(self, tick: int, frame: bytes) -> None:
        if tick >= self._first:
            self._frames[tick] = frame[HEAD.size :]

    def add_would(self, tick: int, frame: bytes) -> None:
        """Compare a tick as it would have been with the same tick as it was."""
        was, would = self._frames.pop(tick), frame[HEAD.size :]
        if was == would:
            self._ticks.append(TickDifference(tick=tick, agents=0, acting=0))
            self._read(was, 0)
            self._read(would, 1)
            return
        (bytes_was, acts_was), (bytes_would, acts_would) = self._read(was, 0), self._read(would, 1)
        agents = bytes_was.keys() | bytes_would.keys()
        differing = [each for each in agents if bytes_was.get(each) != bytes_would.get(each)]
        acting = [each for each in differing if acts_was.get(each) != acts_would.get(each)]
        for each in acting:
            self._acting[each].append(tick)
        self._ticks.append(TickDifference(tick=tick, agents=len(differing), acting=len(acting)))

    def _read(self, payload: bytes, future: int) -> tuple[dict[int, list[bytes]], _Acts]:
        """Return each agent's records of a tick, and its acts; count the events."""
        records: dict[int, list[bytes]] = {}
        acts: _Acts = {}
        for encoded in encoded_in(payload):
            message = decoded(encoded)
            agent = getattr(message, "agent", None)
            if agent is None:
                continue
            records.setdefault(agent, []).append(encoded)
            if isinstance(message, Update):
                acts.setdefault(agent, []).append((message.trigger, message.to_state, message.effect))
            elif isinstance(message, Question):
                acts.setdefault(agent, []).append((message.trigger, message.options))
            elif isinstance(message, PostEvent):
                acts.setdefault(agent, []).append(message.kind)  # ids count an author's posts, so they shift
                self._count(message, future)
            elif (change := self._change(message, future)) is not None:
                acts.setdefault(agent, []).append(change)
            if agent == self._agent:
                add_message(self._paths[future], message)
        return records, acts

    def _change(self, message: Message, future: int) -> tuple[Any, ...] | None:
        """Return a change of a tie or an attribute, and count ties; None for any other message."""
        if isinstance(message, TieChanged):
            self._events[future][message.kind] += 1
            return message.kind, message.whom
        return (message.name, message.value) if isinstance(message, AttributeSet) else None

    def _count(self, event: PostEvent, future: int) -> None:
        self._events[future][event.kind] += 1
        about = event.post if event.kind == "like" else event.parent
        if about is not None:
            self._engagements[future][about] += 1

    def record(self, run: OpenRun, ends: tuple[Simulation, Simulation], **facts: Any) -> WhatIf:
        """Return the differences, with these facts about the question.

        Args:
            ends: the simulations after the last tick of each future.
        """
        was, would = ends
        acting = sorted(self._acting.items(), key=lambda each: (-len(each[1]), each[1][0], each[0]))
        return WhatIf(
            **facts,
            path_was=tuple(self._paths[0]),
            path_would_be=tuple(self._paths[1]),
            ticks=tuple(self._ticks),
            events=_counted(*self._events, equal=True),
            states=_counted(was.counters.agents_by_state(), would.counters.agents_by_state()),
            totals=_counted(_numbers(was.domain.world.totals()), _numbers(would.domain.world.totals())),
            agents=tuple(
                AgentDifference(agent=agent, name=run.name_of(agent), first=ticks[0], ticks=len(ticks))
                for agent, ticks in acting[:LARGEST]
            ),
            posts=_largest(*self._engagements),
        )


def _counted(was: dict[str, Any], would: dict[str, Any], *, equal: bool = False) -> tuple[Counted, ...]:
    """Return the numbers that differ, or all of them, in the order of the first future."""
    names = [*was, *(name for name in would if name not in was)]
    found = [Counted(name=name, was=was.get(name, 0), would_be=would.get(name, 0)) for name in names]
    return tuple(each for each in found if equal or each.was != each.would_be)


def _numbers(totals: dict[str, Any]) -> dict[str, float]:
    return {
        name: value for name, value in totals.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _largest(was: Counter[int], would: Counter[int]) -> tuple[Counted, ...]:
    """Return the posts whose engagements differ most, the largest difference first."""
    apart = [(abs(was[post] - would[post]), post) for post in was.keys() | would.keys()]
    posts = [post for count, post in sorted(apart, key=lambda each: (-each[0], each[1])) if count]
    return tuple(Counted(name=str(post), was=was[post], would_be=would[post]) for post in posts[:LARGEST])
