from __future__ import annotations

import pytest

from prism.config import Config
from prism.config.model import PopulationConfig, StatechartConfig
from prism.social import domain
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from tests.catalogue import catalogue


@catalogue(("size", "asked_for", "depth"), [(20, None, 50), (21, None, 0), (21, 3, 3), (20, 0, 0)])
def test_a_large_population_keeps_no_histories_unless_asked_to(
    size: int, asked_for: int | None, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "HISTORY_MAX_POPULATION", 20)
    config = Config(population=PopulationConfig(size=size), statechart=StatechartConfig(max_history_depth=asked_for))
    person = SocialDomain(config, build_population(config.population, 0)).agent(0)
    assert person.max_history_depth == depth
