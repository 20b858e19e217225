"""The settings as data: the documented table, and the schema for editors, which shipped files fit."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import msgspec
import pytest
from jsonschema import Draft7Validator

from actors.factory.shipped import examples
from prism.config import Config, Setting, load_config, settings
from prism.config.yaml_text import read_document, without_lines
from tests.catalogue import catalogue
from tests.config.refresh_docs import DOCUMENT, SCHEMA, schema_text, with_table


def errors_in(text: str) -> list[str]:
    """Return the places in a text that an editor with the schema underlines."""
    values: Any = {name: without_lines(entry.value) for name, entry in read_document(text, "c.yaml").items()}
    plain = json.loads(json.dumps(values, default=datetime.isoformat))
    validator = Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return [".".join(map(str, error.absolute_path)) for error in validator.iter_errors(plain)]


def test_the_schema_is_that_of_the_model() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), "run `python -m tests.config.refresh_docs`"


@catalogue("example", examples().values())
def test_shipped_files_and_empty_sections_fit_it(example: Any) -> None:
    assert errors_in(example.text()) == []
    assert errors_in("population:\nfeed: {size: 3}\n") == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("population: {sise: 3}", "population"),
        ("feed: {size: 0}", "feed.size"),
        ("population: {graph: {kind: power-law}}", "population.graph"),
        ("population: {attributes: {age: {type: integer}}}", "population.attributes.age.type"),
        ("interventions: [{round: 0, silence: [1]}]", "interventions.0.round"),
    ],
)
def test_a_mistake_is_underlined(text: str, place: str) -> None:
    (found,) = errors_in(text)
    assert place.startswith(found)


def test_the_settings_are_all_that_the_model_holds() -> None:
    def paths(section: msgspec.Struct, prefix: str) -> set[str]:
        found = set()
        for name in section.__struct_fields__:
            value = getattr(section, name)
            found |= paths(value, f"{prefix}{name}.") if isinstance(value, msgspec.Struct) else {f"{prefix}{name}"}
        return found

    own = {"domain", "interventions"}  # what a domain of one's own says, and a list with a table of its own
    assert {setting.path for setting in settings()} == paths(Config(), "") - own
    assert len(settings()) == len({setting.path for setting in settings()})


@catalogue("setting", settings())
def test_a_default_is_yaml_that_load_config_takes(setting: Setting) -> None:
    override = f"{setting.path}={setting.default}"
    assert load_config(None, "c.yaml", environment={}, overrides=[override]) == Config()


def test_the_documented_table_is_that_of_the_model() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_table(text), f"{DOCUMENT} is out of date: run `python -m tests.config.refresh_docs`"
