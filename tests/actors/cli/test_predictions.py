"""Predictions are sealed before the runs and scored after; what was changed in between is named."""

import json
import os
import sys
from pathlib import Path

import pytest

from actors.studies.experiments.run_measures import code_of_own
from actors.studies.experiments.seals import read_sealed, scores_of_runs
from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment
from tests.catalogue import catalogue
from tests.command import Prism

GUESS = """\
by: A. Author
predictions:
  - {measure: likes, condition: chronological, mean: 40, sd: 20}
  - {measure: likes, contrast: [random, chronological], mean: 0, sd: 8}
"""
SEAL = ("experiment", "seal", "e.yaml", "guess.yaml")
SCORE = ("experiment", "score", "e.yaml", "guess.sealed.json")
FILE = Path("guess.sealed.json")


@pytest.fixture
def prism(prism: Prism, tmp_path: Path) -> Prism:
    write_experiment(tmp_path)
    Path("guess.yaml").write_text(GUESS)
    return prism


@pytest.fixture
def sealed(prism: Prism) -> None:
    assert prism(*SEAL).code == 0


def test_a_seal_names_author_time_and_plan_and_is_printed_for_others(prism: Prism) -> None:
    ended = prism(*SEAL)
    found = json.loads(FILE.read_text())
    assert (ended.code, found["predictions"]["by"], found["cells_begun"]) == (0, "A. Author", 0)
    assert f"{FILE}: 2 predictions by A. Author, sealed {found['at']}" in ended.out
    assert found["seal"] in ended.out
    assert "give the seal to others now" in ended.out
    assert json.loads(Path(f"experiments/e/seals/{found['seal'][:16]}.json").read_text()) == found
    again = prism(*SEAL)
    assert (again.code, "exists already and was left as it is" in again.err) == (2, True)
    # After the first run it is too late, or marked.
    Path("experiments/e/cells/00").mkdir(parents=True)
    late = prism(*SEAL, "--to", "late.json")
    assert (late.code, "has 1 run of the experiment already" in late.err, Path("late.json").exists()) == (2, True, 0)
    seen = prism(*SEAL, "--to", "late.json", "--seen")
    assert (seen.code, "give the seal" in seen.out) == (0, False)
    assert "has 1 run already: every score will say that it may have been seen" in seen.out
    assert json.loads(Path("late.json").read_text())["cells_begun"] == 1


@catalogue(
    ("file", "old", "new", "named"),
    [
        (FILE.name, '"sd": 20.0', '"sd": 30.0', "was changed after it was sealed"),
        (FILE.name, '"cells_begun": 0', '"cells_begun": "none"', "is not a file of `prism experiment seal`"),
        ("base.yaml", "rounds: 2", "rounds: 3", "the condition chronological (its settings, those of the base among"),
        ("e.yaml", "feed.size: 3", "feed.size: 4", "the condition random (its settings"),
        ("e.yaml", "posts: rounds.posts", "posts: posts", "the measure posts was changed"),
    ],
)
@pytest.mark.usefixtures("sealed")
def test_a_change_after_the_sealing_is_refused_in_one_line_that_names_the_part(
    prism: Prism, file: str, old: str, new: str, named: str
) -> None:
    before = Path(file).read_text()
    assert old in before
    Path(file).write_text(before.replace(old, new))
    ended = prism(*SCORE)
    Path(file).write_text(before)
    assert (ended.code, ended.err.count("\n"), named in ended.err) == (3, 1, True), ended.err


@pytest.mark.usefixtures("sealed")
def test_measured_figures_are_scored(prism: Prism) -> None:
    Path("first.csv").write_text("condition,measure,value\nchronological,likes,30\nrandom,likes,35\nrandom,likes,37\n")
    first = json.loads(prism(*SCORE, "--data", "first.csv", "--json").out)
    assert [each["observed"] for each in first["scores"]] == [30.0, 6.0]
    assert [each["score"]["holds"] for each in first["scores"]] == [[True, True], [False, True]]
    assert first["notes"] == []
    Path("second.csv").write_text("measure,condition,value,source\nlikes,random,35,survey\n")
    second = prism(*SCORE, "--data", "second.csv")
    assert (second.code, "has none of the predicted outcomes, such as likes: chronological" in second.err) == (3, True)


