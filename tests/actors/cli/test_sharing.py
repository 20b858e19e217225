"""Shared judgements on the command line: the end of a run, refusals, resumes and replays."""

import csv
import re
import shutil
from pathlib import Path

import pytest

from tests.actors.cli.conftest import Made
from tests.command import Prism
from tests.standin import ModelServer
from tests.wire.support import summary

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


def test_the_end_of_a_run_says_what_was_shared_and_how_wrong_it_is(prism: Prism) -> None:
    ended = prism("run", "small.yaml", "--ticks", "24", "--out", "shared", "--details", *SHARED)
    assert ended.code == 0
    assert re.search(r"asked for all \d+", " ".join(ended.out.split()))
    assert "sharing: divergence from individual judgements 0." in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80
    assert prism("verify", "shared").code == 0
    silent = prism(
        "run", "small.yaml", "--ticks", "9", "--out", "silent", "--details", *SHARED, "--set", "oracle.sharing.audit=0"
    )
    assert "no audits: the error of sharing is not known" in silent.out


def rows(table: str) -> list[dict[str, str]]:
    with Path(f"tables/{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_an_explanation_has_what_was_shared(shared: Path, prism: Prism) -> None:
    ended = prism("export", "shared", "--to", "csv", "--tables", "questions", "--out", "tables")
    assert ended.code == 0, ended.err
    asked = {row["method"]: row for row in rows("questions") if row["decided_tick"]}

    def answer(method: str) -> str:
        ended = prism("explain", "shared", "--agent", asked[method]["agent"], "--tick", asked[method]["tick"])
        return " ".join(ended.out.split())

    told, alone = answer("shared"), answer("embedded")
    drawn = re.search(r"shared what its archetype shared, and it drew from: ((?:[a-z_]+ 0\.\d+,? ){2,4})", told)
    own = re.search(r"embedded the embedded choice for this agent alone: ((?:[a-z_]+ 0\.\d+[,;]? ){2,4})", told)
    assert drawn is not None, told
    assert own is not None, told
    assert drawn[1] != own[1]
    assert re.search(r"archetype decides in evaluating, post.topic_match: 0\S* to \S+, post.followed: (yes|no)", told)
    assert "no call of its own: drawn from a judgement that it shares with questions like it; " in told
    assert ("by shared; after" in told, "by embedded; after" in alone, "no call of its own" in alone) == (1, 1, 0)


@pytest.mark.slow
def test_a_shared_run_with_a_model_is_replayed_from_its_tape_without_a_server(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        asked = ("--set", "oracle.backend=ollama", "--set", f"llm.host={server.url}", "--set", "oracle.tape=record")
        ended = prism("run", "small.yaml", "-q", "--out", "asked", *SHARED, *asked)
        assert ended.code == 0, ended.err
    found = summary(tmp_path / "asked")
    assert found["decisions_by_method"]["shared"] > 20
    assert found["oracle_calls"] < 0.7 * found["oracle_questions"]
    tape = ("oracle.backend=ollama", "oracle.tape=replay", "oracle.tape_path=asked/tape.sqlite")
    replayed = [word for setting in tape for word in ("--set", setting)]
    again = prism("run", "small.yaml", "-q", "--out", "again", *SHARED, *replayed)
    assert again.code == 0, again.err
    assert again.out == ended.out
    assert summary(tmp_path / "again")["sharing"] == found["sharing"]
    assert prism("replay", "asked", "-q").out == ended.out
