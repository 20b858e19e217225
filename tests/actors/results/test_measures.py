"""Measures of real runs, held against their posts one by one, and the names of runs in sentences."""

from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean, stdev

import pytest

from actors import RunDirectoryError, RunResult, query, read_result, run
from actors.results.measures import by_problem, cascades_problem, side_in_words
from tests.actors.store.independent_reader import read_posts
from tests.catalogue import catalogue


@pytest.fixture(scope="module")
def result(embedded: Path) -> RunResult:
    return read_result(embedded)


@pytest.fixture(scope="module")
def cascades(result: RunResult) -> list[list[int]]:
    """Return the depth of each post of each cascade."""
    assert result.path is not None
    found = defaultdict[int, list[int]](list)
    for _, _, _, root, depth in read_posts(result.path)[0].values():
        found[root].append(depth)
    return list(found.values())


def test_the_shapes_of_cascades_are_those_of_the_posts(result: RunResult, cascades: list[list[int]]) -> None:
    sizes = [len(each) for each in cascades]
    assert max(sizes) > 2, "a run without cascades tells nothing"
    assert result.measure("cascades.size.mean") == pytest.approx(mean(sizes))
    assert result.measure("cascades.size.median") == sorted(sizes)[(len(sizes) - 1) // 2]
    assert result.measure("cascades.size.max") == max(sizes) == result.measure("largest_cascade")
    assert result.measure("cascades.alone") == pytest.approx(sizes.count(1) / len(sizes))
    assert result.measure("cascades.at_least.3") == pytest.approx(sum(size >= 3 for size in sizes) / len(sizes))
    assert result.measure("cascades.depth.mean") == pytest.approx(mean(map(max, cascades)))
    assert result.measure("cascades.breadth.max") == max(max(Counter(each).values()) for each in cascades)
    assert 1.0 <= result.measure("cascades.virality.median") < 4.0


def test_the_rounds_have_the_shapes_of_cascades_and_statistics_over_them(result: RunResult) -> None:
    for column, place in (
        ("cascade_size_mean", "cascades.size.mean"),
        ("cascade_size_median", "cascades.size.median"),
        ("cascades_alone", "cascades.alone"),
        ("cascades_at_least_10", "cascades.at_least.10"),
    ):
        assert result.rounds[column][-1] == pytest.approx(result.measure(place), abs=1e-6)
    likes = result.rounds["likes"]
    assert result.measure("rounds.likes") == likes[-1]
    assert result.measure("rounds.mean.likes") == pytest.approx(mean(likes))
    assert result.measure("rounds.sd.likes") == pytest.approx(stdev(likes))
    assert result.measure("rounds.q25.likes") == sorted(likes)[0]
    assert result.measure("rounds.median.likes") == sorted(likes)[1]
    assert result.measure("rounds.growth.likes") == pytest.approx(likes[-1] / len(likes))


def test_totals_by_attribute_add_up_to_those_of_the_run(result: RunResult) -> None:
    parties = result.by("party")
    assert set(parties) == {"left", "right"}
    assert sum(each["people"] for each in parties.values()) == 60
    for name in ("posts", "replies", "reshares", "likes"):
        assert sum(each[name] for each in parties.values()) == result.summary.world[name]
    left = parties["left"]
    assert result.measure("by.party.left.likes") == left["likes"] > 0
    assert result.measure("by.party.left.likes_per_person") == left["likes"] / left["people"]
    assert result.path is not None
    found = query("FROM engagement_by_group WHERE attribute = 'party'", result.path, into="pandas")
    assert [row[2:] for row in found.itertuples(index=False)] == [
        (value, *(totals[name] for name in ("people", "posts", "replies", "reshares", "likes")))
        for value, totals in parties.items()
    ]
    assert result.measure("by.level.true.people") == 60
    assert result.measure("by.level.false.people") == 0


def test_a_place_that_does_not_exist_is_named_with_what_was_meant(result: RunResult) -> None:
    for place, said in (
        ("cascades.size.average", "expected mean, median, sd, min, max, or q01 to q99 after cascades.size., got"),
        ("cascades.at_least.none", "expected posts from 1 on after cascades.at_least., got 'none'"),
        ("cascades.widths", "no measure 'cascades.widths'"),
        ("by.partei.left.likes", "no attribute 'partei': did you mean party?"),
        ("rounds.sd.like", "no column 'like' in rounds.csv: did you mean likes?"),
    ):
        with pytest.raises(RunDirectoryError) as refused:
            result.measure(place)
        assert said in str(refused.value)


def test_the_same_places_are_refused_before_a_run(result: RunResult) -> None:
    attributes = result.config.population.attributes
    assert cascades_problem("cascades.virality.q90") == cascades_problem("cascades.alone") == ""
    assert by_problem("by.party.middle.likes", attributes).startswith("no value 'middle' of party")
    assert by_problem("by.party.left.shares", attributes).startswith("no total 'shares'")
    assert by_problem("by.party.left", attributes).startswith("expected by.ATTRIBUTE.VALUE.TOTAL")
    assert by_problem("by.x.y.likes", {}) == "no attribute 'x': population.attributes declares none"


def test_a_run_in_memory_has_the_sizes_and_says_what_it_lacks(result: RunResult) -> None:
    result = run(result.config, ticks=12)
    assert result.measure("cascades.size.mean") >= 1.0
    with pytest.raises(RunDirectoryError, match="worked out of the journal, which a run in memory does not keep: name"):
        result.measure("cascades.depth.mean")


@catalogue(
    ("settings", "said"),
    [
        ({"feed.algorithm": "hot"}, "with a hot feed"),
        ({"population.size": "200"}, "with population size 200"),
        ({"economy.taylor.inflation_weight": "0.1"}, "with inflation weight 0.1"),
        ({"interventions": '[{"tick":2,"shock":{"inflation":1.0}}]'}, "in shocked"),
        ({"interventions": ""}, "in shocked"),
        ({}, "in shocked"),
    ],
)
def test_a_run_is_called_by_its_settings_only_where_they_are_words(settings: dict[str, str], said: str) -> None:
    assert side_in_words("shocked", settings) == said