@pytest.mark.slow
@pytest.mark.usefixtures("sealed")
def test_predictions_are_scored_by_the_runs_of_their_experiment(prism: Prism) -> None:
    ran = prism("experiment", "e.yaml", "--jobs", "2")
    assert ran.code == 0, ran.err
    found, shown = json.loads(prism(*SCORE, "--json").out), prism(*SCORE).out
    assert found["text"].startswith("Predictions by A. Author, sealed ")
    assert ", before the first run by this machine's clock and files, which only " in found["text"]
    assert (found["text"] in shown, "A lower CRPS is better" in shown, found["notes"]) == (True, True, [])
    assert prism(*SEAL, "--to", "late.json", "--seen").code == 0
    late = json.loads(prism("experiment", "score", "e.yaml", "late.json", "--json").out)
    assert late["notes"] == [
        "sealed when 6 runs of the experiment could be seen: this is no prediction",
        "A. Author has sealed 1 other file of predictions of this experiment, which are in seals",
    ]
    assert [each["score"] for each in late["scores"]] == [each["score"] for each in found["scores"]]
    Path("e.yaml").write_text(EXPERIMENT.replace("seeds: 3", "seeds: 4"))
    assert prism(*SEAL, "--to", "more.json", "--seen").code == 0
    more = prism("experiment", "score", "e.yaml", "more.json")
    assert (more.code, "has no results of this plan yet: run `prism experiment e.yaml`" in more.err) == (2, True)


@pytest.mark.parametrize("kept", ["config.yaml", "log.jsonl"])
def test_runs_that_were_elsewhere_during_the_sealing_are_noticed(prism: Prism, tmp_path: Path, kept: str) -> None:
    out = tmp_path / "experiments" / "e"
    cells, file = out / "cells", out / "cells" / "00" / kept
    file.parent.mkdir(parents=True)
    file.write_text('{"timestamp": "2026-01-01T00:00:00.5Z"}\n')
    if kept == "config.yaml":
        os.utime(file, (file.stat().st_mtime - 60,) * 2)
    cells.rename(tmp_path / "away")
    assert prism(*SEAL).code == 0
    sealed = read_sealed(FILE)
    early = scores_of_runs(sealed, [1], {}, out, [])
    (tmp_path / "away").rename(cells)
    late = scores_of_runs(sealed, [1], {}, out, [])
    assert "before the first run by this machine's clock and files" in early.text
    assert "not known to be from before the runs" in late.text
    assert f", before the sealing at {sealed.at}: this is no prediction" in late.notes[0]


MEASURES = {
    "mine.py": "import functools\nfrom near import factor\ndef likes(path): import late; return factor() * late.ONE\n"
    "part = functools.partial(likes)\n",
    "near.py": "import deep.inner\ndef factor(): return 1.0\n",
    "late.py": "ONE = 1\n",
    "deep/inner.py": "ONE = 1\n",
    "unrelated.py": "ONE = 1\n",
}


def test_a_change_of_any_code_that_a_measure_imports_after_the_sealing_is_named(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in MEASURES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    before = code_of_own("mine:part")
    for name, text in MEASURES.items():
        Path(name).write_text(f"{text}# changed\n")
        assert (code_of_own("mine:part") != before) == (name != "unrelated.py"), name
        Path(name).write_text(text)
    Path("e.yaml").write_text(EXPERIMENT.replace("measures:", "measures:\n  own: mine:part", 1))
    assert prism(*SEAL).code == 0
    Path("late.py").write_text("ONE = 2\n")
    assert "was sealed for another plan: the measure own was changed after the sealing" in prism(*SCORE).err
    for name in ("mine", "near", "deep.inner", "deep"):
        monkeypatch.delitem(sys.modules, name)
