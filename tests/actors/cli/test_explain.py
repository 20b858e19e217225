"""`prism explain` and `prism cause`: their lines, their JSON, and the file in which a cause is kept."""

import json
import re
import shutil
from pathlib import Path

import pytest

from actors.explain.tree import COLUMNS, Node, lines
from actors.store.manifest import SUMMARY
from actors.studies.causes.record import kept_causes
from prism.social.chart import social_definition
from tests.actors.cli.conftest import Made
from tests.catalogue import catalogue
from tests.command import Prism
from tests.hostile_texts import TEXTS, harms_a_terminal
from tests.recorded import CHANGING_CHART


def first_question(prism: Prism, run: str) -> tuple[str, str]:
    """Return agent and tick of a question."""
    for agent in map(str, range(60)):
        path = json.loads(prism("explain", run, "--agent", agent, "--json").out)
        for turn in path["children"]:
            if turn.get("value", {}).get("source") == "question":
                return agent, str(turn["value"]["tick"])
    pytest.fail("nobody asked anything")


def test_a_path_leads_to_a_question_and_this_to_another_future(small_run: Path, prism: Prism) -> None:
    run = str(small_run)
    agent, tick = first_question(prism, run)
    path = prism("explain", run, "--agent", agent, "--first", tick, "--last", tick).out
    assert path.rstrip().splitlines()[-3].split()[-4:] == ["?", "asks", "the", "oracle"]
    turn = prism("explain", run, "--agent", agent, "--tick", tick).out
    for told in (f"\ntick {tick}: decides in evaluating, since ", "  row       no    ", "  values    post.relevance "):
        assert told in turn
    assert "by embedded; decided in tick " in turn
    change = ("--what-if", "answer=engaging_like", "--ticks", "3")
    other = prism("explain", run, "--agent", agent, "--tick", tick, *change).out
    assert "  answer    engaging_like instead of " in other
    assert max(map(len, (path + turn + other).splitlines())) <= 80


def test_a_post_is_shown_in_lines_and_in_json(small_run: Path, prism: Prism) -> None:
    summary = json.loads((small_run / "summary.json").read_text())["largest_cascade"]
    command = ("explain", str(small_run), "--post", str(summary["root_post"]))
    assert prism(*command).out.count("  why       tick ") >= summary["size"]
    given = json.loads(prism(*command, "--json").out)
    assert sum(each["kind"] == "post" for each in given["children"]) == summary["size"]


def test_an_agent_without_turns_is_said_to_have_none(made: Made, prism: Prism) -> None:
    run = str(made("--set", "population.activity.mean=0.05", "--ticks", "24"))
    shown = {agent: prism("explain", run, "--agent", agent).out for agent in map(str, range(20))}
    agent = next(agent for agent, out in shown.items() if ": 0 turns in 24 ticks" in out)
    assert "it has had no turn at all" in shown[agent]
    assert "it has had no turn at all" in prism("explain", run, "--agent", agent, "--tick", "3").err


@catalogue("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
def test_no_text_reaches_the_terminal_as_an_escape(text: str) -> None:
    text = text[:2_000]
    inner = Node(kind=text, text=text, value={text: text}, children=(Node(kind=text, value={text: [text]}),))
    rows = (Node(kind=COLUMNS, cells=(text, text)), Node(kind="turn", cells=(text, text)))
    said = Node(kind="text", text=text, value={"name": text})
    tree = Node(kind="agent", text=text, children=(inner, *rows, said, Node(kind="turn", text=text, children=(inner,))))
    for line in lines(tree):
        assert not harms_a_terminal(line)
        assert "\n" not in line


@pytest.fixture
def own(embedded: Path, tmp_path: Path) -> Path:
    """Return a copy of the run, in which causes are kept."""
    return Path(shutil.copytree(embedded, tmp_path / "own"))


def test_a_search_is_kept_and_packed_and_the_run_stays_as_it_was(own: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()}
    few = ("--budget", "6", "--draws", "1", "--top", "2", "--by", "people,decisions")
    found = json.loads(prism("cause", "own", "--of", "likes", *few, "--json").out)
    assert (found["of"], [each["kind"] for each in found["tried"]]) == ("likes", ["people", "decisions"])
    assert found["value"] == json.loads((own / "summary.json").read_text())["likes"]
    assert json.loads((own / "causes" / "likes.json").read_text()) == {**found, "run": "own"}
    assert {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()} == before
    assert prism("pack", "own").code == prism("unpack", "own.prism", "--out", "there").code == 0
    assert kept_causes(Path("there")) == kept_causes(own)


def test_a_search_is_shown_also_if_it_cannot_be_kept(own: Path, prism: Prism) -> None:
    few = ("--of", "likes", "--by", "people", "--budget", "1", "--draws", "0")
    assert prism("pack", "own").code == 0
    (own / "causes").write_text("a file is in the way")
    for run, told in (("own", "not kept: own/causes: cannot be written"), ("own.prism", "not kept: own.prism is a p")):
        ended = prism("cause", run, *few)
        assert (ended.code, "people: 1 of 60 tried" in ended.out, told in ended.err) == (0, True, True), ended


def test_without_scipy_it_says_what_to_install(embedded: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.cli.options.find_spec", lambda _: None)
    ended = prism("cause", str(embedded), "--of", "likes")
    assert (ended.code, "prism-sim[experiments]" in ended.err) == (2, True)


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
