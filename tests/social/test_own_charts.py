"""People who live by a chart of one's own: states, delays, effects and choices that the default chart does not have."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from prism.config import ChoiceConfig, PopulationConfig
from prism.errors import ConfigError
from prism.social.chart import social_behaviour
from prism.social.choice import ChoiceOracle
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Behaviour, read_chart
from tests.catalogue import catalogue
from tests.social.driver import SMALL, Run, whole
from tests.social.people import person, view

DOOM = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
    states:
      writing:
        after: {ticks: {uniform: [2, 4]}, trigger: written}
        transitions:
          - {trigger: written, target: reading, effect: post}
      reading:
        role: browse
        after: {ticks: 2, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: doomscrolling, when: agent.anxiety > 0.5, oracle: true, label: sink}
          - {trigger: sees_post, target: sharing, when: agent.anxiety > 0.5, oracle: true, label: share}
          - {trigger: sees_post, target: reading}
          - {trigger: timeout, target: away}
      doomscrolling:
        role: browse
        after: {ticks: agent.patience, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: doomscrolling}
          - {trigger: timeout, target: away}
      sharing:
        effect: reshare
        after: {ticks: 1, trigger: shared}
        transitions:
          - {trigger: shared, target: reading}
"""
ATTRIBUTES = {"anxiety": {"type": "float", "min": 0, "max": 1}, "patience": {"type": "int", "min": 2, "max": 4}}
CONFIG = msgspec.structs.replace(
    SMALL,
    population=msgspec.convert({**msgspec.to_builtins(SMALL.population), "attributes": ATTRIBUTES}, PopulationConfig),
)


def behaviour(text: str = DOOM) -> Behaviour[Any]:
    return social_behaviour(read_chart(text, "doom.yaml"), social_vocabulary(CONFIG.population.attributes))


@pytest.fixture(scope="module")
def run() -> Run:
    """A whole run, which tests only look at."""
    return asyncio.run(whole(CONFIG, behaviour=behaviour()))


def test_effects_take_place_when_the_chart_says_so(run: Run) -> None:
    steps, totals = Counter((each.from_state, each.trigger) for each in run.updates), run.world.totals()
    assert totals["posts"] == steps["writing", "written"] > 20
    assert totals["reshares"] == steps["sharing", "shared"] > 20
    assert totals["likes"] == totals["replies"] == 0


def test_delays_are_drawn_or_read_from_the_person(run: Run) -> None:
    entered: dict[int, int] = {}
    writing, doomed = Counter[int](), list[tuple[int, object]]()
    for update in run.updates:
        if (update.from_state, update.trigger) == ("writing", "written"):
            writing[update.tick - entered[update.agent]] += 1
        if (update.from_state, update.trigger) == ("doomscrolling", "timeout"):
            patience = run.domain.population.personas[update.agent].attributes["patience"]
            doomed.append((update.tick - entered[update.agent], patience))
        entered[update.agent] = update.tick
    assert set(writing) == {2, 3, 4}
    assert len(doomed) > 5
    assert all(waited == patience for waited, patience in doomed)


def test_an_option_engages_by_the_effect_of_its_row_or_of_its_delay() -> None:
    text = DOOM.replace("oracle: true, label: sink}", "oracle: true, label: sink, effect: like}")
    options: Any = [behaviour(text).states(name) for name in ("doomscrolling", "sharing")]
    reading: Any = behaviour(text).states("reading")
    oracle = ChoiceOracle(ChoiceConfig(like=20.0, reshare=10.0, scale=0.1), 1, behaviour(text))
    plain = ChoiceOracle(ChoiceConfig(like=20.0, reshare=10.0, scale=0.1), 1, behaviour())
    likes = [asyncio.run(oracle.ask(person(agent_id=n), reading, "sees_post", options, view())) for n in range(9)]
    shares = [asyncio.run(plain.ask(person(agent_id=n), reading, "sees_post", options, view())) for n in range(9)]
    assert set(likes) == {"doomscrolling"}
    assert set(shares) == {"sharing"}


WRONG = [
    (
        "trigger: wants_to_post",
        "trigger: wants_to_pst",
        ":8: states.away: nobody sends wants_to_pst; did you mean",
    ),
    ("trigger: written, target: reading, effect: post", "trigger: writen, target: reading", "did you mean writen?"),
    ("role: offline", "role: browse", "initial: away needs `role: offline`"),
    (
        "{trigger: feed_ready, target: reading}",
        "{trigger: decides, target: reading}",
        "states.away: needs a row",
    ),
    ("  - {trigger: round_ends, target: away}", "  - {trigger: ends, target: away}", "nobody sends ends; "),
    ("target: away}\n    states", "target: reading}\n    states", "needs a row for round_ends to a state with `role"),
    ("agent.anxiety > 0.5", "agent.anxeity > 0.5", "did you mean agent.anxiety"),
    ("agent.patience", "agent.interests", "no such field for a delay"),
    ("effect: reshare", "effect: shout", "shout: no such effect"),
]


@catalogue(("old", "new", "message"), WRONG)
def test_a_chart_that_the_world_cannot_run_is_one_line(old: str, new: str, message: str) -> None:
    assert old in DOOM
    with pytest.raises(ConfigError) as refused:
        behaviour(DOOM.replace(old, new, 1))
    assert str(refused.value).startswith("doom.yaml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
