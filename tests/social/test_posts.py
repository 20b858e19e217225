"""Posts of a file: how it is read, which of its posts people publish, and what charts and feeds know of them."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.errors import ConfigError, InputError
from prism.events import AttributeSet, Happened, PostEvent, PostTaken, events_in
from prism.rng import Draw, integer
from prism.social.chart import social_behaviour
from prism.social.domain import SocialDomain
from prism.social.people.population import Population, build_population
from prism.social.posts.post_file import GivenPost, parse_posts, post_lines
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Behaviour, read_chart
from tests.catalogue import catalogue
from tests.social.driver import assert_goes_on

POSTS: dict[str, Any] = {
    "file": "headlines.csv",
    "attributes": {
        "leaning": {"type": "float", "min": -1, "max": 1},
        "source": {"type": "text"},
        "is_paid": {"type": "bool", "default": False},
    },
    "offered": 4,
    "choice": "post.topic_match - abs(post.leaning - agent.opinion)",
}
PEOPLE = 40
CHART = """
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
      reading:
        role: browse
        transitions:
          - {trigger: sees_post, target: judging}
      judging:
        role: attend
        transitions:
          - {trigger: ignores, target: reading}
          - {trigger: decides, target: sharing, when: "post.source == 'red' and not post.is_paid"}
          - trigger: decides
            target: reading
            set: {opinion: agent.opinion + 0.5 * (post.leaning - agent.opinion)}
      sharing: {effect: reshare, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      writing: {effect: post, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""


def rows(count: int) -> list[dict[str, Any]]:
    """Return posts as JSON has them."""
    topics, sources = ("food", "sport", "art"), ("red", "blue", "green")
    return [
        {
            "text": f"Headline {place}",
            "topics": [topics[place % 3], topics[place // 3 % 3]],
            "leaning": round(-1 + 2 * place / count, 2),
            "source": sources[place // 2 % 3],
            "is_paid": place % 5 == 0,
        }
        for place in range(count)
    ]


SETTINGS: dict[str, Any] = {
    "simulation": {"rounds": 4, "ticks_per_round": 12, "seed": 5},
    "population": {
        "size": PEOPLE,
        "topics": ["food", "sport", "art"],
        "interests_per_person": 1,
        "posts_per_session": 0.6,
        "activity": {"mean": 0.9},
        "attributes": {"opinion": {"type": "float", "min": -1, "max": 1}},
        "graph": {"degree": 6},
        "posts": POSTS,
    },
    "feed": {"size": 8, "out_of_network": 0.5, "algorithm": "post.leaning * agent.opinion + draw.uniform / 100"},
}


def config_of(**sections: Any) -> Config:
    return msgspec.convert({**SETTINGS, **sections}, Config)


def behaviour(config: Config) -> Behaviour[Any]:
    words = social_vocabulary(config.population.attributes, config.population.posts.attributes)
    return social_behaviour(read_chart(CHART, "chart.yaml"), words)


def people(config: Config) -> Population:
    posts = parse_posts(json.dumps(rows(30)).encode(), "headlines.json", config.population)
    return build_population(config.population, config.simulation.seed, posts=posts)


def simulation(**given: Any) -> Simulation:
    config = config_of(**given)
    return Simulation(config, SocialDomain(config, people(config), behaviour(config)))


# The file


def test_a_table_and_json_give_the_same_posts() -> None:
    table = "text;topics;Place;source;leaning\nOne;food, art;x;red;0.5\n\n Two ;;x;blue;-1\n"
    found = parse_posts(table.encode(), "p.csv", config_of().population)
    entries = [
        {"text": "One", "topics": ["food", "art"], "leaning": 0.5, "source": "red"},
        {"text": "Two", "leaning": -1, "source": "blue"},
    ]
    assert found == parse_posts(json.dumps(entries).encode(), "p.json", config_of().population)
    lines = "\n".join(map(json.dumps, entries))
    assert found == parse_posts(lines.encode(), "p.jsonl", config_of().population)
    assert found[0] == GivenPost("One", ("food", "art"), {"leaning": 0.5, "source": "red", "is_paid": False})


@catalogue(
    ("text", "problem"),
    [
        ("", "p.csv: is empty: expected at least one post"),
        ("text,leaning,source\n", "p.csv: expected 1 to 1,000,000 posts, got 0"),
        ("title,leaning,source\na,0,b\n", "p.csv:1: missing column: text; the file has: title, leaning, source"),
        ("text,leaning\na,0\n", "p.csv:1: missing column: source, for population.posts.attributes.source"),
        ("text,leaning,source\na,0,b\n ,0,b\n", "p.csv:3: text: expected a text that is not blank"),
        ("text,leaning,source\na,0,b\nb,2,b\n", "p.csv:3: leaning: expected float -1 to 1, got '2'"),
        (
            "text,leaning,source\na,,b\n",
            "p.csv:2: leaning: expected float -1 to 1, got nothing; population.posts.attributes.leaning.default",
        ),
        ('text,leaning,source,topics\na,0,b,"[1"\n', "p.csv:2: topics: expected topics as in `taxes; schools`"),
        ('[{"text": "a", "leaning": 0, "source": "b"}, 3]', "p.json: post 2: expected an object, got a number"),
        ('[{"text": 5, "leaning": 0, "source": "b"}]', "p.json: text: post 1: expected a text that is not blank"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_posts(text.encode(), problem.split(":", maxsplit=1)[0], config_of().population)
    assert str(refused.value).startswith(problem)


def test_a_line_says_what_a_file_has_and_another_which_topics_interest_nobody() -> None:
    posts = [GivenPost("a", ("taxes", "sport"), {}), GivenPost("b", ("taxes",), {}), GivenPost("c", (), {})]
    has = "h.csv: 3 posts; topics: taxes 2, sport 1"
    assert post_lines("h.csv", posts, ["sport", "taxes"]) == (has,)
    lacks = "h.csv: nobody is interested in topics that population.topics lacks: sport"
    assert post_lines("h.csv", posts, ["taxes"]) == (has, lacks)
    assert post_lines("h.csv", posts[2:], []) == ("h.csv: 1 post; no topics",)
    many = [GivenPost("d", tuple(f"t{number}" for number in range(11)), {})]
    assert post_lines("h.csv", many, [])[1].endswith("lacks: t0, t1, t2, t3, t4, t5, t6, t7 and 3 more")
    assert post_lines(None, [], []) == ()


# Who publishes what


async def course(**given: Any) -> tuple[Simulation, list[Any]]:
    """Return a run and its events."""
    run, events = simulation(**given), list[Any]()
    take = run.domain.world.take_rows

    def taken() -> Happened:
        found = take()
        events.extend(events_in(run.engine.tick, found))
        return found

    run.domain.world.take_rows = taken  # type: ignore[method-assign]
    await run.run()
    return run, events


async def test_of_the_posts_that_are_drawn_the_one_with_the_best_score_is_published() -> None:
    """By the definition, for people whose opinion has not changed yet."""
    run, events = await course()
    population = people(config_of())
    opinions = [float(persona.attributes["opinion"]) for persona in population.personas]
    begun: Counter[tuple[int, int]] = Counter()
    changed: dict[int, int] = {}
    for event in events:
        if isinstance(event, AttributeSet):
            changed.setdefault(event.agent, event.tick)
    compared = 0
    for event, taken in pairwise(events):
        if not (isinstance(event, PostEvent) and event.kind == "publish"):
            continue
        assert isinstance(taken, PostTaken)
        assert (taken.tick, taken.agent, taken.post) == (event.tick, event.agent, event.post)
        assert event.topics == population.posts[taken.number - 1].topics
        if changed.get(event.agent, event.tick) < event.tick:
            continue
        place = begun[event.agent, event.tick]
        begun[event.agent, event.tick] += 1
        offered = [
            1 + integer(30, 5, event.agent, event.tick, Draw.OFFERED, 1000 * place + index) for index in range(4)
        ]
        interests = {*population.personas[event.agent].interests}

        def score(number: int, agent: int = event.agent, interests: set[str] = interests) -> float:
            post = population.posts[number - 1]
            match = len(interests & {*post.topics}) / len(post.topics)
            return match - abs(float(post.attributes["leaning"]) - opinions[agent])

        assert taken.number == max(offered, key=score)
        compared += 1
    assert compared > 20
    assert run.domain.world.network.counts["reshares"] > 5  # type: ignore[attr-defined]


def test_a_run_goes_on_from_a_checkpoint_as_if_nothing_had_happened() -> None:
    assert_goes_on(simulation, 14)


async def test_a_reshare_says_what_its_root_says_and_a_view_has_the_attributes() -> None:
    run, events = await course()
    network: Any = run.domain.world.network  # type: ignore[attr-defined]
    numbers = {event.post: event.number for event in events if isinstance(event, PostTaken)}
    seen = 0
    for post in network.living:
        if post.root in numbers:
            assert post.given == numbers[post.root]
            assert network.text(post) == f"Headline {post.given - 1}"
            seen += post.kind == "reshare"
    assert seen > 5


async def test_an_intervention_publishes_a_post_of_the_file() -> None:
    _, events = await course(interventions=[{"tick": 5, "publish": {"author": 3, "post": 30}}])
    taken = [each for each in events if isinstance(each, PostTaken) and (each.tick, each.number) == (5, 30)]
    assert 3 in {each.agent for each in taken}
    with pytest.raises(ConfigError, match=r"interventions\[0\]\.publish\.post: expected the number of one of 30 posts"):
        simulation(interventions=[{"tick": 5, "publish": {"author": 3, "post": 31}}])


async def test_a_post_that_is_not_from_the_file_has_no_values_in_every_way() -> None:
    digests = set()
    for way in ("resident", "compiled"):
        said = {"text": "News.", "topics": ["food"], "quality": 0.9}
        publishes = [{"tick": 2, "publish": {"author": author, **said}} for author in range(PEOPLE)]
        run = simulation(run={"activation": way}, interventions=publishes)
        await run.run()
        assert not any(run.guard_errors().values())
        digests.add(run.engine.digest.hexdigest())
    assert len(digests) == 1
