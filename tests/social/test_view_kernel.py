"""What people see and do as bytes of a kernel, beside msgspec's of the same objects."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import Update, turn
from prism.agents.answer_kernel import put_number
from prism.config import Config
from prism.events import FeedShown, PostEvent
from prism.social.domain import SocialDomain
from prism.social.kernels import view_kernel
from prism.social.people.persona import Persona
from prism.social.people.population import Population, build_population
from prism.social.ties.graph import FollowGraph
from prism.social.view_words import ViewWords
from prism.social.world import SocialWave
from tests.actors.social_runs import SMALL
from tests.catalogue import catalogue

encode = msgspec.msgpack.encode


def written(put: Any, *given: Any) -> bytes:
    """Return what a kernel writes."""
    out = np.zeros(400, dtype=np.uint8)
    return out[: put(out, 0, *given)].tobytes()


@given(st.integers(0, 2**63 - 1) | st.sampled_from([127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32]))
def test_a_number_is_as_msgpack_has_it(number: int) -> None:
    assert written(put_number, number) == encode(number)


@given(st.floats())
def test_a_float_is_as_msgpack_has_it(number: float) -> None:
    bits = np.array([number]).view(np.uint64)[0]
    assert written(view_kernel.put_float, bits) == written(view_kernel._bits_one_by_one, bits) == encode(number)


@given(st.text(max_size=90), st.text(max_size=90), st.integers(0, 10**6), st.booleans())
def test_a_name_is_as_msgpack_has_it(first: str, last: str, before: int, has_last: bool) -> None:
    people = Population(personas=[Persona(name="x", interests=(), personality="")] * 2, graph=FollowGraph(2, [0], [1]))
    words = ViewWords(people, [])
    words.names[0] = 0, 1 if has_last else -1, before
    words.name_words = type(words.name_words).of([first.encode(), last.encode()])
    name = f"{first} {last}" if has_last else first
    name = f"{name} {before + 1}" if before else name
    assert written(view_kernel.put_name, words.names[0], words.tables) == encode(name)


@catalogue("seed", range(1))
def test_views_and_events_of_a_run_are_as_msgpack_has_them(seed: int) -> None:
    config = msgspec.convert(
        {
            **msgspec.to_builtins(SMALL),
            "simulation": {**msgspec.to_builtins(SMALL.simulation), "seed": seed},
            "run": {"record_feeds": True},
        },
        Config,
    )
    domain = SocialDomain(config, build_population(config.population, seed))
    world, network, views, kinds = domain.world, domain.world.network, 0, set()
    for tick in range(90):
        wave = world.triggers(tick)
        assert isinstance(wave, SocialWave)
        looking = wave.agents[world.current[wave.agents] >= network.living.first]
        if len(looking):
            seen = network.views(looking, tick)
            content, ends = network.write_views(tick, *network.see(looking, tick))
            starts = [0, *ends.tolist()]
            found = [content[start:end].tobytes() for start, end in zip(starts, ends.tolist(), strict=False)]
            assert found == [*map(encode, seen)]
            views += len(seen)
        for trigger in wave:
            agent = domain.agent(trigger.agent)
            answer = turn(domain.chart, agent, trigger, ask=False)
            assert isinstance(answer, Update)
            world.apply(answer)
        events = world.take_events()
        assert events.encoded == b"".join(map(encode, events))
        kinds |= {type(event) if not isinstance(event, PostEvent) else event.kind for event in events}
    assert views > 100
    assert kinds >= {"publish", "reply", "reshare", "like", FeedShown}
