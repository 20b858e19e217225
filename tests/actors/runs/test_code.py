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
from tests.catalogue import catalogue
from tests.paths import ROOT

PLAIN = """
def total(values):
    return sum(values) + 1
"""


EXPECTED = (
    r"Module(body=[Import(names=[alias(name='x.y',asname='z',)])ImportFrom(names=[alias(name='a',)]level=1,)"
    r"AsyncFunctionDef(name='f',args=arguments(posonlyargs=[arg(arg='a',)]args=[arg(arg='b',annotation=Name("
    r"id='int',))]vararg=arg(arg='rest',)kwonlyargs=[arg(arg='c',)]kw_defaults=[Constant()]kwarg=arg("
    r"arg='more',)defaults=[Constant(value=1,)])body=[AnnAssign(target=Name(id='x',)annotation=Name("
    r"id='float',)simple=1,)AsyncWith(items=[withitem(context_expr=Name(id='a',)optional_vars=Tuple("
    r"elts=[Name(id='b',)Name(id='c',)]))]body=[Pass()])Delete(targets=[Subscript(value=Name(id='x',)"
    r"slice=Tuple(elts=[Slice(lower=Constant(value=1,)upper=Constant(value=2,))Constant(value=Ellipsis,)]))])"
    r"Return(value=JoinedStr(values=[FormattedValue(value=Name(id='a',)conversion=114,format_spec=JoinedStr("
    r"values=[Constant(value='>',)FormattedValue(value=Name(id='width',)conversion=-1,)Constant(value='.2f',)]"
    r"))Constant(value=' {and} b=',)FormattedValue(value=Name(id='b',)conversion=114,)Constant("
    r"value='\xe9\U0001fae9',)]))]decorator_list=[Name(id='cached',)]returns=Name(id='str',))ClassDef("
    r"name='C',bases=[Name(id='B',)]keywords=[keyword(arg='k',value=Constant(value=1,))]body=[])Match("
    r"subject=Name(id='f',)cases=[match_case(pattern=MatchOr(patterns=[MatchMapping(keys=[Constant(value='a',)"
    r"]patterns=[MatchSequence(patterns=[MatchValue(value=Constant(value=1,))MatchStar()])]rest='rest',)"
    r"MatchClass(cls=Name(id='C',)kwd_attrs=['x',]kwd_patterns=[MatchSingleton()])])guard=UnaryOp(op=Not()"
    r"operand=Name(id='a',))body=[Expr(value=Lambda(args=arguments(kwonlyargs=[arg(arg='k',)]"
    r"kw_defaults=[None,])body=Yield(value=Dict(keys=[None,Constant(value='b',)Constant(value=b'c',)]"
    r"values=[Name(id='rest',)Constant(value=1j,)UnaryOp(op=USub()operand=Constant(value=1.0,))]))))])])"
    r"TryStar(body=[Expr(value=Constant(value=Ellipsis,))]handlers=[ExceptHandler(type=Name(id='E',)name='e',"
    r"body=[Raise()])])])"
)


def sha256(source: str, name: str = "prism/rng.py") -> str:
    return tree_sha256({name: source.encode()})


@catalogue(
    "same",
    [
        "# a comment\n" + PLAIN,
        PLAIN.replace("\n    return", "  # why\n    # and why\n\n    return"),
        '"""A module."""\n' + PLAIN,
        PLAIN.replace("    return", '    """Return the total."""\n    return'),
        PLAIN.replace("sum(values) + 1", "(\n        sum(values)\n        + 1\n    )"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(same: str) -> None:
    assert same != PLAIN
    assert sha256(same) == sha256(PLAIN)


@catalogue(
    ("before", "after"),
    [
        ("1", "2"),
        ("1", "1.0"),
        ("1", "True"),
        ("1", "'1'"),
        ("values", "numbers"),
        ("total", "count"),
        (" + ", " - "),
        ("def", "async def"),
        ("sum(values) + 1", "sum(values + 1)"),
        ("return", "pass; return"),
    ],
)
def test_everything_else_counts(before: str, after: str) -> None:
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
