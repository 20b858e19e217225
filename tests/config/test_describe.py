from __future__ import annotations

import msgspec

from prism.config import Config, Setting, load_config, settings
from tests.catalogue import catalogue
from tests.config.refresh_docs import DOCUMENT, with_table


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
