"""Turns and ticks at once are those that agents take one by one."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.activation import Compiled
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.social.chart import social_behaviour, social_chart_text
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Behaviour, read_chart
from tests.actors.oracles import SlowOracle
from tests.schedules import run_scheduled
from tests.social.test_own_charts import ATTRIBUTES as OWN
from tests.social.test_own_charts import DOOM
from tests.tiers import Size

pytestmark = pytest.mark.usefixtures("logged")

ATTRIBUTES: dict[str, Any] = {
    **OWN,
    "camp": {"type": "text", "values": ["north", "south", "none"]},
    "keen": {"type": "bool", "probability": 0.4},
}
LONGEST = 20.0
Settings = dict[str, Any]

INTERVENTIONS: list[Settings] = [
    {"tick": 14, "publish": {"author": 3, "text": "News.", "topics": ["science", "music"], "quality": 0.8}},
    {
        "tick": 15,
        "follow": [[0, 3], [1, 3]],
    },
    {"tick": 20, "silence": [2, 4], "until_round": 4},
    {"tick": 25, "set": {"feed.memory": 6, "feed.size": 4, "feed.algorithm": "hot"}},
    {"tick": 26, "unfollow": [[0, 3]]},
]


RELEVANCE: Settings = {"topic_match": 0.2, "followed": 0.1, "popularity": 0.2, "appeal": 0.5}


def random_settings(seed: int) -> Settings:
    """Return settings of a small world of which many differ from the defaults."""
    draw = random.Random(seed)  # a test
    choose, size = draw.choice, draw.choice([7, 40, 150])
    people: Settings = {
        "size": size,
        "posts_per_session": draw.random(),
        "ambiguity": choose([0.0, 0.1, 0.6]),
        "activity": {"mean": draw.uniform(0.3, 1.0), "sigma": 0.4, "arrival": draw.uniform(0.1, 1.0)},
        "graph": {"kind": "barabasi_albert", "degree": choose([2, 6])},
        "deliberation_minutes": choose([0, 0, 1, 4]),
        "quality_sigma": choose([0.0, 0.7]),
        "attributes": ATTRIBUTES,
        "interests_per_person": choose([1, 3]),
        "relevance": {**RELEVANCE, "appeal_power": choose([0.5, 3.0])},
    }
    if choose([True, False]):
        people["posts_by_followers"] = 1.2
        people["response"] = {"median_s": 300.0, "sigma": 0.7}
        people["activity"]["sigma"] = 0.9
        people |= {"posts_per_session": 3 * people["posts_per_session"], "participation_sigma": 1.0}
    feed: Settings = {
        "algorithm": choose(["chronological", "hot", "interest", "random"]),
        "size": choose([1, 5, 9]),
        "out_of_network": choose([0.0, 0.3, 1.0]),
        "fill": choose(["strict", "borrow"]),
        "memory": choose([3, 10, 50]),
        "pool": choose([2, 20]),
        "recent": choose([4, 30, 1000]),
        "horizon_rounds": choose([2, 3, 10]),
        "exposure": choose(["once", "once", "once", "simple", "complex"]),
        "reshare_credit": choose(["seen", "root", "newest"]),
        "attention": draw.uniform(0.5, 1.0),
    }
    if "response" in people:
        feed["fill"] = "share"
    return {
        "simulation": {"rounds": 5, "ticks_per_round": choose([10, 17]), "seed": seed, "tick_seconds": 60.0},
        "population": people,
        "feed": feed,
        "interventions": draw.sample(INTERVENTIONS, choose([0, 2, 4])),
        "oracle": {"deadline_s": 1e6},
        "run": {"record_feeds": choose([True, False])},
        "llm": {"memory": choose([0, 1, 5])},
    }


CHART = """
initial: idle
states:
  idle:
    role: offline
    transitions:
      - {trigger: feed_ready, target: scrolling}
      - {trigger: wants_to_post, target: composing, do: draft_post}
  online:
    initial: scrolling
    transitions:
      - {trigger: round_ends, target: idle}
      - {trigger: timeout, target: idle, when: "AGENT"}
    states:
      scrolling:
        role: browse
        after: {ticks: agent.patience, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: evaluating, when: "POST"}
          - {trigger: sees_post, target: liking, when: "POST", oracle: false, set: "SET"}
          - {trigger: sees_post, target: evaluating}
          - {trigger: timeout, target: resting, when: "AGENT"}
      evaluating:
        role: attend
        transitions:
          - {trigger: ignores, target: scrolling}
          - {trigger: decides, target: scrolling, when: "POST", oracle: false}
          - {trigger: decides, target: parting, when: "POST", oracle: false}
          - {trigger: decides, target: meeting, when: "POST", oracle: false}
          - {trigger: decides, target: muting, when: "POST", oracle: false}
          - {trigger: decides, target: composing, when: "POST", do: intend, oracle: false, set: "SET"}
          - {trigger: decides, target: scrolling, when: "POST", oracle: true}
          - {trigger: decides, target: liking, when: "POST", oracle: true, set: "SET"}
          - {trigger: decides, target: sharing, when: "POST"}
          - {trigger: decides, target: scrolling}
      composing:
        after: {ticks: {uniform: [1, 4]}, trigger: compose_done}
        transitions:
          - {trigger: compose_done, target: replying, when: agent.pending_action == "reply"}
          - {trigger: compose_done, target: sharing, when: "AGENT"}
          - {trigger: compose_done, target: scrolling, effect: post}
      parting: {effect: UNFOLLOW, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: scrolling}]}
      meeting: {effect: FOLLOW, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: scrolling}]}
      muting:
        effect: MUTE
        after: {ticks: 1, trigger: done}
        transitions:
          - {trigger: done, target: resting, set: "SET"}
      liking:
        effect: like
        after: {ticks: 1, trigger: done}
        transitions:
          - {trigger: done, target: scrolling, do: [draft_like, draft_reply]}
      replying:
        effect: reply
        after: {ticks: {uniform: [1, 4]}, trigger: done}
        transitions:
          - {trigger: done, target: resting}
      sharing:
        effect: reshare
        after: {ticks: {log_normal: [2, 0.5]}, trigger: done}
        transitions:
          - {trigger: done, target: resting}
      resting:
        after: {ticks: statechart.rest_ticks, trigger: timeout}
        transitions:
          - {trigger: timeout, target: scrolling}
