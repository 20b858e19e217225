"""Every mistake in a configuration or an input file is a line of its own, and exit code 3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from actors.cli import main
from tests.catalogue import catalogue


class Mistake(NamedTuple):
    """A configuration, the files beside it, and the lines that it earns; `{dir}` is where they stand."""

    yaml: str
    line: str
    files: dict[str, str] | None = None
    overrides: tuple[str, ...] = ()


PEOPLE = json.dumps([{"realname": "Ada", "username": "ada", "interested_topics": ["science"]}])
MISTAKES = {
    "unknown_key": Mistake(
        "population:\n  sise: 3\n", "{dir}/c.yaml:2: population.sise: unknown key; did you mean population.size?"
    ),
    "wrong_type": Mistake(
        "simulation:\n  rounds: many\n", "{dir}/c.yaml:2: simulation.rounds: expected int 1 to 1000000000, got 'many'"
    ),
    "unknown_algorithm": Mistake(
        "feed:\n  algorithm: magic\n",
        "{dir}/c.yaml:2: feed.algorithm: expected one of: chronological, hot, interest, random, bridging, "
        "or an expression, got 'magic'",
    ),
    "not_yaml": Mistake(
        "simulation: [1,\n",
        "{dir}/c.yaml:1: not valid YAML: a bracket is not closed",
    ),
    "duplicate_key": Mistake(
        "simulation:\n  seed: 1\n  seed: 2\n", "{dir}/c.yaml:3: simulation.seed: stands twice, first in line 2"
    ),
    "bad_override": Mistake(
        "", "--set: simulation.seed: expected int 0 to 9223372036854775807, got 'x'", overrides=("simulation.seed=x",)
    ),
    "missing_graph": Mistake(
        "population: {graph: {path: '{dir}/none.txt'}}\n",
        "{dir}/c.yaml:1: population.graph.path: {dir}/none.txt: no such file in {dir}",
    ),
    "malformed_edge": Mistake(
        "population: {graph: {path: '{dir}/g.txt'}}\n",
        "{dir}/g.txt:3: expected two ids with spaces or a tab between them, got '3'",
        files={"g.txt": "# ties\n1 2\n3\n"},
    ),
    "profiles_of_nobody": Mistake(
        "population: {profiles: '{dir}/p.json'}\n",
        "{dir}/p.json: expected a key that describes people (name, realname, real_name, username, user_name, "
        "screen_name, user_char, persona, bio, description), got: age",
        files={"p.json": json.dumps([{"age": 40}])},
    ),
    "profiles_not_json": Mistake(
        "population: {profiles: '{dir}/p.json'}\n",
        "{dir}/p.json:2: bad JSON: Expecting ':' delimiter (column 13)",
        files={"p.json": '[\n{"realname" 3}]'},
    ),
    "several_contradictions": Mistake(
        "population: {size: 5, graph: {degree: 10}}\noracle: {tape: record}\n",
        "{dir}/c.yaml:1: population.graph.degree: expected graph.degree < the number of people, got 10 and 5\n"
        "prism: {dir}/c.yaml:2: oracle.tape: record needs a backend that asks a model: ollama or openai, got choice",
    ),
    "several_inputs": Mistake(
        "population:\n  profiles: none.json\n  graph: {path: none.txt}\n"
        "oracle:\n  sharing:\n    by: archetype\n    archetype:\n"
        "      mood: exact\n      topics: exact\n      likes: log2\n",
        "{dir}/c.yaml:8: oracle.sharing.archetype.mood: no such field: there are: agent.activity, agent.agreeableness, "
        "agent.conscientiousness, agent.engagement_threshold, agent.extraversion, agent.high_threshold, "
        "agent.interests, agent.low_threshold, agent.neuroticism, agent.openness, agent.pending_action, "
        "agent.personality, agent.ticks_in_state, agent.timeout_threshold, post.age_ticks, post.appeal, "
        "post.exposures, post.fatigue, post.followed, post.likes, post.popularity, post.quality, post.relevance, "
        "post.replies, post.reshares, post.topic_match, post.topics, post.velocity\n"
        "prism: {dir}/c.yaml:9: oracle.sharing.archetype.topics: post.topics has several texts at a time, and "
        "groups are of single values: name another field, such as post.topic_match\n"
        "prism: {dir}/c.yaml:2: population.profiles: none.json: no such file in {dir}\n"
        "prism: {dir}/c.yaml:3: population.graph.path: none.txt: no such file in {dir}",
    ),
}


@catalogue("command", ["validate", "run"])
@catalogue("name", MISTAKES)
def test_each_mistake_is_one_clear_line_and_exit_code_3(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake = MISTAKES[name]
    config = tmp_path / "c.yaml"
    config.write_text(mistake.yaml.replace("{dir}", str(tmp_path)))
    for file, text in (mistake.files or {}).items():
        (tmp_path / file).write_text(text)
    arguments = [command, str(config), *(part for override in mistake.overrides for part in ("--set", override))]
    monkeypatch.setattr("sys.argv", ["prism", *arguments])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 3
    assert printed.out == ""
    assert printed.err == "prism: " + mistake.line.replace("{dir}", str(tmp_path)) + "\n"
    assert not (tmp_path / "runs").exists(), "a run that cannot start leaves no directory"
