"""The settings below `domain`: any where their type is not known, and checked like all others where it is."""

from typing import Annotated

import pytest
from msgspec import Meta

from prism.config import Config, Section, load_config
from prism.config.load import load_placed_config
from prism.errors import ConfigError
from tests.catalogue import catalogue

OWN = "simulation: {domain: 'study:build'}\n"


class Timing(Section):
    red: Annotated[int, "seconds", Meta(ge=1)] = 3


class Lights(Section):
    lights: Annotated[int, Meta(ge=1)] = 4
    names: tuple[str, ...] = ("a",)
    timing: Timing = Timing()


def loaded(text: str, *overrides: str, **environment: str) -> object:
    placed = load_placed_config(OWN + text, "c.yaml", environment=environment, overrides=overrides, own=Lights)
    return placed.config.domain


def refusal(text: str, *overrides: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(text, *overrides, **environment)
    return str(caught.value)


def test_settings_of_unknown_type_are_taken_as_they_are_and_changed_one_by_one() -> None:
    text = f"{OWN}domain:\n  lights: 3\n  timing: {{red: 2, amber: 1}}\n"
    config = load_config(text, overrides=["domain.timing.red=5", "domain.more=[1]"])
    assert config.domain == {"lights": 3, "timing": {"red": 5, "amber": 1}, "more": [1]}
    assert load_config(f"{OWN}domain:\n").domain == {}
    assert load_config(OWN, environment={"PRISM_DOMAIN__LIGHTS": "3"}).domain == {"lights": 3}


@catalogue(
    ("text", "overrides", "line"),
    [
        ("domain:\n  ligths: 3\n", (), "c.yaml:3: domain.ligths: unknown key; did you mean lights?"),
        ("domain:\n  lights: 0\n", (), "c.yaml:3: domain.lights: expected int >= 1, got 0"),
        ("domain:\n  names: [a, 3]\n", (), "c.yaml:3: domain.names[1]: expected text, got 3"),
        ("domain:\n  timing:\n    red: no\n", (), "c.yaml:4: domain.timing.red: expected int >= 1, got 'no'"),
        ("", ("domain.timing.rde=3",), "--set: domain.timing.rde: unknown key; did you mean red?"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, overrides: tuple[str, ...], line: str) -> None:
    assert refusal(text, *overrides) == line


def test_what_cannot_be_settings_of_a_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--set: domain: expected mapping of text to any value, got 3$"):
        load_config(OWN, overrides=["domain=3"])
    with pytest.raises(ConfigError, match=r"^c\.yaml:2: domain\.lights: the social domain has no settings below the"):
        load_config("domain:\n  lights: 3\n", "c.yaml")


def test_a_record_of_the_domain_s_own_is_taken_as_plain_values() -> None:
    config = Config(simulation={"domain": "study:build"}, domain=Lights(lights=9))  # type: ignore[arg-type]
    assert config.domain == {"lights": 9, "names": ("a",), "timing": {"red": 3}}
