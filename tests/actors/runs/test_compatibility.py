"""The differences between a run and what would go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.persistence.journal import Header, header_of
from actors.runs.code import source_sha256
from actors.runs.compatibility import changed_code, changed_settings, is_safe, upgrade_of
from actors.runs.manifest import Manifest, Version, manifest_of
from actors.runs.resume import read_resolved
from prism.config import Config, load_config
from prism.errors import ConfigError

NOW = manifest_of(Config(), {})


def header(**missing: str) -> Header:
    """Return the header of a run with the default settings, begun by a version without these (`section=setting`)."""
    whole = header_of(Config(), {}, 3, "0.1.0")
    config: dict[str, Any] = {name: dict(section) for name, section in whole.config.items()}
    for section, setting in missing.items():
        del config[section][setting]
    return msgspec.structs.replace(whole, config=config)


def manifest(code: str = NOW.code, **packages: str) -> Manifest:
    renamed = {name.replace("_", "-"): version for name, version in packages.items()}
    return msgspec.structs.replace(NOW, code=code, packages=NOW.packages | renamed)


def test_a_setting_that_an_earlier_version_did_not_have_is_no_difference_at_its_default() -> None:
    assert list(changed_settings(header(run="tick_s", feed="size"), Config())) == []
    other = load_config("run: {tick_s: 3}", "x.yaml", environment={})
    told = [("run.tick_s", "run.tick_s is 3.0, was null when the run began")]
    assert list(changed_settings(header(run="tick_s"), other)) == told


def test_a_run_with_a_setting_that_there_is_no_more_was_begun_by_another_version() -> None:
    before = header(population="deliberation_minutes")
    before.config["oracle"]["lookahead_ticks"] = 8
    told = "oracle.lookahead_ticks was 8 when another version of PRISM began the run, and is no setting now"
    assert list(changed_settings(before, Config())) == [("oracle.lookahead_ticks", told)]
    assert not is_safe("oracle.lookahead_ticks")


def test_the_configuration_of_such_a_run_says_so_and_an_override_says_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("population:\n  size: 60\noracle:\n  lookahead_ticks: 8\n")
    told = "oracle.lookahead_ticks: the run was made by another version of PRISM, which manifest.json names: "
    with pytest.raises(ConfigError) as caught:
        read_resolved(path)
    assert str(caught.value) == f"{path}:4: {told}go on with that version"
    path.write_text("population:\n  size: 60\n")
    with pytest.raises(ConfigError, match=r"^--set: oracle\.lookahead_ticks: is no setting any more: .* 4, which is"):
        read_resolved(path, ["oracle.lookahead_ticks=4"])


def test_the_same_code_is_no_difference_whatever_version_it_calls_itself() -> None:
    assert changed_code(manifest(), NOW) == []
    assert changed_code(manifest(prism_sim="0.0.1"), NOW) == []


def test_the_hash_of_earlier_versions_is_known() -> None:
    assert changed_code(manifest(source_sha256()), NOW) == []
    (change,) = changed_code(manifest(source_sha256(), prism_sim="0.0.1"), NOW)
    assert change.endswith(", was 0.0.1")


@pytest.mark.parametrize("package", ["numpy", "msgspec", "nunpy"])
def test_another_package_is_a_difference(package: str) -> None:
    (change,) = changed_code(manifest(**{package: "0"}), NOW)
    assert change.startswith(f"{package} is ")
    assert change.endswith(", was 0")


def test_other_code_and_the_version_it_came_with_are_differences() -> None:
    version, code = changed_code(manifest("0" * 64, prism_sim="0.0.1"), NOW)
    assert version.startswith("prism-sim is ")
    assert code == f"PRISM's code has changed (sha256 {NOW.code[:12]}, was 000000000000)"


def test_an_upgrade_names_what_has_changed_and_says_it_in_words() -> None:
    upgrade = upgrade_of(manifest("0" * 64, numpy="0"), NOW, 1060, (1048, 1060))
    assert upgrade.before == Version(code="0" * 64, packages={"numpy": "0"})
    assert upgrade.after == Version(code=NOW.code, packages={"numpy": NOW.packages["numpy"]})
    assert str(upgrade) == "other code after 1,060 ticks, proved on ticks 1,048 to 1,059"
    assert str(upgrade_of(manifest("0" * 64), NOW, 60, None)) == "other code after 60 ticks, not proved"
    assert str(upgrade_of(manifest("0" * 64), NOW, 0, (0, 0))) == "other code after 0 ticks, before any tick"
