from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from prism.config import Config, Setting, load_config, settings
from prism.expectations import type_text
from tests.catalogue import catalogue
from tests.config.refresh_docs import DOCUMENT, with_table


@catalogue("setting", settings())
def test_every_setting_says_what_it_means(setting: Setting) -> None:
    assert setting.description
    assert setting.section_description


def test_a_setting_tells_its_type_range_and_default() -> None:
    by_path = {setting.path: setting for setting in settings()}
    assert by_path["population.size"].type == "int 1 to 10000000"
    assert by_path["feed.fill"].type == "one of: borrow, share, strict"
    assert by_path["feed.algorithm"].default == "interest"
    assert by_path["population.ambiguity"].type == "float 0 to 1"
    assert by_path["population.graph.path"].type == "text or none"
    assert by_path["population.graph.path"].default == "null"
    assert by_path["population.topics"].item_type == "non-empty text"
    assert by_path["population.graph.path"].section == "population.graph"
    assert by_path["population.graph.path"].name == "path"


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


def test_a_type_without_words_is_refused() -> None:
    with pytest.raises(TypeError, match="no words for values of type"):
        type_text(msgspec.inspect.type_info(Annotated[complex, msgspec.Meta(description="x")]))


def test_the_documented_table_is_that_of_the_model() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_table(text), f"{DOCUMENT} is out of date: run `python -m tests.config.refresh_docs`"
