"""The hash of the code: what it is of."""

from __future__ import annotations

from pathlib import Path

from actors.runs import code
from actors.runs.code import own_code_sha256


def test_both_packages_are_hashed_and_what_only_shows_a_run_is_not() -> None:
    names = code.deciding_sources().keys()
    assert "prism/social/social.yaml" in names
    assert {
        "prism/rng.py",
        "prism/social/kernels/feed_kernel.py",
        "actors/runtime/engine.py",
        "actors/core/frames.py",
    } <= names
    assert not any(name.startswith(("actors/cli/", "actors/metrics/")) for name in names)


def own(*places: Path) -> str:
    return own_code_sha256.__wrapped__(places)  # a process asks once


def test_the_code_of_a_domain_is_its_module_or_all_of_its_package(tmp_path: Path) -> None:
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
    assert own(package) != before
    assert own(module) == alone