"""
"""A chart whose guards, changes and effects on ties are drawn: `POST` may read the post in view, `AGENT` may not."""

CONFIG = msgspec.convert({"population": {"attributes": ATTRIBUTES}}, Config)
FIELDS = social_vocabulary(CONFIG.population.attributes).fields


def random_guard(draw: random.Random, part: str) -> str:
    """Return an expression that reads fields of a person, and of a post too if the part is `POST`."""
    names = [name for name in FIELDS if name.startswith("agent.") or part == "POST"]
    field = FIELDS[draw.choice(names)]
    if field.kind == "texts":
        atom = f"'{draw.choice(CONFIG.population.topics)}' in {field.name}"
    elif field.kind == "text":
        atom = f"{field.name} {draw.choice(['==', '!='])} '{draw.choice(field.values)}'"
    elif field.kind == "bool":
        atom = field.name
    else:
        high = min(field.high, 8.0)
        atom = f"{field.name} {draw.choice(['<', '<=', '>', '>='])} {draw.uniform(max(field.low, -8.0), high):.3f}"
    how = draw.random()
    if how < 0.5:
        return atom
    if how < 0.6:
        return f"not ({atom})"
    return f"({atom}) {draw.choice(['and', 'or'])} ({random_guard(draw, part)})"


def random_changes(draw: random.Random) -> dict[str, Any]:
    given = {}
    for name in draw.sample([*ATTRIBUTES], draw.choice([1, 2])):
        field = FIELDS[f"agent.{name}"]
        if field.kind == "bool":
            to = random_guard(draw, "POST")
        elif field.kind == "text":
            to = draw.choice([f"author.{name}", f"'{draw.choice(field.values)}'"])
        else:
            other = draw.choice(["author", "agent"])
            to = f"agent.{name} + {draw.uniform(-1.0, 1.0):.3f} * {other}.{name} + {draw.choice([0, 2])} * draw.normal"
        given[name] = draw.choice([to, {"to": to, "when": random_guard(draw, "POST")}])
    return given


def random_chart(seed: int) -> Behaviour[Any]:
    """Return the default chart, one with states of its own, or one with random guards."""
    draw = random.Random(seed)  # a test
    kind = draw.choice(["default", "own", "guards", "guards"])
    text = {"default": social_chart_text(), "own": DOOM, "guards": CHART}[kind]
    for part in ("POST", "AGENT"):
        while part in text:
            text = text.replace(f'"{part}"', msgspec.json.encode(random_guard(draw, part)).decode(), 1)
    while '"SET"' in text:
        text = text.replace('"SET"', msgspec.json.encode(random_changes(draw)).decode(), 1)
    for effect in ("UNFOLLOW", "FOLLOW", "MUTE"):
        text = text.replace(effect, f"{effect.lower()}{draw.choice(['', '_root'])}")
    return social_behaviour(read_chart(text, "chart.yaml"), social_vocabulary(CONFIG.population.attributes))


def simulation(settings: Settings, behaviour: Behaviour[Any], way: str, schedule: int = 0) -> Simulation:
    config = msgspec.convert({**settings, "run": {**settings["run"], "activation": way}}, Config)
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed), behaviour)
    return Simulation(config, domain, SlowOracle(domain.oracle(), schedule, longest_s=LONGEST))


def outcome(settings: Settings, seed: int, way: str) -> tuple[object, ...]:
    """Return the digest and the totals of a run, with its people on their feeds, in the schedule of the seed."""

    behaviour = random_chart(seed)

    async def done() -> Simulation:
        run = simulation(settings, behaviour, way, seed)
        await run.run()
        assert isinstance(run.agents, Compiled) == (way == "compiled")
        return run

    run = run_scheduled(seed + len(way), done)
    return run.engine.digest.hexdigest(), run.domain.world.totals(), [*run.domain.world.columns()], run.guard_errors()


def test_random_worlds_charts_and_schedules_have_one_digest_in_every_way(size: Size) -> None:
    assert "response" in random_settings(12)["population"], "few random worlds have it"
    seeds = (12, *range(size(60, everyday=2)))
    assert sum(map(people_moved_in_every_way, seeds)) > 3 * len(seeds), "people do something"


def people_moved_in_every_way(seed: int) -> int:
    """Check that a random world is the same in every way, and return the number of states that people were in."""
    settings = random_settings(seed)
    reference = outcome(settings, seed, "resident")
    assert outcome(settings, seed, "compiled") == reference, seed
    return len(reference[1]["behaviour"]["time_by_state"])  # type: ignore[index]


class Run:
    """A run at once, and how many of its ticks ran in how many calls."""

    def __init__(self, *settings: str, one_by_one: bool = False) -> None:
        config = read_settings(["run.activation=compiled", "population.size=120", "simulation.rounds=4", *settings])
        self.simulation = Simulation(config, build_domain(config).domain)
        self.together: list[int] = []
        stretch = self.simulation.engine._stretch_of

        def counted(*given: Any) -> Any:
            found = None if one_by_one else stretch(*given)
            if found is not None:
                self.together.append(found.ticks)
            return found

        self.simulation.engine._stretch_of = counted
        ticks: list[int] = []
        asyncio.run(self.simulation.run(ticks.append, every=config.simulation.ticks_per_round))
        assert ticks == [*range(1, self.simulation.ticks + 1)]

    def outcome(self) -> tuple[Any, ...]:
        engine, counters = self.simulation.engine, self.simulation.counters
        return (
            engine.digest.hexdigest(),
            dict(counters.rows),
            (counters.activations, counters.questions),
            engine.open_questions.asked(),
            (self.simulation.oracle.statistics.answered, self.simulation.oracle.statistics.calls),
            self.simulation.domain.world.totals(),
            [*self.simulation.domain.world.columns()],
        )


SETTINGS = [
    (),
    ("population.deliberation_minutes=0",),
    ("feed.exposure=complex", "oracle.choice.exposure=0.3", "population.relevance.exposure=0.2"),
    ("population.deliberation_minutes=9", "population.ambiguity=0.6", "population.quality_sigma=0.8"),
    ("population.quality_sigma=0.8", "population.posts_by_followers=0.5"),
    ("feed.algorithm=chronological", "simulation.seed=7", "population.activity.mean=0.9"),
    ("simulation.tick_seconds=600", "population.ambiguity=0.9"),
]


def test_ticks_together_come_to_what_they_come_to_one_by_one(size: Size) -> None:
    for settings in SETTINGS[: size(len(SETTINGS), everyday=3)]:
        one_by_one, together = Run(*settings, one_by_one=True), Run(*settings)
        assert together.outcome() == one_by_one.outcome(), settings
        assert max(together.together) > 4
        assert sum(together.together) > together.simulation.ticks // 2


@pytest.mark.parametrize(
    "settings",
    [
        ("run.record_feeds=true",),
        ("run.tick_s=0.001", "simulation.rounds=1"),
        ("oracle.max_calls=5", "oracle.when_spent=fallback"),
        ('interventions=[{round: 1, publish: {author: 3, text: "Hear, hear", topics: [science]}}]',),
    ],
)
def test_a_run_that_must_be_seen_tick_by_tick_is(settings: tuple[str, ...]) -> None:
    run = Run(*settings)
    assert sum(run.together) < run.simulation.ticks // 2
    assert run.outcome()[0] == Run(*settings, one_by_one=True).outcome()[0]
