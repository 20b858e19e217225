"""Wrong inputs of every kind: each mistake is one line that names the file, the key or the line, and what was expected.

An input is right if the line is the expected one; an expected line that ends in `...` is the beginning of it.
"""

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.command import Prism

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
    "a:\n  b: 1\n c:\n  d: 2\n": f"3: not valid YAML: {INDENT}, got c",
    "a:\n b:\n   c: 1\n# d\n  e: f\n": f"5: not valid YAML: {INDENT}, got e",
    "a:\n- b: 1\n  c: {}\n d: 3\n": f"4: not valid YAML: {INDENT}, got d",
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
