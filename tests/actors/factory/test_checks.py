"""Settings of a graph are refused exactly where no graph can be made of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.factory.domains import build_domain
from prism.config import Config, GraphConfig, PopulationConfig
from prism.config.checks import find_misfit
from prism.errors import ConfigError, SettingError
from prism.social.ties.graph import generate

GRAPHS = st.builds(
    GraphConfig,
    kind=st.sampled_from(("barabasi_albert", "power_law", "stochastic_block", "watts_strogatz")),
    degree=st.integers(1, 14),
    blocks=st.integers(1, 14),
    mixing=st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0)),
)


@given(size=st.integers(1, 14), graph=GRAPHS)
def test_settings_are_refused_of_which_no_graph_can_be_made_and_no_others(size: int, graph: GraphConfig) -> None:
    population = PopulationConfig(size=size, graph=graph)
    misfit = find_misfit(graph, size)
    if misfit is None:
        built = build_domain(Config(population=population))
        assert (built.domain.size, built.inputs) == (size, {})
        return
    with pytest.raises(SettingError, match=re.escape(misfit.problem)):
        Config(population=population)
    with pytest.raises(ConfigError, match=re.escape(misfit.problem)):
        generate(graph, size, 1)
