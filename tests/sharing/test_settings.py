"""The calls that a judgement takes, by what a configuration says of its server."""

from __future__ import annotations

from prism.config import load_config
from prism.sharing.settings import calls_a_judgement
from tests.catalogue import catalogue


@catalogue(
    ("settings", "calls"),
    [
        ({}, 1),
        ({"oracle.backend": "ollama"}, 5),
        ({"oracle.backend": "ollama", "llm.method": "json"}, 5),
        ({"oracle.backend": "ollama", "llm.method": "probabilities"}, 1),
        ({"oracle.backend": "ollama", "llm.temperature": 0.0}, 1),
    ],
)
def test_a_judgement_takes_as_many_calls_as_its_server_may_need(settings: dict[str, object], calls: int) -> None:
    config = load_config(overrides={"oracle.sharing.samples": 5, "llm.temperature": 0.7, **settings})
    assert calls_a_judgement(config) == calls
