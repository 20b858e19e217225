"""Wrong inputs of every kind: each mistake is one line that names the file, the key or the line, and what was expected.

An input is right if the line is the expected one; an expected line that ends in `...` is the beginning of it.
"""

import gzip
import json
import os
import re
import shlex
import shutil
import socket
from pathlib import Path

import pytest

from prism.social.chart import social_chart_text
from tests.actors.cli.conftest import ECONOMY, SMALL, Made
from tests.command import Prism, prism_alone
from tests.economy.support import US_PATH
from tests.recorded import CHANGING_CHART

EPOCH = "expected date and time with UTC offset"
ALGORITHM = "expected one of: chronological, hot, interest, random, bridging, or an expression"
QUOTES = "put the text in quotes"
INDENT = "expected the indent of a key above, or quotes around all of a text"
BRACKET = "a bracket is not closed, or a text needs quotes around it"
COLON = "expected a key with a colon and a space behind it"
SIZE = "population.size: expected int 1 to 10000000, got"
CONTRADICTIONS = """3: oracle.tape: oracle.tape=replay needs oracle.backend: ...
c.yaml:3: oracle.tape: oracle.tape=replay needs oracle.tape_path: ...
c.yaml:2: population.topics: expected ..., got 3 and 1"""
ARCHETYPE = "oracle:\n  sharing:\n    by: archetype\n    archetype:\n"
ABSENT = """population:
  profiles: none.json
  graph: {path: none.txt}
oracle:
  sharing:
    by: archetype
    archetype:
      mood: exact
"""

