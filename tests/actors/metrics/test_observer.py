"""Which metrics are shown of a run: these, from the start, whoever is simulated and however many."""

from __future__ import annotations

import re
from functools import partial

import msgspec
import pytest

from actors.factory.domains import build_domain
from actors.runs.summary import summarise
from actors.runtime.sharded_engine import ShardedEngine
from deploy.scrape import Scrape
from prism.config import Config, SimulationConfig
from prism.llm import OracleStatistics
from prism.llm.spending import CallCounters
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from tests.actors.metrics.support import Watched, finished, series
from tests.actors.oracles import ScriptedOracle
from tests.actors.shards_here import ShardsHere
from tests.actors.social_runs import SMALL, with_sharing
from tests.paths import ROOT

DOCUMENTED: dict[str, str] = dict(
    re.findall(
        r"^\| `(prism_(?!experiment_)\w+)(?:\{([\w,]+)\})?` \|",
        (ROOT / "docs" / "operations.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
)
"""`{metric: its labels}`, as the table of docs/operations.md has them."""
OF_MODELS = {"prism_llm_answers_total": "model"}
"""The metrics of a run in which people have different models."""
OF_CHANGES = {"prism_tie_changes_total": "kind", "prism_attribute_changes_total": ""}
"""The metrics of a run whose chart changes people."""
OF_SHARDS = {
    "prism_shard_busy_seconds_total": "shard",
    "prism_shard_bytes_total": "direction",
    "prism_shard_wait_seconds_total": "",
}
"""The metrics of a run in shards."""
OF_CAPS = {"prism_llm_budget": "cap", "prism_llm_budget_used": "cap"}
"""The metrics of a run with a spend cap."""
MEASURES = {
    measure.name: ",".join(measure.labels)
    for measure in build_domain(Config(simulation=SimulationConfig(domain="economy"))).domain.world.measures()
}
"""The measures of an economy."""
OTHERS = OF_MODELS | OF_CHANGES | OF_CAPS | OF_SHARDS | MEASURES
EXPECTED = {name: labels for name, labels in DOCUMENTED.items() if name not in OTHERS}
"""The metrics of a run of people with the embedded oracle."""


def families(scrape: Scrape) -> dict[str, set[str]]:
    """`{metric: its labels}`, a histogram's series being one metric."""
    found: dict[str, set[str]] = {}
    for name, labels in series(scrape):
        base = re.sub(r"_(bucket|count|sum)$", "", name) if name.endswith(("_bucket", "_count", "_sum")) else name
        found.setdefault(base, set()).update(label for label, _ in labels if label != "le")
    return found


def test_a_run_shows_exactly_these_metrics_with_these_labels() -> None:
    expected = {name: {label for label in labels.split(",") if label} for name, labels in EXPECTED.items()}
    assert families(Watched().scrape()) == expected


def test_models_of_different_people_have_a_series_each() -> None:
    class Several(ScriptedOracle):
        def statistics(self) -> OracleStatistics:
            return CallCounters().statistics()

        def answers_by_model(self) -> dict[str, int]:
            return {"llama3.2": 3, "mistral": 0}

    shown = Watched(oracle=Several()).scrape()
    assert families(shown).keys() == EXPECTED.keys() | OF_MODELS.keys()
    assert [shown.value("prism_llm_answers_total", model=model) for model in ("llama3.2", "mistral")] == [3, 0]


def test_the_metrics_of_other_runs_are_documented_too() -> None:
    assert {name: labels for name, labels in DOCUMENTED.items() if name in OTHERS} == OTHERS


def test_a_run_in_shards_shows_how_much_each_works_and_what_is_exchanged() -> None:
    config = msgspec.structs.replace(SMALL, run=msgspec.structs.replace(SMALL.run, shards=2))
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
    shards = ShardsHere(config, domain)
    watched = Watched(config, domain, engine=partial(ShardedEngine, shards=shards, domain=domain))
    begun = watched.scrape()
    assert families(begun).keys() == EXPECTED.keys() | OF_SHARDS.keys()
    assert begun.value("prism_shard_busy_seconds_total", shard="1") == 0.0
    shown = finished(watched)
    whole = finished(Watched(SMALL))
    for name in ("prism_ticks_total", "prism_posts_total", "prism_decisions_total", "prism_agents"):
        found = {key: value for key, value in shown.samples.items() if key[0] == name}
        assert found == {key: value for key, value in whole.samples.items() if key[0] == name}
    assert shown.value("prism_shard_bytes_total", direction="from_shards") > 1_000
    assert shown.value("prism_shard_bytes_total", direction="to_shards") > 1_000


def test_what_is_shared_is_counted_by_part_and_its_error_is_that_of_the_audits() -> None:
    watched = Watched(with_sharing(SMALL, by="archetype", archetype={"followed": "exact"}, audit=0.4))
    shown = finished(watched)
    sharing = summarise(watched.simulation, 0.0).sharing
    assert sharing is not None
    assert sharing.divergence is not None
    parts = {"owner": sharing.asked_for_all, "shared": sharing.shared, "audited": sharing.audited}
    for part, count in parts.items():
        assert shown.value("prism_oracle_shared_questions_total", part=part) == count
    assert shown.value("prism_oracle_sharing_divergence") == pytest.approx(sharing.divergence.mean, abs=1e-6)
    assert sharing.audited > 5
