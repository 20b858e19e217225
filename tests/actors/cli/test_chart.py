"""`prism chart`: drawings of charts and of runs, and the rows that a run has taken."""

import json
import re
from pathlib import Path

from actors.store.manifest import SUMMARY
from prism.social.chart import social_definition
from tests.command import Prism
from tests.recorded import CHANGING_CHART

FAULTY = """\
initial: away
states:
  away: {role: offline, transitions: [{trigger: feed_ready, target: reading}]}
  reading:
    role: browse
    transitions:
      - {trigger: sees_post, target: reading, when: post.appeal > 0.5}
      - {trigger: sees_post, target: away, when: post.appeal > 0.4}
      - {trigger: round_ends, target: away}
  lost: {transitions: [{trigger: round_ends, target: away}]}
"""


def test_the_name_of_the_file_says_the_format(prism: Prism) -> None:
    for name, start in (("c.mmd", "stateDiagram-v2"), ("c.svg", "<svg")):
        assert prism("chart", "--out", name).out == f"{name}: written\n"
        assert Path(name).read_text().startswith(start)


def test_the_file_of_the_default_chart_can_be_copied_and_is_the_same_chart(prism: Prism) -> None:
    assert prism("chart", "--out", "mine.yaml").code == 0
    assert prism("chart", "--set", "statechart.file=mine.yaml").out == prism("chart").out
    assert "# The default chart" in prism("chart", "--format", "yaml", "--set", "statechart.file=mine.yaml").out


def test_a_run_is_drawn_on_the_chart_that_it_has_kept(prism: Prism, changed_run: Path) -> None:
    run = str(changed_run)
    assert prism("chart", "--run", run, "--format", "yaml").out == CHANGING_CHART
    states = re.findall(r'state "(\w+)<br/>', prism("chart", "--run", run).out)
    assert {"away", "reading", "judging"} <= {*states} <= {*re.findall(r"^ +(\w+):", CHANGING_CHART, re.MULTILINE)}


def test_a_fault_is_a_line_with_values_that_show_it_and_exit_code_4(prism: Prism) -> None:
    Path("own.yaml").write_text(FAULTY)
    ended = prism("chart", "--lint", "--set", "statechart.file=own.yaml")
    assert ended.code == 4
    for told in ("reading, sees_post: overlap: ", "post.appeal = ", "lost: unreachable: "):
        assert told in ended.out


def test_coverage_adds_up_to_the_transitions_of_the_run(small_run: Path, prism: Prism) -> None:
    ended = prism("chart", "--coverage", str(small_run))
    assert ended.code == 0
    *rows, last = ended.out.splitlines()
    times = [int(row.split()[0].replace(",", "")) for row in rows]
    summary = json.loads((small_run / SUMMARY).read_text())
    assert sum(times) == sum(summary["transitions_by_trigger"].values())
    assert len(rows) == sum(len(path[-1].transitions) for path in social_definition().walk())
    never = times.count(0)
    assert last == f"{len(rows) - never} of {len(rows)} rows taken, {never} never"
