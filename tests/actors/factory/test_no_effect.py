"""Settings without an effect in a run are named before it; nothing that is shipped or that people have sent has any."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from actors import RunResult, run
from actors.factory.config_file import read_config
from actors.factory.domains import build_domain, load_chart, no_effect_of
from prism.config import Config
from prism.no_effect import NoEffect
from prism.social.no_effect import long_delays, no_effect_before
from tests.catalogue import catalogue
from tests.paths import FIELD, ROOT

LURKING = Path(__file__).with_name("lurking.yaml")
TOLD = "the delay of 20 ticks ends for few people within a round of 24: round_ends comes first"
ZEAL: dict[str, Any] = {"type": "float", "min": 0, "max": 1}


def made(**settings: Any) -> Config:
    return Config(**settings)


def told(config: Config) -> list[str]:
    """Return what is said of a configuration."""
    return [str(each) for each in no_effect_before(config, load_chart(config).behaviour)]


def lurking(place: Path, ticks: str = "20", ticks_per_round: int = 24) -> Config:
    """People who lurk for so long."""
    chart = place / "lurking.yaml"
    chart.write_text(LURKING.read_text().replace("{ticks: 20, ", f"{{ticks: {ticks}, "))
    return made(
        simulation={"ticks_per_round": ticks_per_round}, population={"size": 50}, statechart={"file": str(chart)}
    )


@catalogue(
    ("ticks", "length", "expected"),
    [("20", 24, TOLD), ("{uniform: [20, 40]}", 24, TOLD.replace("of 20", "of about 30")), ("20", 60, "")],
)
def test_a_delay_is_measured_by_its_round(tmp_path: Path, ticks: str, length: int, expected: str) -> None:
    config = lurking(tmp_path, ticks, length)
    assert [each.message for each in long_delays(config, load_chart(config).behaviour)] == [expected] * bool(expected)


def test_an_attribute_that_nothing_reads_is_named() -> None:
    population: dict[str, Any] = {"size": 50, "attributes": {"zeal": ZEAL}}
    unread = made(population=population)
    assert told(unread) == [
        "population.attributes.zeal: nothing in the run reads it: no condition, no delay, no weight and no model"
    ]
    read_by = [
        made(population=population, oracle={"choice": {"attributes": {"zeal": 0.1}}}),
        made(population=population, oracle={"backend": "ollama"}),
    ]
    assert [told(config) for config in read_by] == [[], []]


def test_a_state_to_which_no_row_leads_is_named_before_a_run(tmp_path: Path) -> None:
    config = lurking(tmp_path, "5")
    chart = Path(str(config.statechart.file))
    lost = "      lost: {transitions: [{trigger: sees_post, target: scrolling}]}\n"
    chart.write_text(chart.read_text().replace("      writing:\n", f"{lost}      writing:\n"))
    expected = "lost: no rows lead here from away, so nobody enters it"
    assert [str(each) for each in no_effect_of(config, build_domain(config).domain)] == [expected]


def test_a_measure_that_nothing_in_a_run_moves_is_named() -> None:
    population: dict[str, Any] = {
        "size": 50,
        "attributes": {"party": {"type": "text", "values": ["left", "right"]}, "zeal": ZEAL},
        "measures": ["ei_index_party", "gini_followers", "variance_zeal", "correlation_zeal_reshares", "gini_reshares"],
    }
    stays = "stays as at the start: no row or intervention changes"
    zeal = f"population.measures.variance_zeal: {stays} zeal of anybody"
    assert told(made(population=population)) == [
        f"population.measures.ei_index_party: {stays} party of anybody or a tie",
        f"population.measures.gini_followers: {stays} a tie",
        zeal,
    ]
    assert told(made(population=population, interventions=[{"tick": 5, "unfollow": [[1, 2]]}]))[:1] == [zeal]


def test_interventions_that_set_what_is_so_already_are_named() -> None:
    interventions = [
        {"tick": 5, "set": {"feed.algorithm": "interest"}},
        {"tick": 6, "set": {"feed.algorithm": "chronological", "feed.size": 5}},
        {"tick": 7, "set": {"feed.algorithm": "chronological"}},
        {"tick": 100, "publish": {"author": 3, "text": "a post"}},
    ]
    already = "changes nothing: what it asks for is so already"
    assert told(made(population={"size": 50}, interventions=interventions)) == [
        f"interventions[0]: set at tick 5 {already}",
        f"interventions[2]: set at tick 7 {already}",
    ]


# What is shipped, and what people have sent

SMALL = ("population.size=100", "oracle.backend=choice", "oracle.tape=off", "run.tick_s=0", "metrics.enabled=false")
GRAPH = "population.graph."
OTHERS = {
    "higgs": "a graph from afar",
    "opinions": "each of its rules reads some of its attributes",
    "bounded-confidence": "its base is opinions",
    "contagion": "whoever reads in vain leaves with the round",
}
CONFIGS = sorted(path for path in (ROOT / "configs").glob("*.yaml") if path.stem not in OTHERS)
EXPERIMENTS = sorted(path for path in (ROOT / "configs" / "experiments").glob("*.yaml") if path.stem not in OTHERS)
SENT = {"graphs": "population.graph.path", "profiles": "population.profiles"}
BY_CHANCE = {"state", "row"}
"""Few people in few rounds need not come into every state."""
REFUSED = {"labels_then_ties.tgf"}
"""Files that are no list of ties: `tests/field/test_catalogue.py` has the line that says so."""
FILES = sorted(path for kind in SENT for path in (FIELD / kind).glob("*") if path.name not in REFUSED)


def named(result: RunResult) -> list[NoEffect]:
    return [each for each in result.summary.no_effect if each.kind not in BY_CHANCE]


@catalogue("path", CONFIGS)
def test_nothing_in_a_shipped_configuration_is_without_effect(path: Path) -> None:
    of_people = () if path.stem == "economy" else ("simulation.rounds=2", "oracle.when_spent=fallback")
    assert named(run(read_config(path, [*SMALL, *of_people]))) == []


@catalogue("path", EXPERIMENTS)
def test_no_condition_of_a_shipped_experiment_has_a_part_without_effect(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    design = document["design"]
    conditions: list[dict[str, Any]] = list(design.get("conditions", {}).values()) or [{}]
    for settings in conditions:
        given = {**document.get("set", {}), **settings}
        given = {key: value for key, value in given.items() if not key.startswith(GRAPH)}  # one of them is from afar
        texts = {key: yaml.safe_dump(value, default_flow_style=True) for key, value in given.items()}
        overrides = [f"{key}={text.strip().removesuffix('...').strip()}" for key, text in texts.items()]
        config = read_config(path.parent / document["base"], [*overrides, "population.size=100"])
        assert no_effect_of(config, build_domain(config).domain) == []


@pytest.mark.skipif(not FILES, reason="needs the files that people have sent")
@catalogue("path", FILES or [FIELD])
def test_nothing_is_without_effect_where_a_file_that_people_have_sent_is_run(path: Path, tmp_path: Path) -> None:
    config = tmp_path / "study.yaml"
    config.write_text(yaml.safe_dump({"simulation": {"rounds": 4}, "population": {"size": 60}}))
    dealt = ["population.join=draw"] if path.parent.name == "profiles" else []
    assert named(run(read_config(config, [f"{SENT[path.parent.name]}={path}", *dealt]))) == []
