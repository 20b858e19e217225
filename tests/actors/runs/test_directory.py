"""The directory of a run: what may go on in it, the hash of the code, and the last words of a process."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec

from actors.runs import compatibility
from actors.runs.compatibility import changed_code, changed_settings, manifest_of
from actors.runs.directory import RunDirectory
from actors.store.journal import header_of
from actors.store.manifest import Manifest
from prism.config import Config, load_config
from tests.catalogue import catalogue


def line(level: str, event: str) -> str:
    return json.dumps({"event": event, "level": level}) + "\n"


@catalogue(
    ("log", "is_kept"),
    [
        ("", False),
        (line("info", "run_started") + line("debug", "llm_exchange"), False),
        (line("info", "run_started") + '{"event": "cut", "level": "warn', False),
        (line("warning", "oracle_away"), True),
        (json.dumps({"level": "error", "event": {"level": "info"}}) + "\n", True),
    ],
)
def test_a_run_that_did_not_begin_leaves_a_log_of_warnings_and_nothing_else(
    log: str, is_kept: bool, tmp_path: Path
) -> None:
    directory = RunDirectory.create(tmp_path / "run", "run")
    directory.log.write_text(log)
    directory.discard_unless_begun()
    assert directory.log.exists() is is_kept
    assert directory.path.exists() is is_kept


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


def test_both_packages_are_hashed_and_what_only_shows_a_run_is_not() -> None:
    names = compatibility.deciding_sources().keys()
    assert {"prism/social/social.yaml", "prism/rng.py", "actors/runtime/engine.py", "actors/core/frames.py"} <= names
    assert not any(name.startswith(("actors/cli/", "actors/metrics/")) for name in names)


def test_the_code_of_a_domain_is_its_module_or_all_of_its_package(tmp_path: Path) -> None:
    def own(*places: Path) -> str:
        return manifest_of(Config(), {}, places).domain_code

    package, module = tmp_path / "study", tmp_path / "alone.py"
    (package / "inner").mkdir(parents=True)
    (package / "inner" / "rules.py").write_text("LIMIT = 3\n")
    module.write_text("LIMIT = 3\n")
    before, alone = own(package), own(module)
    assert len({before, alone, own()}) == 3
    assert own() == ""
    (package / "data.csv").write_text("1,2\n")
    assert own(package) == before
    (package / "inner" / "rules.py").write_text("LIMIT = 4\n")
    assert (own(package) != before, own(module)) == (True, alone)


SCRIPT = """
import os
from actors.runs.ray_shards import last_words
with last_words("goes on with `prism resume`"):
    {}
"""


def test_they_are_said_only_where_the_process_ends_within() -> None:
    for ends, said in (("os.kill(os.getpid(), 9)", "prism: goes on with `prism resume`\n"), ("raise SystemExit", "")):
        command = [sys.executable, "-c", SCRIPT.format(ends)]
        assert subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr == said
