"""Rows as messages: each kind is read as it was, in the order in which it took place, by its class and by its agent."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from actors.core.errors import JournalError
from actors.core.frames import HEAD
from actors.core.kinds import recorded_tables
from actors.explain.turns import event_of
from actors.store.messages import differing_agents, messages_in, messages_of, tables_of
from prism.agents import Question, Update
from prism.agents.waves import Contexts, Kind
from prism.events import OF_FEEDS, AttributeSet, Event, FeedShown, Intervened, PostEvent, PostTaken, TieChanged
from prism.rows import Heap, TickRows, read_rows
from prism.tables import Shape

TICK, AGENT = 300, 70_000
encode = msgspec.msgpack.encode


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """The context of questions."""

    number: int
    share: float
    is_new: bool
    words: str
    topics: tuple[str, ...]


MESSAGES: list[Any] = [
    Intervened(TICK, 2, "publish", {"author": 3}),
    PostEvent(TICK, 3, "publish", 6, None, ("tea",)),
    PostTaken(TICK, 3, 6, 1),
    Question(TICK, AGENT - 2, "clock", "amber", ("red", "green"), [7, 0.5, True, "á", ["tea"]]),
    Update(TICK, AGENT - 1, "clock", "red", "green", "rule"),
    Update(TICK, AGENT, "clock", "red", "green", "rule", {"steps": [1]}, "because"),
    Question(TICK, AGENT + 1, "clock", "amber", ("red", "green")),
    Update(TICK, AGENT + 2, "clock", "red", "green", "rule", "like"),
    PostEvent(TICK, AGENT, "reply", 5, 4),
    FeedShown(TICK, AGENT, (5, 6)),
    FeedShown(TICK, AGENT + 1, ()),
    PostEvent(TICK, AGENT + 2, "like", 4),
    AttributeSet(TICK, AGENT + 3, "opinion", 0.5),
    TieChanged(TICK, AGENT + 3, "mute", AGENT - 1, 5),
]


class World:
    tables = OF_FEEDS


SHAPES = tuple(table.shape for table in recorded_tables(World(), Contexts(Seen)))  # type: ignore[arg-type]
KINDS = [
    Kind("clock", "red", "green", "rule"),
    Kind("clock", "red", "green", "rule", "", "because"),
    Kind("clock", "red", "green", "rule", "like"),
    Kind("clock", "amber", "", "asked", '["red","green"]'),
]


def numbers(*values: float) -> Any:
    return np.array(values)


def payload() -> bytes:
    """The rows of these messages: an intervention with what it caused, and a wave of answers with what they caused."""
    rows = TickRows(SHAPES)
    rows.add("interventions", numbers(2), Heap.of([b"publish"]), Heap.of([encode({"author": 3})]))
    rows.add("posts", *map(numbers, (3, 0, 6, -1)), Heap.of([encode(["tea"])]), numbers(1))
    rows.end_wave()
    rows.add("updates", numbers(AGENT - 1, AGENT, AGENT + 2), numbers(0, 1, 2))
    rows.add("effects", numbers(AGENT), Heap.of([encode({"steps": [1]})]))
    contexts = Contexts(Seen).values([Seen(7, 0.5, True, "á", ("tea",)), None])
    rows.add("questions", numbers(AGENT - 2, AGENT + 1), numbers(3, 3), *contexts)
    rows.add("posts", *map(numbers, (AGENT, 1, 5, 4)), Heap.of([encode([])]), numbers(0))
    rows.add("likes", numbers(AGENT + 2), numbers(4))
    rows.add("feeds", numbers(AGENT, AGENT, AGENT + 1), numbers(1, 2, 1), numbers(5, 6, -1))
    rows.add("ties", *map(numbers, (AGENT + 3, 2, AGENT - 1, 5)))
    rows.add("attributes", numbers(AGENT + 3), Heap.of([b"opinion"]), Heap.of([encode(0.5)]))
    return rows.take(TICK, 4)


def test_what_took_place_has_words_of_its_own() -> None:
    events = [each for each in MESSAGES if isinstance(each, Event)]
    assert len({event_of(each, str)["words"] for each in events}) == len(events) > 4


def test_messages_are_read_as_they_were_in_the_order_of_waves_and_agents() -> None:
    found = messages_in(read_rows(payload(), SHAPES), SHAPES, KINDS)
    assert found == MESSAGES
    assert msgspec.to_builtins(found) == msgspec.to_builtins(MESSAGES)


def test_messages_are_chosen_by_their_classes() -> None:
    tick = read_rows(payload(), SHAPES)
    for wanted in ((PostEvent,), (PostTaken, Update), (Question, Intervened), (TieChanged, AttributeSet, FeedShown)):
        chosen = [each for each in MESSAGES if type(each) in wanted]
        assert messages_in(tick, SHAPES, KINDS, *wanted) == chosen
        only = tick._replace(tables={name: tick.tables[name] for name in tables_of(*wanted)})
        assert messages_in(only, SHAPES, KINDS, *wanted) == chosen


class Known(NamedTuple):
    shapes: tuple[Shape, ...]
    kinds: list[Kind]


def test_of_a_frame_the_messages_of_some_agents_are_made_alone() -> None:
    frame, of_agents = bytes(HEAD.size) + payload(), [each for each in MESSAGES if not isinstance(each, Intervened)]
    for agents in ([], [AGENT], [AGENT - 2, 3, AGENT + 3], [1]):
        found = messages_of(frame, Known(SHAPES, KINDS), agents=agents)
        assert found == [each for each in of_agents if each.agent in agents]
    assert messages_of(frame, Known(SHAPES, KINDS), Update, agents=[AGENT]) == [MESSAGES[5]]


def random_frame(seeds: Sequence[tuple[int, ...]], known: list[Kind]) -> bytes:
    """Return a frame of two waves, in which what each agent does follows from its seed."""
    rows, asked = TickRows(SHAPES), known.index(KINDS[3])
    draws = [np.random.default_rng(seed) for seed in seeds]
    for _ in range(2):
        acts = [(agent, draw.permutation(8).tolist(), draw) for agent, draw in enumerate(draws)]
        updates = [(agent, known.index(KINDS[act[1] % 3])) for agent, act, _ in acts if act[0] < 4]
        rows.add("updates", *np.array(updates, np.int64).reshape(-1, 2).T)
        asking = [(agent, draw.choice([0.0, -0.0, np.nan]), "a" * act[1]) for agent, act, draw in acts if act[0] == 5]
        seen = [Seen(1, float(share), True, words, ()) for _, share, words in asking]
        agents = np.array([agent for agent, *_ in asking], np.int64)
        rows.add("questions", agents, np.full(len(agents), asked), *Contexts(Seen).values(seen))
        feeds = [(agent, place, post) for agent, act, _ in acts for place, post in enumerate(act[2 : act[3] % 4])]
        rows.add("feeds", *np.array(feeds, np.int64).reshape(-1, 3).T)
        rows.end_wave()
    return bytes(HEAD.size) + rows.take(TICK, len(known))


def test_agents_differ_between_two_futures_whose_rows_do_whatever_the_numbers_of_kinds() -> None:
    counts = set()
    for case in range(60):
        is_other = np.random.default_rng(case).random(9) < 0.3
        was = random_frame([(case, agent) for agent in range(9)], KINDS), Known(SHAPES, KINDS)
        seeds = [(case, agent + 100 * int(is_other[agent])) for agent in range(9)]
        would = random_frame(seeds, KINDS[::-1]), Known(SHAPES, KINDS[::-1])
        said = [defaultdict[tuple[int, type], list[str]](list) for _ in range(2)]
        for (frame, known), told in zip((was, would), said, strict=True):
            for message in messages_of(frame, known):
                told[message.agent, type(message)].append(repr(message))
        one, other = said
        differing = sorted({key[0] for key in {*one, *other} if one[key] != other[key]})
        assert differing_agents(was, would, 9) == differing
        counts |= {len(differing)}
    assert len(counts) > 3


def test_a_tick_with_a_value_that_cannot_be_read_is_named() -> None:
    rows = TickRows(SHAPES)
    rows.add("effects", numbers(AGENT), Heap.of([b"\xc1"]))
    with pytest.raises(JournalError, match=r"^journal\.prism: tick 300 cannot be read: "):
        messages_in(read_rows(rows.take(TICK, 0), SHAPES), SHAPES, KINDS)
    with pytest.raises(JournalError, match=r"^journal\.prism: tick 300 cannot be read: "):
        messages_in(read_rows(payload(), SHAPES), SHAPES, KINDS[:2])
