"""`prism chart`: drawings of charts and of runs, and the rows that a run has taken."""

import json
import re
import shutil
from pathlib import Path

import pytest

from actors.store.manifest import SUMMARY
from prism.social.chart import social_definition
from tests.command import Prism

CHART = """\
initial: away
states:
  away:
    role: offline
    transitions: [{trigger: feed_ready, target: reading}]
  reading:
    role: browse
    after: {ticks: 2, trigger: timeout}
    transitions:
      - {trigger: sees_post, target: reading, when: post.appeal > 0.5}
      - {trigger: sees_post, target: reading}
      - {trigger: timeout, target: reading}
      - {trigger: round_ends, target: away}
"""


@pytest.mark.parametrize(
    ("name", "start"),
    [("c.mmd", "stateDiagram-v2"), ("c.svg", "<svg")],
)
def test_the_name_of_the_file_says_the_format(name: str, start: str, prism: Prism, tmp_path: Path) -> None:
    assert prism("chart", "--out", name).out == f"{name}: written\n"
    assert (tmp_path / name).read_text().startswith(start)


def test_the_file_of_the_default_chart_can_be_copied_and_is_the_same_chart(prism: Prism) -> None:
    assert prism("chart", "--out", "mine.yaml").code == 0
    assert prism("chart", "--set", "statechart.file=mine.yaml").out == prism("chart").out
    again = prism("chart", "--format", "yaml", "--set", "statechart.file=mine.yaml").out
    assert again == prism("chart", "--format", "yaml").out
    assert "# The default chart" in again


def test_a_run_is_drawn_on_the_chart_that_it_has_kept(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(CHART)
    (tmp_path / "c.yaml").write_text("simulation: {rounds: 1}\npopulation: {size: 20}\nstatechart: {file: own.yaml}\n")
    assert prism("run", "c.yaml", "--out", "run", "-q").code == 0
    before = [prism("chart", option, "run").out for option in ("--run", "--coverage")]
    (tmp_path / "own.yaml").unlink()
    assert [prism("chart", option, "run").out for option in ("--run", "--coverage")] == before
    assert prism("chart", "--run", "run", "--format", "yaml").out == CHART


def test_a_chart_of_ones_own_is_run_and_drawn_with_what_the_run_did(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(CHART)
    (tmp_path / "c.yaml").write_text("simulation: {rounds: 3}\npopulation: {size: 40}\nstatechart: {file: own.yaml}\n")
    assert prism("run", "c.yaml", "--out", "run", "-q", "--set", "population.posts_per_session=0.5").code == 0
    assert prism("chart", "c.yaml").out == prism("chart", "--set", "statechart.file=own.yaml").out
    drawn = prism("chart", "--run", "run", "--format", "mermaid").out
    assert re.findall(r'state "(\w+)<br/>', drawn) == ["away", "reading"]


def test_a_fault_is_a_line_with_values_that_show_it_and_exit_code_4(prism: Prism, tmp_path: Path) -> None:
    rival = "      - {trigger: sees_post, target: away, when: post.appeal > 0.4}\n"
    faulty = CHART.replace("      - {trigger: sees_post, target: reading}\n", rival)
    (tmp_path / "own.yaml").write_text(f"{faulty}  lost: {{transitions: [{{trigger: round_ends, target: away}}]}}\n")
    ended = prism("chart", "--lint", "--set", "statechart.file=own.yaml")
    assert ended.code == 4
    assert "reading, sees_post: overlap: " in ended.out
    assert "post.appeal = " in ended.out
    assert "lost: unreachable: " in ended.out


def test_coverage_adds_up_to_the_transitions_of_the_run(small_run: Path, prism: Prism, tmp_path: Path) -> None:
    run = shutil.copytree(small_run, tmp_path / "run")
    ended = prism("chart", "--coverage", "run")
    assert ended.code == 0
    *rows, last = ended.out.splitlines()
    times = [int(row.split()[0].replace(",", "")) for row in rows]
    summary = json.loads((run / SUMMARY).read_text())
    assert sum(times) == sum(summary["transitions_by_trigger"].values())
    definition = social_definition()
    assert len(rows) == sum(len(path[-1].rows) for path in definition.walk())
    never = times.count(0)
    assert last == f"{len(rows) - never} of {len(rows)} rows taken, {never} never"


def test_a_run_of_another_chart_is_refused(small_run: Path, prism: Prism, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    (tmp_path / "own.yaml").write_text(CHART)
    ended = prism("chart", "--set", "statechart.file=own.yaml", "--run", "run")
    assert ended.code != 0
    assert "statechart" in ended.err or "states that this chart does not have" in ended.err
