"""The hash of the code: what changes it and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.runs import code
from actors.runs.code import (
    code_sha256,
    own_code_sha256,
    tree_sha256,
)
from tests.paths import ROOT

PLAIN = """
def total(values):
    return sum(values) + 1
"""


def sha256(source: str, name: str = "prism/rng.py") -> str:
    return tree_sha256({name: source.encode()})


def test_comments_docstrings_and_layout_do_not_count() -> None:
    for same in (
        PLAIN.replace("\n    return", "  # why\n    # and why\n\n    return"),
        '"""A module."""\n' + PLAIN.replace("    return", '    """Return the total."""\n    return'),
        PLAIN.replace("sum(values) + 1", "(\n        sum(values)\n        + 1\n    )"),
    ):
        assert same != PLAIN
        assert sha256(same) == sha256(PLAIN)


def test_everything_else_counts() -> None:
    changes = {"1": "1.0", " + ": " - ", "values": "numbers", "total": "count", "def": "async def"}
    changes |= {"sum(values) + 1": "sum(values + 1)", "return": "pass; return"}
    for before, after in changes.items():
        assert sha256(PLAIN.replace(before, after)) != sha256(PLAIN)


def test_a_chart_counts_and_its_comments_do_not() -> None:
    chart = (ROOT / "prism" / "social" / "social.yaml").read_bytes()
    without = b"".join(line.split(b" #")[0].rstrip(b"\n") + b"\n" for line in chart.splitlines(keepends=True))
    assert without != chart
    assert tree_sha256({"a.yaml": chart}) == tree_sha256({"a.yaml": without})
    assert tree_sha256({"a.yaml": chart}) != tree_sha256({"a.yaml": chart.replace(b"ticks: 1", b"ticks: 2")})


def test_the_hash_is_kept_and_is_of_the_sources_that_it_was_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "cache_from_source", lambda _: str(tmp_path / "kept" / "code.pyc"))
    monkeypatch.setattr(code, "deciding_sources", lambda: {"prism/rng.py": PLAIN.encode()})
    code_of = code_sha256.__wrapped__  # a process asks once
    assert code_of() == sha256(PLAIN)
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.read_text().split()[1] == sha256(PLAIN)
    kept.write_text(f"{kept.read_text().split()[0]} {'0' * 64}\n")
    assert code_of() == "0" * 64
    monkeypatch.setattr(code, "deciding_sources", lambda: {"prism/rng.py": PLAIN.replace("1", "2").encode()})
    assert code_of() == sha256(PLAIN.replace("1", "2"))


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
    (package / "inner" / "rules.py").write_text('"""Rules."""\n\nLIMIT = 3  # three\n')
    (package / "data.csv").write_text("1,2\n")
    assert own(package) == before
    (package / "inner" / "rules.py").write_text("LIMIT = 4\n")
    assert own(package) != before
    assert own(module) == alone