TEXTS: dict[str | bytes, str] = {
    # YAML
    "population:\n  size: 20\n   ambiguity: 0.2\n": f"3: not valid YAML: {INDENT} with a colon",
    "a:\n  b: 1\n c:\n  d: 2\n": f"3: not valid YAML: {INDENT}, got c:",
    "a:\n b:\n   c: 1\n# d\n  e: f\n": f"5: not valid YAML: {INDENT}, got e:",
    "a:\n- b: 1\n  c: {}\n d: 3\n": f"4: not valid YAML: {INDENT}, got d:",
    "population:\n\tsize: 20\n": "2: not valid YAML: expected an indent of spaces, got a tab",
    "population:\n  size:20\n": "1: population: expected a key with a colon and a space ..., got 'size:20'",
    "population:\n  size:20\n  ambiguity: 0.2\n": f"2: not valid YAML: {COLON}",
    "a:\n  b: 1\n  c\n  d: 2\n": f"3: not valid YAML: {COLON}",
    "run: {question: ?}\n": "1: not valid YAML: a text that begins with ?: put the text in quotes",
    "run:\n  question: ? what\n": "2: not valid YAML: a text that begins with ?: put the text in quotes",
    "run: {question: Does it spread?}\n": f"1: not valid YAML: expected ',' or '}}', but got '?': {BRACKET}",
    "run:\n  question: Feed: does it matter\n": f"2: not valid YAML: {INDENT} with a colon",
    "a: {b: c: d}\n": f"1: not valid YAML: expected ',' or '}}', but got ':': {BRACKET}",
    "a: @b\n": f"1: not valid YAML: a text that begins with @: {QUOTES}",
    "a: - b\n": f"1: not valid YAML: a - outside of quotes: {QUOTES}, or write a list below its key",
    "simulation:\n  seed: ]\n": "2: not valid YAML: a ] without a bracket that opens",
    "simulation: [1,\n": "1: not valid YAML: a bracket is not closed",
    "a:\n  b: [c, d\n  e: {f: 4}\n": f"2: not valid YAML: expected ',' or ']', but got ':': {BRACKET}",
    "run:\n  question: 'why\n  sync: true\n": "2: not valid YAML: a quote is not closed",
    "a: {b: [1, 2}\n": f"1: not valid YAML: expected ',' or ']', but got '}}': {BRACKET}",
    "a: {b: 1}}\n": "1: not valid YAML: a } without a bracket that opens",
    "feed: {}\n---\nrun: {}": "2: not valid YAML: expected one document, got another behind ---",
    "feed: {}\n\x07": r"2: not valid YAML: the character '\x07' is not allowed",
    "feed: {size: !!int 3}": "1: !!int: YAML tags are not supported",
    "feed: &x {}\nrun: *x": "2: *x: YAML aliases are not supported",
    "- population": "1: expected sections at the top, got ['population']",
    "population": "1: expected sections at the top, got 'population'",
    "population: {size: 20}\n".encode("utf-16"): "1: expected UTF-8 text, got byte 0xff: save it as UTF-8",
    "run: {question: Fa\xdfung}\n".encode("latin-1"): "1: expected UTF-8 text, got byte 0xdf: save it as UTF-8",
    b"\xef\xbb\xbfpopulation:\r\n  sise: 20\r\n": "2: population.sise: unknown key; did you mean population.size?",
    b"\x89PNG\r\n\x1a\n": " is a PNG picture: expected text",
    b"PK\x03\x04": " is a zip archive or spreadsheet: expected text",
    gzip.compress(b"feed: {}"): " is packed with gzip; expected a YAML file",
    # Keys
    "population:\n  graph:\n    kinds: x": "3: population.graph.kinds: unknown key; did you mean ...",
    "population: {graph: {file: x}}": "1: population.graph.file: unknown key; did you mean population.graph.path?",
    "seed: 3": "1: seed: unknown key; did you mean simulation.seed or llm.seed?",
    "population: {graph_degree: 3}": "1: population.graph_degree: unknown key; did you mean population.graph.degree?",
    "population.size: 3": "1: population.size: unknown key; a key stands below its section: population: {size: ...}",
    "Population: {size: 20}": "1: Population: unknown key; did you mean population?",
    "feed: {out-of-network: 0.1}": "1: feed.out-of-network: unknown key; did you mean feed.out_of_network?",
    "zzz: 1": "1: zzz: unknown key; the top has: simulation, population, feed, statechart, oracle, llm, economy, ...",
    "feed: {zzz: 1}": "1: feed.zzz: unknown key; feed has: algorithm, size, ...",
    '"": 1': "1: '': unknown key; the top has: ...",
    "population:\n  size: 1\n  size: 2": "3: population.size: stands twice, first in line 2",
    "feed: {size: 3}\nrun: {}\nfeed: {memory: 3}": "3: feed: stands twice, first in line 1",
    "population: {1: 2}": "1: population: expected a name as key, got 1",
    "? [a]\n: b": "1: expected a name as key, got ['a']",
    "population: 3": "1: population: expected {size, profiles, ...",
    "feed:\n  - size: 10": "1: feed: expected {algorithm, size, ...",
    # Values
    "population:\n  size: 0": f"2: {SIZE} 0",
    "population: {size: -5}": f"1: {SIZE} -5",
    "population: {size: 3.0}": f"1: {SIZE} 3.0",
    "population: {size: true}": f"1: {SIZE} true",
    "population: {size: 0042}": f"1: {SIZE} '0042'",
    "population:\n  size: 2,000": f"2: {SIZE} '2,000'",
    "population:\n  size:": f"2: {SIZE} null",
    "population: {size: {a: 1}}": f"1: {SIZE} a mapping",
    "population: {ambiguity: 20%}": "1: population.ambiguity: expected float 0 to 1, got '20%'",
    "population:\n  ambiguity: 0,2": "2: population.ambiguity: expected float 0 to 1, got '0,2'",
    "population: {response: {median_s: 15 min}}": "1: population.response.median_s: expected float 0 to 1e+09, ...",
    "population: {profiles: [a]}": "1: population.profiles: expected text or none, got ['a']",
    "population: {activity: {mean: 0}}": "1: population.activity.mean: expected float > 0 and <= 1, got 0",
    "oracle: {rate_per_s: 0}": "1: oracle.rate_per_s: expected float 0.001 to 100000 or none, got 0",
    "statechart: {oracle_enabled: off}": "1: statechart.oracle_enabled: expected true or false, got 'off'",
    "feed: {algorithm: chronologic}": f"1: feed.algorithm: {ALGORITHM}, got 'chronologic'; did you mean chronological?",
    "feed: {algorithm: magic}": f"1: feed.algorithm: {ALGORITHM}, got 'magic'",
    "feed: {algorithm: post.likez * 2}": "1: feed.algorithm: column 1 of 'post.likez * 2': unknown field ...",
    "population: {graph: {kind: power-law}}": "1: population.graph.kind: expected one of: barabasi_albert, ...",
    "simulation: {tick_seconds: .inf}": "1: simulation.tick_seconds: expected float > 0 and <= 10000000, got .inf",
    "oracle: {choice: {like: .nan}}": "1: oracle.choice.like: expected float -100 to 100, got .nan",
    "population: {topics: a}": "1: population.topics: expected list of non-empty text, at least 1, got 'a'",
    "population:\n  topics:\n    - a\n    - 3": "4: population.topics[1]: expected non-empty text, got 3",
    "economy: {macro: {gap_lags: [1.0]}}": "1: economy.macro.gap_lags: expected list of float -2 to 2, exactly ...",
    "simulation: {epoch: 2026-02-03 10:00:00}": f"1: simulation.epoch: {EPOCH}, got 2026-02-03 10:00:00",
    "simulation: {epoch: 2026-02-30}": "1: simulation.epoch: expected a valid timestamp, got '2026-02-30'",
    f"simulation: {{seed: {'9' * 5000}}}": f"1: simulation.seed: expected a valid int, got '{'9' * 56}...",
    "simulation: {domain: socail}": "1: simulation.domain: expected social, economy, or module:function for a ...",
    "simulation: {domain: 'nomodule_here:build'}": "1: simulation.domain: no module 'nomodule_here' on Python's ...",
    "llm: {api_key_env: sk-abcdefghijklmnop}": "1: llm.api_key_env: expected the name of an environment variable ...",
    "population: {attributes: {age: {type: integer}}}": "1: population.attributes.age.type: expected one of: ...",
    "interventions: [{round: 2, tick: 3, silence: [1]}]": "1: interventions[0].tick: expected exactly one of ...",
    "interventions:\n  - {round: 2, silence: [4000]}": "2: interventions[0].silence[0]: expected the number of ...",
    # Settings together, and several mistakes
    "population:\n  topics: [a]\n  interests_per_person: 2": "3: population.interests_per_person: ..., got 2 and 1",
    "population: {topics: [a, b, c, b]}": "1: population.topics: expected values that differ, got 'b' more than once",
    "population:\n  graph:\n    kind: profiles": "3: ...: population.graph.kind=profiles needs population.profiles ...",
    'simulation: {epoch: "9999-12-31T23:00:00Z"}': "1: simulation.epoch: expected all of the run between the years ...",
    "oracle: {mode: realtime}": "1: oracle.mode: oracle.mode=realtime needs run.tick_s: ...",
    "oracle: {tape: record}": "1: oracle.tape: ...=record needs oracle.backend: expected ollama or openai, got choice",
    "oracle: {backend: ollama, tape: replay}": "1: oracle.tape: ...=replay needs oracle.tape_path: ...",
    "{oracle: {backend: ollama, tape: record, mode: realtime}, run: {tick_s: 1}}": "1: oracle.mode: ...needs ...",
    "feed: {reshare_credit: newest}\nrun: {shards: 2}": "2: run.shards: run.shards=2 needs feed.reshare_credit: ...",
    "simulation: {domain: economy}\n\nllm: {method: probabilities}": "3: llm.method: ...=economy needs llm.method: ...",
    "population: {sise: 3}\nfeed: {size: 0}\n": "1: population.sise: unknown key; ...\nc.yaml:2: feed.size: ...",
    "feed: {exposure: simple}\npopulation: {topics: [art]}\noracle: {tape: replay}\n": CONTRADICTIONS,
    f"{ARCHETYPE}      folowed: exact\n": "5: ...archetype.folowed: no such field: did you mean followed?...",
    f"{ARCHETYPE}      likes: log2\n      post.likes: exact\n": "6: ...: the field has groups already, as likes: ...",
    ABSENT: "8: ...no such field: ...\nc.yaml:2: ...: none.json: no such ...\nc.yaml:3: ...: none.txt: no such ...",
}
"""`{text of c.yaml: the line behind its name}`."""

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
EXPERIMENT = (
    "question: does it?\nbase: c.yaml\ndesign:\n  conditions: {a: {feed.size: 3}, b: {feed.size: 5}}\n"
    "seeds: 2\nmeasures: {m: posts}\n"
)
FILES: dict[str, str | bytes] = {
    "c.yaml": "simulation: {ticks: 5}\npopulation: {size: 20}\n",
    "exp.yaml": EXPERIMENT,
    "bad-exp.yaml": EXPERIMENT.replace("seeds: 2", "seeds: none"),
    "cal.yaml": "question: what?\nbase: c.yaml\nparameters: {}\n",
    "ask.yaml": "questions: []\n",
    "chart.yaml": "initial: a\nstates: {a: {}}\n",
    "empty.yaml": "",
    "target.yaml": "initial: a\nstates:\n  a:\n    role: offline\n    transitions: [{trigger: sees_post, target: b}]\n",
    "run/manifest.json": "{}",
    "people.csv": "user_id,name,party\nada,Ada,left\nbo,Bo,right\ncy,Cy,left\n",
    "people.csv.gz": gzip.compress(b"user_id,name,party\nada,Ada,left\nbo,Bo,right\ncy,Cy,left\n"),
    "people.json": '{"data": [{"username": "ada", "persona": "bakes"}]}',
    "nobody.json": '[{"age": 40}]',
    "bad.json": '[\n{"realname" 3}]',
    "latin.csv": "name\nFa\xdf\n".encode("latin-1"),
    "ages.csv": "name,age\nAda,40\nBo,forty\n",
    "ties.csv": "source,target\nada,bo\n",
    "stranger.csv": "source,target\nada,bo\nbo,eve\n",
    "numbers.csv": "source,target\n1,2\n2,3\n",
    "ties.txt": "# by hand\n1 2\n2 3\n3 1\n",
    "half.txt": "# ties\n1 2\n3\n",
    "none.csv": "",
    "posts.csv": "text,topics\nTaxes rise,taxes\n",
    "shares.csv": "region,share\nnorth,0.4\nsouth,0.6\n",
    "hours.csv": "id," + ",".join(f"h{hour:02}" for hour in range(24)) + "\n",
    "macro.csv": "date,GDPC1,CPIAUCSL,TB3MS,UNRATE\n1990-01-01,9364.3,127.5,7.76,5.4\n",
    "design.csv": "name;feed.size\na;3\n",
    "g.graphml": "<graphml></graphml>",
    "photo.png": PNG,
    "photo.csv": PNG,
}
RUN = "is the configuration of a run: `prism run` takes it, and the key `base` of an experiment"
PEOPLE = "it looks like a list of people: population.profiles takes it"
TIES = "it looks like a table of ties: population.graph.path takes it"
ANOTHER = """
run & none.yaml => none.yaml: no such file; write one to start from with: prism init DIR
run & run => run: is the directory of a run: `prism resume run` goes on with it; run/config.yaml is its file
run & . => .: is a directory; expected a YAML file
run & /dev/zero => /dev/zero: is a device; expected a YAML file
run & pipe => pipe: is a named pipe; expected a YAML file
run & exp.yaml => exp.yaml: is an experiment: `prism experiment` takes it
run & cal.yaml => cal.yaml: is a calibration: `prism calibrate` takes it
run & ask.yaml => ask.yaml: is a questionnaire: `prism ask` takes it
run & chart.yaml => chart.yaml: is a chart: statechart.file takes it
run & people.csv => people.csv:1: expected sections at the top, got ...; {PEOPLE}
run & people.json => people.json:1: data: unknown key; ...; {PEOPLE}
run & design.csv => \
design.csv:1: ...; it looks like a table of conditions: the key `design.file` of an experiment takes it
run & g.graphml => g.graphml: is a graph (graphml): population.graph.path takes it
run & large.csv => large.csv: is longer than the 65,536 characters that a configuration may have
experiment & c.yaml => c.yaml: {RUN}
experiment & people.csv => people.csv...; {PEOPLE}
experiment & photo.png => photo.png: is a PNG picture: expected text
experiment & bad-exp.yaml => bad-exp.yaml:5: seeds: expected ...
calibrate & exp.yaml => exp.yaml: is an experiment: `prism experiment` takes it
population.graph.path=gone.txt => --set: population.graph.path: gone.txt: no such file in {here}
population.graph.path=. => .: is a directory: expected a file
population.graph.path=pipe => pipe: is a named pipe: expected a file
population.graph.path=/dev/zero => /dev/zero: is a device: expected a file
population.graph.path=people.csv => people.csv: the first line may be a header ...; {PEOPLE}
population.graph.path=people.csv.gz => people.csv.gz: the first line may be a header ...; {PEOPLE}
population.graph.path=people.json => people.json: is JSON: expected a table of ties, ...; {PEOPLE}
population.graph.path=c.yaml => c.yaml: {RUN}
population.graph.path=photo.png => photo.png: is a PNG picture: expected a table of ties, GraphML, GML or Pajek
population.graph.path=half.txt => half.txt:3: expected two ids with spaces or a tab between them, got '3'
population.graph.path=none.csv => none.csv: holds no ties: expected lines with two different ids
population.profiles=run => run: is a directory: expected a file
population.profiles=ties.csv => ties.csv:1: expected a column that describes people (name, ...; {TIES}
population.profiles=ties.txt => ties.txt: expected ...; {TIES}
population.profiles=shares.csv => shares.csv:1: ...; it looks like a table of shares: population.margins takes it
population.profiles=posts.csv => posts.csv:1: ...; it looks like a file of posts: population.posts.file takes it
population.profiles=c.yaml => c.yaml: {RUN}
population.profiles=photo.csv => photo.csv: is a PNG picture: expected text
population.profiles=nobody.json => nobody.json: expected a key that describes people (name, ...), got: age
population.profiles=bad.json => bad.json:2: bad JSON: Expecting ':' delimiter (column 13)
population.profiles=latin.csv => latin.csv:2: expected UTF-8 text, got byte 0xdf: save it as UTF-8, or set ...
population.profiles=ages.csv & population.attributes.age={type: int} => ages.csv:3: age: expected int, got 'forty'
population.profiles=ages.csv & population.attributes.age={type: int, max: 35} => \
ages.csv:2: age: expected int <= 35, got '40'
population.profiles=ages.csv & population.attributes.age={type: int, column: Agee} => \
ages.csv:1: missing ...; did you mean 'age'?...
population.profiles=ages.csv & population.attributes.mood={type: int} => ages.csv:1: missing column: mood, for ...
population.profiles=ages.csv & population.columns.activity=age => ages.csv:2: age: expected float 0 to 1, got '40'
population.columns.activity=age => --set: population.columns.activity: ... needs population.profiles: ...
population.profiles=people.csv & population.graph.path=stranger.csv => c.yaml:2: population.unmatched: ...: eve; ...
population.profiles=people.csv & population.graph.path=numbers.csv => c.yaml:2: population.join: no id of people.csv ...
population.posts.file=people.csv => people.csv:1: ...; {PEOPLE}
population.margins=[people.csv] => people.csv:1: ...; {PEOPLE}
population.activity.hours=macro.csv => \
macro.csv:1: ...; it looks like a table of quarterly figures: economy.initial.path ...
statechart.file=gone.yaml => --set: statechart.file: gone.yaml: no such file in {here}
statechart.file=c.yaml => c.yaml: {RUN}
statechart.file=empty.yaml => empty.yaml: initial: is missing; expected a name...
statechart.file=ties.txt => ties.txt: statechart.file: expected a chart in .yaml or .yml; ...
statechart.file=target.yaml => target.yaml:5: states.a.transitions[0].target: b: no such state...
simulation.domain=economy & economy.initial.path=hours.csv => \
hours.csv:1: ...; it looks like a table of counts by hour: ...
simulation.domain=economy & economy.initial.path=macro.csv & economy.initial.quarter=2031q1 => \
macro.csv: has no quarter 2031q1 (economy.initial.quarter): expected one from 1990q1 to 1990q1
simulation.domain=economy & economy.initial.path=gone.csv => \
--set: economy.initial.path: gone.csv: no such file in {here}
feed.size => --set: expected key=value, got 'feed.size'
feed.size=0 => --set: feed.size: expected int 1 to 1000, got 0
feed.sise=4 => --set: feed.sise: unknown key; did you mean feed.size?
feed.size = five => --set: feed.size: expected int 1 to 1000, got 'five'
FEED.size=1 => --set: FEED.size: unknown key; did you mean feed?
=3 => --set: '': unknown key; the top has: ...
feed..size=1 => --set: feed.''.size: unknown key; feed has: ...
population.graph=x => --set: population.graph: expected one key of this section: kind, path, ...
feed.size.x=1 => --set: feed.size.x: unknown key; feed.size is set as a whole: feed.size=...
feed.size=*x => --set: feed.size: *x: YAML aliases are not supported
population.topics=[a => --set: population.topics: not valid YAML: ...: a bracket is not closed, ...
metrics.enabled=true & metrics.tls_key=key.pem => \
c.yaml: metrics.tls_cert: expected the certificate of this key, got null
metrics.enabled=true & metrics.username=ada => --set: metrics.username: expected the password of 'ada' in ...
PRISM_FEED__SIZE=five => PRISM_FEED__SIZE: feed.size: expected int 1 to 1000, got 'five'
PRISM_FEED__SISE=5 => PRISM_FEED__SISE: feed.sise: unknown key; did you mean feed.size?
PRISM_FEED=5 => PRISM_FEED: feed: expected one key of this section: algorithm, ...
PRISM_A__B=5 => PRISM_A__B: a.b: unknown key; the top has: ...
PRISM_SIMULATION_SEED=5 => \
PRISM_SIMULATION_SEED: is no setting; did you mean PRISM_SIMULATION__SEED, with two underscores ...
"""
"""A command and its file, or settings and variables, with & between them; behind the arrow the line."""


