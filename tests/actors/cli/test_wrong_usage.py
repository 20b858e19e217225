"""Wrong usage: every command says in one line what is wrong, ends with its exit code, and leaves nothing behind."""

import re
import shlex
import shutil
import socket
from pathlib import Path

import pytest

from prism.social.chart import social_chart_text
from tests.actors.cli.conftest import SMALL, Made
from tests.command import Prism, prism_alone
from tests.economy.support import US_PATH
from tests.recorded import CHANGING_CHART

ECONOMY = """
simulation: {domain: economy, rounds: 16, ticks_per_round: 1, tick_seconds: 7889400}
population: {deliberation_minutes: 0}
"""
WRONG = """\
#
rnu => No such command 'rnu' ... Did you mean 'run'?
# run
small.yaml --out mine => mine: is not empty; a run needs a directory of its own
none.yaml => 3: none.yaml: no such file; write one to start from with: prism init DIR
# run small.yaml --quiet --ticks 1 --out o --set oracle.backend=ollama
--set oracle.tape=replay --set oracle.tape_path=t.sqlite => 5: t.sqlite: there is no such tape
--set oracle.tape=replay --set oracle.tape_path=small.yaml => 5: small.yaml: is no tape
--set oracle.tape=record --set oracle.tape_path=x/t.sqlite => 5: x/t.sqlite: its directory does not exist
--set llm.host=ftp://x => 5: llm.host is not an address
# validate small.yaml --set oracle.backend=ollama
--set oracle.tape=replay --set oracle.tape_path=small.yaml => 5: small.yaml: is no tape
# explain run
=> expected --agent or --post, got none of them
--agent 1 --post 2 => expected --agent or --post, got both
--post 'Ann, post 1' => expected the number of a post, from the column post of `prism export`, or post_id
--post 2 --tick 3 => --tick goes with --agent
--agent 1 --tick 3 --first 2 => --first and --tick cannot be used together
--agent 1 --first 9 --last 3 => expected a tick from --first 9 on, got 3
--agent 1 --what-if answer=idle => --what-if goes with --agent and --tick
--agent 1 --tick 3 --what-if idle => expected answer=STATE, got 'idle'
--agent 60 => there is no agent 60; the run has the agents 0 to 59
--agent 1 --tick 72 => there is no tick 72; the run has the ticks 0 to 71
--post 1 => there is no post 1 in the ticks 0 to 71
# cause run
--of likes --by people,likes => expected some of interventions,people,decisions,ties,posts, got 'likes'
--of likez => did you mean likes
--of likes --since 72 => there is no tick 72; the run has the ticks 0 to 71
--of cascade:1 => there is no post 1
--of cascade.alone => did you mean cascades.alone?
=> Missing option '--of'
# ask run --questions asked.yaml
--at 7 => there is no end of round 7; the run has 3 whole rounds
--agents 60 => there is no agent 60; the run has the agents 0 to 59
--agents 7-3 => expected agents from the lower number on, got 7-3
--agents Nobody => no agent is called 'Nobody'
--set feed.size=3 => feed.size cannot be set here: people are asked as they were
--set oracle.tape_path=x => oracle.tape_path cannot be set here
--set llm.memory=3 => llm.memory cannot be set here: people remember as in the recorded run
--out run => run: exists already, and has no answers of `prism ask`
--out run/answers => run/answers: is inside the run run
--out a/b/c => a/b: no such directory
--questions missing.yaml => 3: missing.yaml: no such file; expected a YAML file with questions
# audit
small.yaml => Invalid value for 'RUN|EXPERIMENT': small.yaml is a file; expected a run's or an experiment's directory
# chart
--lint --out c.svg => --lint and --out cannot be used together
--coverage nowhere => nowhere: no such run
--set statechart.file=own.yaml --run run => 3: statechart
--out chart.png => chart.png: expected a name that ends in one of .mmd, .svg, .yaml
# export
run --to csv --tables post => post: there is no such table; did you mean posts?
run --to xlsx => 'xlsx' is not one of 'parquet', 'csv'
run => expected --to parquet or --to csv, or a query in --sql
--to csv => Missing argument 'RUN...'
run --to csv --tables feeds => run: no table feeds: feeds were not recorded: set run.record_feeds
one --to csv => one: is no run's directory: it has no manifest.json; it has 1 run: one/*
run ./run --to csv => run: is named twice
run --to csv --out a/b => a: no such directory
run --to csv --out run => run: exists already, and is no export, so it is not replaced
run --to csv --out run/csv => run/csv: is inside the run run
run --sql 'SELECT 1 FROM postss' => there is no table postss; did you mean posts?
run --sql 'SELECT name::INT FROM agents' => Could not convert string
run --sql 'DROP TABLE posts' => expected a SELECT: the tables of runs can only be read
run --sql "FROM 'http://127.0.0.1:9/x.csv'" => requires the extension httpfs
# fork run --out child
--at 73 => run: has 72 ticks, not 73
--at 30 --set population.ambiguity=0.9 => \
run: cannot be forked: population.ambiguity is 0.9, was ... . A fork has its parent's people and time; begin a new run
--at 30 --set simulation.seed=6 => \
run: cannot be forked: simulation.seed is 6, was 5 ... . A fork has its parent's people and time; begin a new run
--at 30 --set oracle.backend=ollama --set llm.host=http://127.0.0.1:9 => \
5: no Ollama server answers at http://127.0.0.1:9
--at 30 --set statechart.file=wandering.yaml -q => \
3: statechart.file: people are in states that this chart does not have: scrolling
# init
kept => kept/prism.yaml: exists already and was left as it is
--example ecnomy => no example is called 'ecnomy'; there are: ... prism: default ... prism: stress
--example economy => economy/data/us-macro-quarterly.csv: exists already
--example economy --template domain => exclude each other
--settings feed.re mine => take no DIR, got 'mine'
--settings sise => no setting has 'sise' in its name
# testing serve --port 0
--fault hang=0.9 --fault cut=0.2 => shares of faults: must be at least 0 and at most 1 together, not
--model '' => models: each needs a name
--fault fire=0.1 => Invalid value for '--fault': 'fire=0.1' is not NAME=SHARE, as in hang=0.1; faults are hang, cut,
--fault-at x=hang => Invalid value for '--fault-at': 'x=hang' is not N=NAME, as in 3=reset
--latency inf => Invalid value for '--latency': inf is not in the range 0<=x<=3600
--log no/such/dir.log => Invalid value for '--log': 'no/such/dir.log': No such file or directory
# validate-world
nowhere => nowhere:
run again => again: has the seed of run: the same run twice tells no more than once
run other => different seeds; feed is not that of run
damaged => 1: damaged: its journal is damaged:
begun => begun: has not ended; `prism resume begun` goes on with it
run --against missing.csv => 3: missing.csv:
run --against small.yaml => 3: small.yaml:1: expected the columns of cascades (
run --against US_PATH => 3: has figures for runs with quarters, and these are social runs
run nation => different seeds; simulation is not that of run
nation => 3: --against: an economy is compared with quarterly figures
nation --against short.csv => 3: short.csv: expected at least 16 quarters, got 7
young --against US_PATH => young: expected an economy of at least 12 quarters, got 8
#
verify c => IS_A_CALIBRATION
export c --to csv --out tables => IS_A_CALIBRATION
report c => IS_A_CALIBRATION
view c --port 0 => IS_A_CALIBRATION
verify e => IS_AN_EXPERIMENT
export e --to csv --out tables => IS_AN_EXPERIMENT
# view
none --port 0 => none: no such run or directory
# play
run => is the directory of a run: expected a configuration, such as
small.yaml --tape . => 5: tape.sqlite: there is no such tape; record it first
"""
"""Behind each # a command, and below it further words with what is said: `words => code: part ... part`.

Without a number the exit code is 2.
"""
CALIBRATION = """prism: c: is a calibration, not a run; its result is in calibration.json; \
`prism calibrate FILE` shows it, and `prism view c/cells` its runs"""
EXPERIMENT = "prism: e: is an experiment, not a run; `prism report e` and `prism view e` show it"


