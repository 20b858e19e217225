"""`prism replicate`, with real runs: figures beside the published ones, the line of the ledger, and the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from actors.studies.replications.ledger import read_line
from actors.studies.replications.replication_plan import make_replication_plan
from tests.actors.studies.experiments.files import BASE, write_experiment
from tests.command import Prism, run_prism

OWN = """\
from actors import read_result

def spread(runs):
    likes = [read_result(run).measure("likes") for run in runs]
    return max(likes) - min(likes)

def real(data):
    return float(data.read_text()), 0.5
"""
FILE = """\
claim: People like less on a chronological feed.
study: A (2000), B.
experiment: e.yaml
differs: [It is smaller.]
data: real.txt
data_from: ask A
over_worlds: {spread: "replicated_measures:spread"}
figures:
  likes of a random feed: {source: Table 1, measure: likes, condition: random, value: 30, fitted: true}
  likes of the other: {source: Table 1, measure: likes, condition: chronological, range: [1000, 2000], se: 1}
  engagement: {source: page 2, measure: engagement, condition: random, direction: greater}
  spread of likes: {source: the data, measure: spread, condition: random, computed: "replicated_measures:real"}
remarks: [Sixty people like little.]
"""


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    monkeypatch.chdir(tmp_path)
    write_experiment(tmp_path)
    (tmp_path / "r.yaml").write_text(FILE)
    (tmp_path / "replicated_measures.py").write_text(OWN)
    (tmp_path / "real.txt").write_text("12")
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


@pytest.mark.slow
def test_a_replication_tells_hits_and_misses_alike_and_a_second_time_nothing_is_run(prism: Prism) -> None:
    first = prism("replicate", "r.yaml", "--jobs", "1")
    assert first.code == 0, first.err
    assert "miss: too low" in first.out
    assert "hits: predicted 2 of 3, fitted 1 of 1; 6 runs, 0 calls" in first.out
    line = read_line(Path("replications/r/replication.json"))
    assert line is not None
    assert [each.is_hit for each in line.figures] == [True, False, True, True]
    assert line.asked == make_replication_plan(Path("r.yaml")).hash
    shutil.rmtree(next(Path("replications/r/cells").iterdir()))  # as if it had been interrupted there
    again = prism("replicate", "r.yaml", "--quiet")
    assert (again.out, again.err) == (f"{line.digest}\n", "")
    repeated = read_line(Path("replications/r/replication.json"))
    assert repeated is not None
    assert (repeated.figures, repeated.digest) == (line.figures, line.digest)


REFUSED = {
    ("data: real.txt", "data: gone.txt"): "5: data: no such file: gone.txt, beside this file or in {}; "
    "it is not part of PRISM: ask A",
    ("experiment: e.yaml", "experiment: f.yaml"): "3: experiment: no such file: f.yaml, beside this file or in {}",
    ("measure: spread,", "measure: spreat,"): "12: figures.spread of likes.measure: no 'spreat' among the "
    "measures: did you mean spread?",
    ("{spread:", "{likes:"): "7: over_worlds.likes: is the name of a measure of the experiment, too",
}


def test_what_cannot_be_replicated_is_refused_before_the_first_run(prism: Prism) -> None:
    for change, said in REFUSED.items():
        assert change[0] in FILE
        Path("r.yaml").write_text(FILE.replace(*change))
        refused = prism("replicate", "r.yaml")
        assert (refused.code, refused.err) == (3, f"prism: r.yaml:{said.format(Path.cwd())}\n")
    assert not Path("replications").exists()


def test_figures_and_settings_change_the_plan_and_remarks_do_not(prism: Prism, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    hashes = []
    for text, base in (
        (FILE, BASE),
        (FILE.replace("Sixty", "So few"), BASE),
        (FILE.replace("30", "31"), BASE),
        (FILE, "{}"),
    ):
        path.write_text(text)
        write_experiment(tmp_path, base=base)
        hashes.append(make_replication_plan(path).hash)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_damaged_line_is_named(prism: Prism) -> None:
    Path("replications/bounded-confidence").mkdir(parents=True)
    Path("replications/bounded-confidence/replication.json").write_text("{")
    refused = prism("replicate")
    assert refused.code == 2
    assert "replications/bounded-confidence/replication.json: is no line of a ledger" in refused.err