def fits(line: str, expected: str) -> bool:
    """Return whether a line is the expected one, in which `...` stands for any text."""
    first, *parts = expected.split("...")
    if not parts:
        return line == expected
    place = len(first)
    for part in parts:
        place = line.find(part, place) + len(part) if part in line[place:] else len(line) + 1
    return line.startswith(first) and place <= len(line) and (not parts[-1] or line.endswith(parts[-1]))


@pytest.fixture
def here(prism: Prism, tmp_path: Path) -> Path:  # `prism` makes its directory the current one
    for name, content in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    os.mkfifo("pipe")
    with Path("large.csv").open("wb") as file:
        file.truncate(2**33)
    return tmp_path


def test_each_wrong_input_is_one_clear_line_and_exit_code_3(
    here: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = list[str](), Path("c.yaml").read_text()
    another = ANOTHER.replace("{RUN}", RUN).replace("{PEOPLE}", PEOPLE).replace("{TIES}", TIES).strip().split("\n")
    cases: list[tuple[tuple[str, ...], str | bytes, str]] = [
        *(((), text, f"c.yaml:{line}") for text, line in TEXTS.items()),
        *((tuple(given.split(" & ")), right, line) for given, line in (each.split(" => ") for each in another)),
    ]
    for given, text, expected in cases:
        Path("c.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        is_command = given[:1] and given[0] in {"run", "experiment", "calibrate"}
        variables = dict(each.split("=", 1) for each in given if each.startswith("PRISM_"))
        settings = [part for each in given if each[0] != "P" for part in ("--set", each)]
        commands = [("validate", "c.yaml", *settings), ("run", "c.yaml", "--out", "out", *settings)]
        with monkeypatch.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            for command in [given] if is_command else commands:
                ended = prism(*command)
                lines = [f"prism: {line}".replace("{here}", str(here)) for line in expected.split("\n")]
                told = ended.err.splitlines()
                are_right = len(told) == len(lines) and all(map(fits, told, lines))
                if (ended.code, ended.out, are_right, Path("out").exists()) != (3, "", True, False):
                    wrong.append(json.dumps([command, str(text)[:60], ended.code, ended.out[:80], told, lines]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.usefixtures("here")
def test_what_looks_odd_and_is_right_is_taken(prism: Prism) -> None:
    for text in ("", "# nothing\n", "population:\n", "\ufefffeed: {size: 3}\r\n", '{"feed": {"size": 3,}}'):
        Path("c.yaml").write_text(text)
        assert prism("validate", "c.yaml", "--set", "population.size=20").code == 0, text


WRONG = """\
#
rnu => No such command 'rnu' ... Did you mean 'run'?
# run
small.yaml --out mine => mine: is not empty; a run needs a directory of its own
none.yaml => 3: none.yaml: no such file; write one to start from with: prism init DIR
small.yaml --out LONG => cannot be made a run directory: File name too long
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
AN_EXPERIMENT = "prism: e: is an experiment, not a run; `prism report e` and `prism view e` show it"


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
        .replace("LONG", "a" * 300)
        .replace("IS_A_CALIBRATION", CALIBRATION)
        .replace("IS_AN_EXPERIMENT", AN_EXPERIMENT)
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
