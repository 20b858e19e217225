"""Activity by hour of the day: figures, tables, and who comes online when."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import Config
from prism.config.model import PopulationConfig
from prism.errors import ConfigError, InputError
from prism.rng import Draw, uniform
from prism.social.domain import SocialDomain
from prism.social.people.population import HOUR_COLUMNS, Hours, build_population, factors, hour_at, parse_hours
from prism.social.tables import NEVER
from tests.catalogue import catalogue
from tests.config.refusals import refusal

HEADER = f"agent,{','.join(HOUR_COLUMNS)}\n"
DAY = [1.0] * 12 + [3.0] * 12


def row(*counts: str) -> bytes:
    return (HEADER + "7," + ",".join([*counts, *["1"] * (24 - len(counts))]) + "\n").encode()


def test_a_table_is_added_up_by_columns() -> None:
    table = HEADER + "0," + ",".join(map(str, range(24))) + "\n\n1," + ",".join(["2"] * 24) + "\n"
    hours = parse_hours(table.encode(), "a.csv")
    assert hours.counts.sum(axis=0).tolist() == [hour + 2.0 for hour in range(24)]
    config = PopulationConfig(size=10, activity={"hours": "a.csv"})  # type: ignore[arg-type]
    said = build_population(config, 1, hours=hours).joins
    assert said == ("a.csv: the sums of 2 rows are everybody's hours; not used: `agent`",)
    assert factors(hours).tolist() == factors(tuple(hour + 2.0 for hour in range(24))).tolist()


@catalogue(
    ("data", "message"),
    [
        (b"", "a.csv:1: expected a header with each of h00 to h23 once, got 0 times h00"),
        (b"h00,h00\n", "a.csv:1: expected a header with each of h00 to h23 once, got 2 times h00"),
        (HEADER.encode() + b"1,2\n", "a.csv:2: expected 25 columns, got 2"),
        (row("many"), "a.csv:2: h00: expected a count from 0 to 1e15, got 'many'"),
        (HEADER.encode(), "a.csv: expected a figure above 0 for one hour at least, got 0 for all"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_hours(data, "a.csv")
    assert str(caught.value) == message


def test_rounds_of_more_than_an_hour_are_refused() -> None:
    text = f"population: {{activity: {{hours: {DAY}}}}}\nsimulation: {{tick_seconds: 3600}}"
    assert refusal(text) == (
        "c.yaml:2: simulation.tick_seconds: activity by hours needs rounds of an hour at most: expected "
        "ticks_per_round * tick_seconds <= 3600, got 24 * 3600 = 86400 s"
    )


@given(st.integers(0, 10**7), st.integers(-12, 14))
def test_the_hour_is_that_of_the_clock_of_the_epoch(minutes: int, offset: int) -> None:
    epoch = datetime.fromisoformat(f"2026-03-01T05:30:00{'-' if offset < 0 else '+'}{abs(offset):02d}:00")
    assert hour_at(epoch, minutes * 60) == (5 * 60 + 30 + minutes) // 60 % 24
    assert epoch + timedelta(minutes=minutes) >= epoch


def test_people_come_online_by_the_factor_of_the_hour_in_which_a_round_begins() -> None:
    settings: dict[str, Any] = {
        "simulation": {"epoch": "2026-03-01T10:00:00+05:00", "tick_seconds": 300, "ticks_per_round": 12, "seed": 4},
        "population": {"size": 300, "activity": {"mean": 0.4, "sigma": 0.5, "hours": DAY}},
    }
    config = Config(**settings)
    world = SocialDomain(config, build_population(config.population, 4)).world
    came = []
    for hour in range(4):  # at 10 and 11 o'clock the factor is 1/2, at 12 and 13 it is 3/2
        tick, factor = 12 * hour, 0.5 if hour < 2 else 1.5
        expected = {
            agent
            for agent, ada in enumerate(world.population.personas)
            if uniform(4, agent, tick, Draw.ONLINE) < ada.activity * factor
        }
        world.network.state.t.due[:] = NEVER
        world.begin_round(tick)
        assert {*np.flatnonzero(world.network.state.t.due >= tick).tolist()} == expected
        came.append(len(expected))
    assert min(came[2:]) > 2 * max(came[:2])
    (note,) = world.capped()
    busy = sum(ada.activity * 1.5 > 1 for ada in world.population.personas)
    assert note == (
        f"population.activity.hours: {busy} of 300 people come online for certain in the busiest hour, "
        "whose factor is 1.5"
    )


def test_a_file_is_not_read_where_only_a_run_may() -> None:
    config = PopulationConfig(size=30, activity={"hours": "a.csv"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"population\.activity\.hours: needs the figures of a\.csv"):
        build_population(config, 1)
    assert build_population(config, 1, hours=Hours(np.ones((1, 24)))).hours.tolist() == [1.0] * 24
