"""The transitions of a run as a table, and the states in which they leave its agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from actors.record.run import Recorded, RecordedTick
from actors.results.rows import Rows
from prism.agents import MOVED, Update
from prism.events import Intervened, PostEvent
from prism.show import Show


class FinalStates:
    """The state of each agent that has moved.

    Attributes:
        state: `{agent: its state}`; `since`: the tick in which it entered it; `moves`: the updates that moved it.
    """

    def __init__(self) -> None:
        self.state: dict[int, str] = {}
        self.since: dict[int, int] = {}
        self.moves: Counter[int] = Counter()

    def take(self, tick: RecordedTick) -> None:
        """Take over the moves of a tick."""
        moved = tick.moved
        agents = [update.agent for update in moved]
        self.state.update(zip(agents, [update.to_state for update in moved], strict=True))
        self.since.update(dict.fromkeys(agents, tick.tick))
        self.moves.update(agents)


class Transitions:
    """The rows of `transitions`."""

    def __init__(self, run: Recorded, rows: Rows, show: Show) -> None:
        self._name = run.name
        self._effect_name = show.effect_name
        self._rows = rows

    def take(self, tick: RecordedTick) -> None:
        """Add the rows of a tick."""
        moved = tick.moved
        count = len(moved)
        if not count:
            return
        effects = [None if update.effect is None else self._effect_name(update.effect) for update in moved]
        self._rows.extend(
            (
                [self._name] * count,
                [tick.tick] * count,
                [tick.time] * count,
                [update.agent for update in moved],
                [update.trigger for update in moved],
                [update.from_state for update in moved],
                [update.to_state for update in moved],
                [update.source for update in moved],
                effects,
                _posts(tick, moved) if tick.others else [None] * count,
                [update.reason or None for update in moved],
            )
        )


def _posts(tick: RecordedTick, moved: Sequence[Update[Any]]) -> list[int | None]:
    """Return for each update the post that it made or liked: the effect stands after the last update of its agent."""
    found: list[int | None] = [None] * len(moved)
    events = [each for each in tick.others if isinstance(each, PostEvent)]
    if not events:
        return found
    if any(isinstance(each, Intervened) for each in tick.others):
        return _posts_in_order(tick, found)
    agents = {event.agent for event in events}
    places = [(update.agent, place) for place, update in enumerate(moved) if update.agent in agents]
    place_of = dict(places)
    if len(place_of) < len(places):  # an agent moved twice
        return _posts_in_order(tick, found)
    for event in events:
        if event.agent in place_of:
            found[place_of[event.agent]] = event.post
    return found


def _posts_in_order(tick: RecordedTick, found: list[int | None]) -> list[int | None]:
    """Fill in the posts of a tick in which only the order of messages tells the update of an effect.

    A post that an intervention publishes stands before all updates, and belongs to none.
    """
    place_of: dict[int, int] = {}
    place = 0
    for message in tick.messages:
        if isinstance(message, Update) and message.source in MOVED:
            place_of[message.agent] = place
            place += 1
        elif isinstance(message, PostEvent) and message.agent in place_of:
            found[place_of[message.agent]] = message.post
    return found
