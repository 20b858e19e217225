"""The differences between a run and what would go on with it."""

from __future__ import annotations

import msgspec

from actors.runs.code import manifest_of
from actors.runs.compatibility import changed_code, changed_settings
from actors.store.journal import header_of
from actors.store.manifest import Manifest
from prism.config import Config, load_config

NOW = manifest_of(Config(), {})


def manifest(code: str = NOW.code, **packages: str) -> Manifest:
    renamed = {name.replace("_", "-"): version for name, version in packages.items()}
    return msgspec.structs.replace(NOW, code=code, packages=NOW.packages | renamed)


def test_every_other_value_of_a_setting_is_a_difference() -> None:
    header = header_of(Config(), {}, 3, "0.1.0", ())
    assert list(changed_settings(header, Config())) == []
    other = load_config("run: {tick_s: 3}", "x.yaml", environment={})
    assert list(changed_settings(header, other)) == [("run.tick_s", "run.tick_s is 3.0, was 0.0 when the run began")]
    there = {"interventions": [{"tick": 3, "publish": {"author": 1, "text": "Hello."}}]}
    [(key, _)] = changed_settings(header, load_config(str(there), "x.yaml", environment={}))
    assert key == "interventions"


def test_other_code_and_packages_are_differences_and_another_name_of_the_same_code_is_none() -> None:
    assert changed_code(manifest(), NOW) == changed_code(manifest(prism_sim="0.0.1"), NOW) == []
    for package in ("numpy", "nunpy"):
        (change,) = changed_code(manifest(**{package: "0"}), NOW)
        assert change.startswith(f"{package} is ")
        assert change.endswith(", was 0")
    version, code = changed_code(manifest("0" * 64, prism_sim="0.0.1"), NOW)
    assert version.startswith("prism-sim is ")
    assert code == f"PRISM's code has changed (sha256 {NOW.code[:12]}, was 000000000000)"
