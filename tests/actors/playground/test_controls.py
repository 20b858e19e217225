"""The settings that the page of `prism play` may change, and the decode that their values pass."""

import random
from pathlib import Path, PurePath
from typing import Any

import msgspec
import pytest
import yaml

from actors.factory.config_file import read_config
from actors.factory.input_files import place_of
from actors.playground.controls import AGENTS_MAX, Controls, differences
from prism.config import load_config
from prism.errors import ConfigError
from tests.catalogue import catalogue
from tests.paths import ROOT

INIT = [
    *("simulation.seed", "simulation.rounds", "population.size", "population.ambiguity"),
    *("population.posts_per_session", "population.activity.mean", "population.graph.kind"),
    *("population.graph.degree", "feed.algorithm", "feed.size", "feed.out_of_network"),
]


@pytest.fixture(scope="module")
def controls(tmp_path_factory: pytest.TempPathFactory) -> Controls:
    return Controls(read_config(ROOT / "configs/default.yaml"), tmp_path_factory.mktemp("place"))


def test_the_settings_that_init_writes_come_first_with_bounds_and_meaning(controls: Controls) -> None:
    first = [each for each in controls.all.values() if each.is_first]
    assert [each.path for each in first] == INIT
    for each in first:
        assert each.meaning
        if each.kind in {"number", "whole"}:
            assert each.low <= each.value <= each.high
            assert 0 < each.step < each.high - each.low


def test_an_economy_has_its_own_and_a_user_the_numbers_of_attributes(tmp_path: Path) -> None:
    economy = Controls(read_config(ROOT / "configs/economy.yaml"), tmp_path).all
    assert {path.split(".")[0] for path in economy} == {"simulation", "economy"}
    people = Controls(read_config(ROOT / "configs/opinions.yaml"), tmp_path)
    bound = people.all["population.attributes.bound.default"]
    assert bound.is_first
    changed = people.configured({bound.path: 0.4})
    assert changed.population.attributes["bound"].default == 0.4
    assert changed.population.attributes["opinion"] == people.base.population.attributes["opinion"]
    assert [*differences(people.base, changed)] == ["population.attributes"]


def test_nothing_that_names_a_file_or_code_or_a_server_can_be_changed(controls: Controls) -> None:
    texts = [path for path, each in controls.all.items() if isinstance(each.value, str) and each.kind != "choice"]
    assert texts == []
    places = {path.partition(".")[0] for path in controls.all if not path.startswith("oracle.choice.")}
    assert places == {"simulation", "population", "feed", "statechart", "chart"}


@catalogue(
    ("changes", "problem"),
    [
        ({"population.profiles": "/etc/passwd"}, "is no setting that the page may change"),
        ({"simulation.domain": "os:system"}, "is no setting that the page may change"),
        ({"oracle.backend": "openai"}, "is no setting that the page may change"),
        ({"feed.algorithm": "post.created * 2"}, "expected one of: chronological, hot"),
        ({"population.size": "2000; ls"}, "population.size: expected int 1 to 10000000, got '2000; ls'"),
        ({"population.size": -1}, "population.size: expected int 1 to 10000000, got -1"),
        ({"population.size": AGENTS_MAX + 1}, "expected at most 200,000 people on this page"),
        ({"simulation.rounds": 10**5}, "expected at most 50,000,000 people times ticks"),
        ({"feed.out_of_network": 1.5}, "feed.out_of_network: expected float 0 to 1, got 1.5"),
        ({"feed.size": None}, "feed.size: expected int 1 to 1000, got null"),
        ({"population.size": 10, "population.graph.degree": 10}, "expected graph.degree < the number of people"),
        ({"interventions": [{"tick": 1, "silence": [-1]}]}, "interventions"),
        ({"interventions": [{"tick": 1, "set": {"population.profiles": "x"}}]}, "interventions"),
        ({"interventions": [{"tick": 1, "publish": {"author": 0}}]}, "expected either text or post"),
        ({"interventions": [{"tick": 10**9, "silence": [1]}]}, "interventions"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(
    controls: Controls, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        controls.configured(changes)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_200_random_settings_are_held_or_refused_as_a_file_s_are(controls: Controls) -> None:
    draw = random.Random(7)  # hostile values, which nobody has to guess
    values: list[Any] = [0, 1, -1, 0.5, 1e308, 10**30, 2**63, float("nan"), True, None, "", "x", [], {}, [1]]
    held, changed = 0, 0
    for _ in range(200):
        path, value = draw.choice([*controls.all]), draw.choice(values)
        try:
            config = controls.configured({path: value})
        except ConfigError:
            continue
        held += 1
        assert load_config(yaml.safe_dump(msgspec.to_builtins(config))) == config
        changed += config != controls.base
    assert 10 < changed <= held < 150


CHART = """\
initial: idle
states:
  idle:
    role: offline
    transitions: [{trigger: feed_ready, target: browsing}]
  browsing:
    role: browse
    after: {ticks: {uniform: [1, 4]}, trigger: bored}
    transitions:
      - {trigger: sees_post, target: browsing, when: 'post.relevance * 0.5 >= 0.25 or agent.pending_action == "like"'}
      - {trigger: bored, target: idle}
      - {trigger: round_ends, target: idle}
"""


def test_the_numbers_of_a_chart_are_settings_and_what_is_changed_is_a_chart_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CHART)
    base = load_config(overrides={"statechart.file": str(tmp_path / "mine.yaml")})
    controls = Controls(base, tmp_path / "place")
    of_chart = [each for each in controls.all.values() if each.path.startswith("chart.")]
    assert [(each.label, each.value) for each in of_chart] == [
        ("browsing: after ticks uniform", 1),
        ("browsing: after ticks uniform", 4),
        ("browsing → browsing: when", 0.5),
        ("browsing → browsing: when", 0.25),
    ]
    assert all(each.is_first for each in of_chart)
    assert of_chart[2].meaning.startswith("line 10 of the chart: post.relevance * 0.5 >= 0.25")
    config = controls.configured({"chart.1": 12, "chart.2": 0.75})
    name = config.statechart.file or ""
    changed = CHART.replace("[1, 4]", "[1, 12]").replace("* 0.5", "* 0.75")
    assert place_of(name).read_text() == changed
    assert PurePath(name).name == "mine.yaml"
    assert differences(base, config) == {"statechart.file": name}


def test_a_silence_and_a_post_are_entries_of_the_settings_beside_those_of_the_file(tmp_path: Path) -> None:
    controls = Controls(load_config(overrides={"interventions": [{"tick": 5, "silence": [1]}]}), tmp_path)
    added = [{"tick": 7, "silence": [2]}, {"tick": 9, "publish": {"author": 3, "text": "/etc/passwd"}}]
    config = controls.configured({"interventions": added})
    assert [each.tick for each in config.interventions] == [5, 7, 9]
    assert [*differences(controls.base, config)] == ["interventions"]
    assert load_config(overrides=differences(controls.base, config)) == config
