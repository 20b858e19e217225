"""What has no effect, on the terminal: before a run, at its start, and at its end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from actors import read_result
from tests.actors.factory.test_no_effect import LURKING, TOLD
from tests.command import Prism
from tests.plain import plain_text


def test_validate_and_lint_say_that_a_delay_is_too_long_for_most(prism: Prism, tmp_path: Path) -> None:
    shutil.copy(LURKING, tmp_path)
    (tmp_path / "study.yaml").write_text("statechart: {file: lurking.yaml}")
    assert f"without effect: lurking: {TOLD}\n" in prism("validate", "study.yaml").out
    linted = prism("chart", "study.yaml", "--lint")
    assert (linted.code, linted.out) == (4, f"lurking, timeout: too_long: {TOLD}\n1 fault, 0 notices\n")


SPARSE = "feed.out_of_network: "
"""People who follow few, with strangers in a fifth of their feeds: these have more of them."""


@pytest.mark.slow
def test_every_command_that_shows_runs_says_what_was_not_as_configured(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(plain_text("simulation: {rounds: 3}\npopulation: {size: 60}\n"))
    (tmp_path / "e.yaml").write_text(
        "question: Do more rounds matter?\nbase: study.yaml\nseeds: 2\n"
        "design: {conditions: {three: {}, four: {simulation.rounds: 4}}}\n"
        "measures: {likes: likes, people: agents}\n"
    )
    ran = prism("run", "study.yaml", "--out", "runs/one")
    (told,) = json.loads(Path("runs/one/summary.json").read_bytes())["not_as_configured"]
    assert told["realised"] > 0.25 > told["configured"]
    line = f"not as configured: {SPARSE}{told['realised']:.1%}, not 20.0%: {told['message']}"
    assert line in " ".join(ran.out.split())
    assert line in prism("runs", "runs").out
    assert f"runs/one: {line}" in prism("export", "runs/one", "--to", "csv", "--out", "tables").err
    prism("report", "runs/one", "--out", "one.html", "--quiet")
    assert f'<p class="notice">{line}</p>' in Path("one.html").read_text()
    assert f"<b>{line}</b>" in read_result("runs/one")._repr_html_()
    for mode in ([], ["--quiet"]):
        done = prism("experiment", "e.yaml", "--out", "e", "--jobs", "1", *mode)
        assert done.code == 0, done.err
    many = ["not as configured in 2 of 2 runs (three): feed.out_of_network: ", "the measure people is 60 in all 4 runs"]
    prism("report", "e", "--out", "e.html", "--quiet")
    for part in many:
        assert part in prism("experiment", "e.yaml", "--out", "e", "--jobs", "1").out.replace("\n", " ")
        assert f'<p class="notice">{part}' in Path("e.html").read_text()
