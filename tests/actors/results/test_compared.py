"""The names of runs in sentences that compare them."""

from actors.results.beside import side_in_words
from tests.catalogue import catalogue


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
