"""What people see and do as bytes of a kernel, beside msgspec's of the same objects."""

from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import Update, turn
from prism.config import Config
from prism.social.domain import SocialDomain
from prism.social.kernels import view_kernel
from prism.social.network import CONTEXTS
from prism.social.people.population import build_population
from prism.social.world import SocialWave
from tests.actors.social_runs import SMALL
from tests.catalogue import catalogue

encode = msgspec.msgpack.encode


def written(put: Any, *given: Any) -> bytes:
    """Return what a kernel writes."""
    out = np.zeros(400, dtype=np.uint8)
    return out[: put(out, 0, *given)].tobytes()


@given(st.floats())
def test_a_float_is_as_msgpack_has_it(number: float) -> None:
    assert written(view_kernel.put_float, number) == written(view_kernel._bits_one_by_one, number) == encode(number)


@catalogue("seed", range(1))
def test_triggers_of_a_run_are_as_msgpack_has_them_and_their_views_are_the_columns(seed: int) -> None:
    config = msgspec.convert(
        {**msgspec.to_builtins(SMALL), "simulation": {**msgspec.to_builtins(SMALL.simulation), "seed": seed}}, Config
    )
    domain = SocialDomain(config, build_population(config.population, seed))
    world, network, views = domain.world, domain.world.network, 0
    for tick in range(90):
        wave = world.triggers(tick)
        assert isinstance(wave, SocialWave)
        sent = wave.encoded()
        assert sent is not None
        content, ends = sent
        assert [content[start:end] for start, end in pairwise([0, *ends])] == [*map(encode, wave)]
        seen = [trigger.context for trigger in wave if trigger.context is not None]
        looking = np.array([trigger.agent for trigger in wave if trigger.context is not None], dtype=np.int64)
        columns = network.words.in_columns(tick, network.see(looking, tick))
        assert [CONTEXTS.at(columns, place) for place in range(len(seen))] == seen
        expected = [each.tolist() if isinstance(each, np.ndarray) else each.values() for each in CONTEXTS.values(seen)]
        assert [each.tolist() if isinstance(each, np.ndarray) else each.values() for each in columns] == expected
        views += len(seen)
        for trigger in wave:
            answer = turn(domain.chart, domain.agent(trigger.agent), trigger, ask=False)
            assert isinstance(answer, Update)
            world.apply(answer)
        world.take_rows()
    assert views > 100
