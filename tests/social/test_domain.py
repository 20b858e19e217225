import msgspec
import pytest

from prism.config import Config
from prism.config.model import PopulationConfig, StatechartConfig
from prism.social import domain
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import AgentState, Statechart
from tests.catalogue import catalogue


@catalogue(
    ("size", "has_function", "asked_for", "depth"),
    [(20, True, None, 50), (20, False, None, 0), (21, True, None, 0), (21, False, 3, 3), (20, True, 0, 0)],
)
def test_histories_are_kept_if_a_function_can_read_them_or_if_asked_for(
    size: int, has_function: bool, asked_for: int | None, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "HISTORY_MAX_POPULATION", 20)
    config = Config(population=PopulationConfig(size=size), statechart=StatechartConfig(max_history_depth=asked_for))
    rows = list(SOCIAL_BEHAVIOUR.chart.transitions)
    if has_function:
        rows[0] = msgspec.structs.replace(rows[0], action=lambda *_: None)
    chart = Statechart(AgentState, rows, AgentState.IDLE)
    person = SocialDomain(config, build_population(config.population, 0), chart).agent(0)
    assert person.max_history_depth == depth