@pytest.fixture(scope="module")
def place(small_run: Path, made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with runs and files that commands refuse."""
    place = tmp_path_factory.mktemp("wrong")
    for name in ("run", "again", "damaged", "begun", "one/run"):
        shutil.copytree(small_run, place / name)
    shutil.copytree(made("--set", "feed.size=2", "--set", "simulation.seed=6"), place / "other")
    (place / "begun" / "summary.json").unlink()
    journal = bytearray((place / "damaged" / "journal.prism").read_bytes())
    journal[len(journal) // 2] ^= 1
    (place / "damaged" / "journal.prism").write_bytes(journal)
    for path, text in {
        "small.yaml": SMALL,
        "nations.yaml": ECONOMY,
        "asked.yaml": "questions: [{id: one, text: Well, scale: [0, 1], answer: '1'}]\n",
        "own.yaml": CHANGING_CHART,
        "wandering.yaml": social_chart_text().replace("scrolling", "wandering"),
        "mine/thesis.txt": "precious",
        "kept/prism.yaml": "mine",
        "economy/data/us-macro-quarterly.csv": "mine",
        "short.csv": "".join(US_PATH.read_text().splitlines(keepends=True)[:8]),
    }.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    for kept in ("c/cells", "c/observed", "e/cells", "e/plans"):
        (place / kept).mkdir(parents=True)
    for name, ticks in (("nation", "16"), ("young", "8")):
        config = str(place / "nations.yaml")
        assert prism_alone("run", config, "--ticks", ticks, "-q", "--out", str(place / name)).code == 0
    return place


def content(place: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in place.rglob("*")}


def test_wrong_usage_is_one_line_and_leaves_nothing(prism: Prism, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    before, wrong, command = content(place), [], ""
    text = (
        WRONG.replace("US_PATH", str(US_PATH))
        .replace("IS_A_CALIBRATION", CALIBRATION)
        .replace("IS_AN_EXPERIMENT", EXPERIMENT)
    )
    for case in text.splitlines():
        if case.startswith("#"):
            command = case[1:]
            continue
        words, _, told = case.partition("=> ")
        code, told = (int(told[0]), told[3:]) if told[:1].isdigit() and told[1:3] == ": " else (2, told)
        ended = prism(*shlex.split(command), *shlex.split(words))
        said = " ".join(ended.err.split())
        is_told = all(part.strip() in said for part in told.split(" ... ")) and "Traceback" not in said
        is_line = ended.err.splitlines()[-1].startswith("prism: ") and (code != 3 or ended.err.count("\n") == 1)
        if (ended.code, ended.out, is_told, is_line) != (code, "", True, True):
            wrong.append((command, words, ended))
    assert wrong == []
    assert content(place) == before


def test_a_port_in_use_is_one_clear_line_before_anything_is_written(prism: Prism) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        watched = ("--set", "metrics.enabled=true", "--set", f"metrics.port={port}")
        for command, who, option in (
            (("view", ".", "--port", port), "view", "--port"),
            (("play", "small.yaml", "--port", port), "play", "--port"),
            (("run", "small.yaml", *watched), "metrics", "metrics.port"),
        ):
            told = f"prism: {who}: cannot listen on 127.0.0.1:{port}: Address already in use; set {option} to another "
            ended = prism(*command)
            assert (ended.code, ended.out, ended.err) == (2, "", f"{told}port, or to 0 for any free one\n"), ended
    assert [path.name for path in Path().iterdir()] == ["small.yaml"]


ON_RUNS = """
resume, fork --at 1, replay, verify, pack, explain, cause, audit, report, export --to csv, ask --questions q.yaml,
chart --run, chart --coverage, validate-world, view
"""


def test_a_run_that_is_not_there_is_one_line_with_names_that_are_alike(prism: Prism, tmp_path: Path) -> None:
    for kept in ("runs/feed-001/manifest.json", "experiments/feed/plans"):
        Path(kept).mkdir(parents=True)
    for line in ON_RUNS.replace("\n", " ").split(","):
        ended = prism(*line.split(), "feed-01")
        expected = r"prism: feed-01: no such run.*; there is runs/feed-001 and experiments/feed\n"
        assert (ended.code, bool(re.fullmatch(expected, ended.err))) == (2, True), (line, ended.err)
    assert prism("audit", "other").err == "prism: other: no such run or experiment\n"
    assert {each.name for each in tmp_path.iterdir()} == {"runs", "experiments", "small.yaml"}
