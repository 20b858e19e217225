"""The cost of a tie and of an attribute that people change, beside that of a like.

The same people see posts by the same chart, and every second time they look at one they do one thing: nothing, like it,
change whether they follow its author, or move an opinion towards the author's. What such a run takes more than the one
in which nothing is done, over the times that it was done, is the cost of one: effect, events, journal bytes and digest,
without a file. Feeds are random, so nothing else changes. All times are of the processor.

    python -m benchmarks.changes [--people 20000] [--rounds 4] [--repeats 5]
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Mapping
from statistics import median
from time import process_time
from typing import Any

import anyio
import msgspec

from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.social.chart import social_behaviour
from prism.social.domain import SocialDomain
from prism.social.people.population import Population, build_population
from prism.social.vocabulary import social_vocabulary
from prism.statechart import read_chart

TICKS = 24
CHART = """
initial: away
states:
  away:
    role: offline
    transitions: [{{trigger: feed_ready, target: reading}}, {{trigger: wants_to_post, target: writing}}]
  online:
    initial: reading
    transitions: [{{trigger: round_ends, target: away}}]
    states:
      reading: {{role: browse, transitions: [{{trigger: sees_post, target: judging}}]}}
      judging:
        role: attend
        transitions:
          - {{trigger: ignores, target: reading}}
          - {{trigger: decides, target: reading, when: draw.uniform < 0.5}}
{rows}
      writing: {{effect: post, after: {{ticks: 1, trigger: done}}, transitions: [{{trigger: done, target: reading}}]}}
"""
_ROW = "          - {trigger: decides, target: %s%s}\n"
_RESTS = "      %s: {after: {ticks: 1, trigger: on}, transitions: [{trigger: on, target: reading}]}\n"
WAYS: Mapping[str, str] = {
    "nothing": _ROW % ("one", ", when: post.followed") + _ROW % ("other", ""),
    "like": _ROW % ("one", ", when: post.followed, effect: like") + _ROW % ("other", ", effect: like"),
    "tie": _ROW % ("one", ", when: post.followed, effect: unfollow") + _ROW % ("other", ", effect: follow"),
    "attribute": _ROW % ("one", ", when: post.followed, set: SET") + _ROW % ("other", ", set: SET"),
}
"""`{what is done: the rows of the chart that do it}`."""


def chart_of(way: str) -> str:
    """Return the chart in which people do one thing."""
    rows = WAYS[way].replace("SET", "{opinion: agent.opinion + 0.1 * (author.opinion - agent.opinion)}")
    return CHART.format(rows=rows + "".join(_RESTS % name for name in ("one", "other")))


def config_of(people: int, rounds: int) -> Config:
    """Return the configuration, in which everybody reads all the time."""
    settings: dict[str, Any] = {
        "simulation": {"rounds": rounds, "ticks_per_round": TICKS, "seed": 3},
        "population": {
            "size": people,
            "posts_per_session": 0.5,
            "activity": {"mean": 1, "sigma": 0, "arrival": 0},
            "attributes": {"opinion": {"type": "float", "min": -1, "max": 1}},
        },
        "feed": {"size": 12, "out_of_network": 0.5, "fill": "borrow", "algorithm": "random", "attention": 1},
        "run": {"activation": "compiled"},
    }
    return msgspec.convert(settings, Config)


def measured(config: Config, people: Population, way: str) -> tuple[float, int]:
    """Return the seconds of a run, and how often its thing was done."""
    words = social_vocabulary(config.population.attributes)
    domain = SocialDomain(config, people, social_behaviour(read_chart(chart_of(way), "chart.yaml"), words))
    simulation = Simulation(config, domain)
    domain.prepare(10**9)  # machine code
    gc.collect()
    start = process_time()
    anyio.run(simulation.run)
    seconds = process_time() - start
    network = domain.world.network
    done = {"like": network.counts["likes"], "attribute": domain.world.changing.count}
    done["tie"] = network.tie_counts["follows"] + network.tie_counts["unfollows"]
    return seconds, done.get(way, 0)


def main() -> None:
    """Measure all in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    config = config_of(given.people, given.rounds)
    people = build_population(config.population, config.simulation.seed)
    for way in WAYS:
        measured(config, people, way)  # compiles
    costs: dict[str, list[float]] = {way: [] for way in WAYS if way != "nothing"}
    runs: dict[str, float] = {}
    counts: dict[str, int] = {}
    for _ in range(given.repeats):
        nothing, _ = measured(config, people, "nothing")
        runs["nothing"] = nothing
        for way, found in costs.items():
            runs[way], counts[way] = measured(config, people, way)
            found.append(1e6 * (runs[way] - nothing) / counts[way])
    like = median(costs["like"])
    print(f"{given.people:,} people, {given.rounds} rounds, {given.repeats} times; nothing: {runs['nothing']:.2f} s")
    for way, found in costs.items():
        middle, spread = median(found), f"{min(found):.2f} to {max(found):.2f}"
        print(f"{way:10} {counts[way]:>10,} times, {middle:6.2f} us ({spread}), {middle / like:.2f} of a like")


if __name__ == "__main__":
    main()
