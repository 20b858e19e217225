"""Shared judgements on the command line: the end of a run, refusals, resumes and replays."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from actors.store.manifest import SUMMARY
from tests.actors.cli.conftest import Made
from tests.catalogue import catalogue
from tests.command import Prism
from tests.standin import ModelServer

BY = ("oracle.sharing.by=archetype",)
SHARED = (
    *("--set", *BY),
    *("--set", "oracle.sharing.archetype={topic_match: 2 bins, followed: exact}"),
    *("--set", "oracle.sharing.audit=0.5", "--set", "population.size=200", "--set", "population.ambiguity=0.6"),
)


@pytest.fixture
def shared(made: Made, prism: Prism, tmp_path: Path) -> Path:
    """A run whose people share judgements, `shared` in the working directory."""
    return shutil.copytree(made(*SHARED), tmp_path / "shared")


def summary(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((path / SUMMARY).read_text())
    return found


def test_the_end_of_a_run_says_what_was_shared_and_how_wrong_it_is(prism: Prism) -> None:
    ended = prism("run", "small.yaml", "--out", "shared", "--details", *SHARED)
    assert ended.code == 0
    assert re.search(r"^asked for all +\d+ *\n", ended.out, re.MULTILINE)
    assert "sharing: divergence from individual judgements 0." in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80
    assert prism("verify", "shared").code == 0
    silent = prism("run", "small.yaml", "--out", "silent", "--details", *SHARED, "--set", "oracle.sharing.audit=0")
    assert "no audits: the error of sharing is not known" in silent.out


@pytest.mark.slow
def test_a_resume_from_any_checkpoint_counts_what_was_shared_as_the_whole_run_does(
    prism: Prism, tmp_path: Path
) -> None:
    run, often = tmp_path / "shared", ("--set", "run.checkpoint_every_ticks=18", "--set", "oracle.sharing.archetype={}")
    prism("run", "small.yaml", "-q", "--out", "shared", *SHARED, *often)
    whole = summary(run)
    checkpoints = {path.name: path.read_bytes() for path in run.glob("checkpoint-*")}
    assert len(checkpoints) == 2
    for kept in ("", *checkpoints):
        for path in (*run.glob("checkpoint-*"), run / SUMMARY):
            path.unlink()
        if kept:
            (run / kept).write_bytes(checkpoints[kept])
        assert prism("resume", "shared", "-q").out.strip() == whole["digest"]
        again = summary(run)
        counts = ("oracle_questions", "oracle_calls", "decisions_by_method", "sharing")
        assert [again[key] for key in counts] == [whole[key] for key in counts], kept


@pytest.mark.slow
def test_an_export_has_every_judgement_with_what_was_shared_instead(shared: Path, prism: Prism) -> None:
    prism("run", "small.yaml", "-q", "--out", "plain")
    ended = prism("export", "shared", "plain", "--to", "csv", "--out", "tables")
    assert ended.code == 0, ended.err
    with Path("tables/judgements.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = summary(Path("shared"))["sharing"]
    assert isinstance(found, dict)
    assert {row["run"] for row in rows} == {"shared"}
    assert [row["is_audit"] for row in rows].count("true") == found["audited"] > 10
    assert [row["is_audit"] for row in rows].count("false") == found["asked_for_all"]
    assert [(int(row["tick"]), int(row["agent"])) for row in rows] == sorted(
        (int(row["tick"]), int(row["agent"])) for row in rows
    )
    for row in rows:
        assert sum(json.loads(row["probabilities"]).values()) == pytest.approx(1.0)
        assert set(json.loads(row["fields"])) >= {"post.topic_match", "post.followed"}
        assert "followed: " in row["archetype"]
    audits = [row for row in rows if row["is_audit"] == "true"]
    bits = [float(row["divergence"]) / float(row["chance"]) for row in audits]
    weights = [1.0 / float(row["chance"]) for row in audits]
    assert sum(bits) / sum(weights) == pytest.approx(found["divergence"]["mean"], abs=1e-4)
    assert prism("export", "plain", "--to", "csv", "--out", "none").code == 0
    assert not Path("none/judgements.csv").exists()


@pytest.mark.slow
def test_an_explanation_says_where_an_answer_without_a_call_came_from(shared: Path, prism: Prism) -> None:
    prism("export", "shared", "--to", "csv", "--out", "tables")
    with Path("tables/questions.csv").open(newline="") as file:
        asked = {row["method"]: row for row in csv.DictReader(file) if row["decided_tick"]}

    def answer(method: str) -> str:
        ended = prism("explain", "shared", "--agent", asked[method]["agent"], "--tick", asked[method]["tick"])
        assert ended.code == 0, ended.err
        return " ".join(ended.out.split())

    assert "by shared; after" in answer("shared")
    told = answer("shared")
    drawn = re.search(r"shared what its archetype shared, and it drew from: ((?:[a-z_]+ 0\.\d+,? ){2,4})", told)
    own = re.search(r"embedded the embedded choice for this agent alone: ((?:[a-z_]+ 0\.\d+[,;]? ){2,4})", told)
    assert drawn is not None, told
    assert own is not None, told
    assert drawn[1] != own[1]
    assert re.search(r"archetype decides in evaluating, post.topic_match: 0\S* to \S+, post.followed: (yes|no)", told)
    assert "no call of its own: drawn from a judgement that it shares with questions like it; " in answer("shared")
    assert "by embedded; after" in answer("embedded")
    assert "no call of its own" not in answer("embedded")


def questions(run: str, prism: Prism) -> list[dict[str, str]]:
    """Return the rows of the questions of a run."""
    assert prism("export", run, "--to", "csv", "--tables", "questions", "--out", "asked", "--force").code == 0
    with Path("asked/questions.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@catalogue(
    ("entry", "problem"),
    [
        ("age: exact", "archetype.age: no such field: there are: agent.activity, "),
        ("folowed: exact", "archetype.folowed: no such field: did you mean post.followed?"),
        (
            "topics: exact",
            (
                "archetype.topics: post.topics has several texts at a time, and groups are of single values: "
                "name another field, such as post.topic_match\n"
            ),
        ),
        ("topic_match: 4", "archetype.topic_match: expected text, got 4"),
        ("post.likes: exact", "archetype.post.likes: the field has groups already, as likes: expected one entry for "),
    ],
)
def test_a_wrong_field_of_an_archetype_is_named_with_its_line(entry: str, problem: str, prism: Prism) -> None:
    Path("f.yaml").write_text(
        f"oracle:\n  sharing:\n    by: archetype\n    archetype:\n      likes: log2\n      {entry}\n"
    )
    for command in ("validate", "run"):
        ended = prism(command, "f.yaml")
        assert (ended.code, ended.out) == (3, "")
        assert ended.err.startswith(f"prism: f.yaml:6: oracle.sharing.{problem}")
    assert not Path("runs").exists()


@pytest.mark.slow
def test_a_shared_run_with_a_model_is_replayed_from_its_tape_without_a_server(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        asked = ("--set", "oracle.backend=ollama", "--set", f"llm.host={server.url}", "--set", "oracle.tape=record")
        ended = prism("run", "small.yaml", "-q", "--out", "asked", *SHARED, *asked)
        assert ended.code == 0, ended.err
    found = summary(tmp_path / "asked")
    assert found["decisions_by_method"]["shared"] > 20  # type: ignore[index]
    assert found["oracle_calls"] < 0.7 * found["oracle_questions"]  # type: ignore[operator]
    tape = (
        "--set",
        "oracle.backend=ollama",
        "--set",
        "oracle.tape=replay",
        "--set",
        "oracle.tape_path=asked/tape.sqlite",
    )
    again = prism("run", "small.yaml", "-q", "--out", "again", *SHARED, *tape)
    assert again.code == 0, again.err
    assert again.out == ended.out
    assert summary(tmp_path / "again")["sharing"] == found["sharing"]
    assert prism("replay", "asked", "-q").out == ended.out
