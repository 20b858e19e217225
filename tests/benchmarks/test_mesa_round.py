"""The model of Mesa that is measured beside PRISM does the same round: the same settings, and as much of everything."""

from __future__ import annotations

from collections import Counter
from statistics import mean
from typing import Any

import pytest

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from prism.social.chart import SOCIAL_CHART

pytest.importorskip("mesa", reason="Mesa is installed only where PRISM is measured beside it: make bench-peers")

from benchmarks.peers import mesa_round

PEOPLE, ROUNDS, SEEDS = 1000, 10, range(6)
TOLERANCE = 0.08
"""The most by which the mean of a count over seeds may differ. The standard error of the difference is 2 to 4.5
percent, most of it because each seed has other people with other activities: a difference of 5 percent is luck, one of
15 percent is another model."""
SHARE_TOLERANCE = 0.002
"""The same for the share of people in a state when a round has ended."""


def mesa_counts(seed: int) -> Counter[str]:
    """Return the counts of a run of the model, with the people in each state after each round."""
    model, found = mesa_round.Round(PEOPLE, seed), Counter[str]()
    for _ in range(ROUNDS):
        model.run_rounds(1)
        found += model.states()
    return found + Counter(
        activations=model.activations,
        seen=model.seen,
        questions=model.questions,
        posts=len(model.cascades),
        likes=model.likes,
        reshares=model.reshares,
        replies=model.replies,
        branched=sum(cascade.size > 1 for cascade in model.cascades),
        large=sum(cascade.size >= 10 for cascade in model.cascades),
    )


async def prism_counts(seed: int) -> Counter[str]:
    """Return the same counts of a run of PRISM."""
    settings = [f"population.size={PEOPLE}", f"simulation.rounds={ROUNDS}", f"simulation.seed={seed}"]
    config = read_settings([*settings, "run.activation=compiled"])
    domain: Any = build_domain(config).domain
    simulation, found = Simulation(config, domain), Counter[str]()

    def count_states(ticks: int) -> None:
        if ticks % config.simulation.ticks_per_round == 0:
            found.update(domain.world.state(agent).value for agent in range(domain.size))

    await simulation.run(count_states)
    counters, totals = simulation.counters, domain.world.totals()
    sizes = {int(size): count for size, count in totals["cascade_sizes"].items()}
    return found + Counter(
        activations=counters.activations,
        seen=sum(count for (_, _, trigger, _), count in counters.rows.items() if trigger == "sees_post"),
        questions=counters.questions,
        **{name: totals[name] for name in ("posts", "likes", "reshares", "replies")},
        branched=totals["cascades_branched"],
        large=sum(count for size, count in sizes.items() if size >= 10),
    )


async def test_the_model_of_mesa_does_as_much_as_prism_does() -> None:
    theirs, ours = [mesa_counts(seed) for seed in SEEDS], [await prism_counts(seed) for seed in SEEDS]
    means = {name: (mean(each[name] for each in theirs), mean(each[name] for each in ours)) for name in ours[0]}
    for name in ("activations", "seen", "questions", "posts", "likes", "reshares", "replies", "branched"):
        assert means[name][0] == pytest.approx(means[name][1], rel=TOLERANCE), name
    assert means["large"][0] == pytest.approx(means["large"][1], rel=3 * TOLERANCE)  # there are few of them
    for state in SOCIAL_CHART.states:
        found, expected = (mean(each[state.value] for each in counts) / PEOPLE / ROUNDS for counts in (theirs, ours))
        assert found == pytest.approx(expected, abs=SHARE_TOLERANCE), state
