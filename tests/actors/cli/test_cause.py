"""`prism cause`: its lines, its JSON, its progress, and what it says to options that cannot be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actors.cli.cause import causes_view
from actors.display.console import SafeConsole
from actors.studies.causes.record import Cause, Causes, Tried, kept_causes
from prism.experiment.intervals import Interval
from tests.catalogue import catalogue
from tests.command import Prism
from tests.hostile_texts import TEXTS, harms_a_terminal
from tests.paths import ROOT

SHOWN = Causes(
    run="runs/one",
    of="likes",
    value=66,
    ticks=96,
    since=0,
    tried=(
        Tried(kind="interventions", candidates=0, tried=0, with_effect=0, total=0.0),
        Tried(kind="people", candidates=40, tried=40, with_effect=30, total=81.5),
        Tried(kind="decisions", candidates=400, tried=60, with_effect=20, total=-12.25, low=-30.5, high=6.0),
        Tried(kind="ties", candidates=300, tried=0, with_effect=0),
    ),
    causes=(
        Cause(
            kind="people",
            what="Ada Novak (17)",
            tick=0,
            agent=17,
            chance=1.0,
            value=54,
            effect=12,
            other_draws=Interval(mean=9.25, low=5.125, high=13.375, sd=4.0, count=10),
        ),
        Cause(
            kind="decisions",
            what="Bo Sato (3): scrolling, not engaging_like",
            tick=31,
            agent=3,
            was="scrolling",
            would_be="engaging_like",
            chance=0.125,
            value=68.5,
            effect=-2.5,
        ),
    ),
    futures=120,
    kept=1234,
    computed=56,
)


@pytest.fixture
def own(embedded: Path, tmp_path: Path) -> Path:
    """Return a copy of the run, in which causes are kept."""
    return Path(shutil.copytree(embedded, tmp_path / "own"))


def printed(found: Causes, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is printed on a terminal of 80 columns."""
    SafeConsole(width=80).print(causes_view(found))
    return capsys.readouterr().out


@catalogue("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
def test_no_name_reaches_the_terminal_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = msgspec.structs.replace(SHOWN.causes[0], what=text)
    assert not harms_a_terminal(printed(msgspec.structs.replace(SHOWN, causes=(hostile,)), capsys))


def test_a_search_is_shown_written_and_kept_and_packed_and_the_run_stays_as_it_was(own: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()}
    few = ("--budget", "6", "--draws", "1", "--top", "2", "--by", "people,decisions")
    shown = prism("cause", str(own), "--of", "likes", *few)
    assert shown.code == 0, shown.err
    assert "people: 3 of 60 tried" in shown.out
    assert f"kept in {own / 'causes' / 'likes.json'}" in shown.err
    found = json.loads(prism("cause", str(own), "--of", "likes", *few, "--json").out)
    assert (found["of"], [each["kind"] for each in found["tried"]]) == ("likes", ["people", "decisions"])
    assert found["value"] == json.loads((own / "summary.json").read_text())["likes"]
    assert json.loads((own / "causes" / "likes.json").read_text()) == {**found, "run": "own"}
    assert {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()} == before
    assert prism("verify", str(own), "--quick").code == 0
    assert prism("pack", str(own), "--out", "own.prism").code == 0
    assert prism("unpack", "own.prism", "--out", "there").code == 0
    assert kept_causes(Path("there")) == kept_causes(own)


def test_a_search_that_cannot_be_kept_is_printed_all_the_same(own: Path, prism: Prism) -> None:
    (own / "causes").write_text("a file is in the way")
    few = ("--of", "likes", "--by", "people", "--budget", "1", "--draws", "0")
    ended = prism("cause", str(own), *few)
    assert (ended.code, "people: 1 of 60 tried" in ended.out) == (0, True)
    assert f"not kept: {own / 'causes'}" in ended.err
    assert ": cannot be written" in ended.err
    (own / "causes").unlink()
    assert prism("pack", str(own), "--out", "own.prism").code == 0
    ended = prism("cause", "own.prism", *few)
    assert (ended.code, "people: 1 of 60 tried" in ended.out) == (0, True)
    assert "not kept: own.prism is a packed run" in ended.err


def test_without_scipy_it_says_what_to_install(embedded: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.cli.options.find_spec", lambda _: None)
    ended = prism("cause", str(embedded), "--of", "likes")
    assert (ended.code, "prism-sim[experiments]" in ended.err) == (2, True)


@pytest.mark.slow
def test_another_process_with_another_order_of_hashes_prints_the_same(own: Path) -> None:
    few = ("--budget", "8", "--draws", "1", "--top", "2", "--json")
    told = [
        subprocess.run(
            [sys.executable, "-m", "actors.cli", "cause", str(own), "--of", "likes", *few],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert json.loads(told[0])["causes"]
