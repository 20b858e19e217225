"""Nothing is said to have no effect where all that is shipped, and all that people have sent, is run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from actors import RunResult, run
from actors.factory.config_file import read_config
from actors.factory.domains import build_domain, no_effect_of
from prism.no_effect import NoEffect
from tests.catalogue import catalogue
from tests.paths import FIELD, ROOT

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
"""Files that are no list of ties: `test_catalogue.py` has the line that says so."""
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
