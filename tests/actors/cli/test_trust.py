"""Code in a stranger's run: no command runs it unasked, and whoever made the run is not asked."""

import hashlib
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from actors.cli.app import cli
from actors.factory.own_code import sources_of, sources_sha256
from actors.runs.compatibility import unknown_code_of
from actors.store.manifest import CONFIG
from tests.catalogue import catalogue
from tests.command import begin, prism_alone
from tests.paths import ROOT
from tests.plain import plain_text

SENTINEL = "imported"
IMPORTED = f"""
import os
from pathlib import Path

Path(os.environ["{SENTINEL.upper()}"]).touch()
"""
DOMAIN = f"""{IMPORTED}
from tests.domains import TrafficDomain


def build(config):
    return TrafficDomain(3)
"""
FUNCTIONS = f"""{IMPORTED}

def is_keen(agent, view):
    return view.appeal > 0.5


def note(agent, view):
    pass
"""
CHART = """\
initial: away
states:
  away:
    role: offline
    transitions: [{trigger: feed_ready, target: reading, do: "roads:note"}]
  reading:
    role: browse
    transitions:
      - {trigger: sees_post, target: reading, when: "roads:is_keen"}
      - {trigger: sees_post, target: away}
      - {trigger: round_ends, target: away}
"""
LENGTH = "rounds: 2, ticks_per_round: 8"
CONFIGS = {
    "chart": plain_text(f"simulation: {{{LENGTH}}}\npopulation: {{size: 30}}\nstatechart: {{file: chart.yaml}}\n"),
    "domain": f"simulation: {{domain: 'roads:build', {LENGTH}}}\n",
}


def commands(lines: str) -> dict[str, list[str]]:
    """Return `{what is done: the command}` of lines with a colon between the two."""
    return {name: words.split() for name, _, words in (line.partition(": ") for line in lines.strip().splitlines())}


RUNS_CODE = commands(f"""
resume: resume RUN --ticks 20
fork: fork RUN --at 4 --prepare --out OUT
replay: replay RUN -q
verify: verify RUN -q
explain a turn: explain RUN --agent 0 --tick TURN
run its configuration: run RUN/{CONFIG} -q --out OUT
validate its configuration: validate RUN/{CONFIG}
""")
"""The commands that run a run's code, with --trust."""
ASKS_FIRST = RUNS_CODE | commands(f"""
play its configuration: play RUN/{CONFIG} --port 0
explain what if: explain RUN --agent 0 --tick TURN --what-if answer=reading
explain a post: explain RUN --post 1
cause: cause RUN --of activations
ask: ask RUN --questions questions.yaml --out OUT
audit: audit RUN --calls 1
""")
LOOKS = commands(f"""
report: report RUN --out OUT
export: export RUN --to csv --out OUT
explain a path: explain RUN --agent 0
chart --run: chart --run RUN
chart --coverage: chart --coverage RUN
runs: runs .
verify --quick: verify RUN --quick
validate-world: validate-world RUN
pack: pack RUN --out OUT
doctor its configuration: doctor RUN/{CONFIG}
""")
"""The commands that only look, or find nothing to do on this run."""
NAME_TRUST = {"export", "explain a path", "chart --run", "chart --coverage", "doctor its configuration"}
"""Those that cannot show all of a domain, because only its code could tell: they say so, and name --trust."""
FAIL = {*NAME_TRUST, "validate-world"} - {"export"}
"""Those that have nothing to show of a domain."""
OTHERS = {"init", "experiment", "replicate", "calibrate", "testing", "view", "play", "unpack"}
"""Commands that take no run; servers, which let nobody's code run; and `unpack`, which has tests of its own."""

DRIVER = f"""
import json, os, sys
from tests.command import prism_alone

ended = []
for words in json.load(sys.stdin):
    done = prism_alone(*words)
    imported = os.path.exists(os.environ["{SENTINEL.upper()}"])
    if imported:
        os.remove(os.environ["{SENTINEL.upper()}"])
    ended.append((*done, imported))
print(json.dumps(ended))
"""
"""Runs commands one after the other, and tells of each whether it has imported the code."""


class Tried(NamedTuple):
    """The end of a command."""

    code: int
    out: str
    err: str
    has_imported: bool


class Person(NamedTuple):
    """A user of the command line, with a record of their own of the code that they have run.

    Args:
        home: the directory of that record.
        place: the directory in which commands are run.
    """

    home: Path
    place: Path

    @property
    def environment(self) -> dict[str, str]:
        own = {"XDG_STATE_HOME": str(self.home), SENTINEL.upper(): str(self.place / SENTINEL)}
        return {**os.environ, **own, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "PRISM_LOG_FORMAT": "text"}

    def tries(self, commands: Sequence[Sequence[str]]) -> list[Tried]:
        """Return the ends of commands that are run in one process. It imports code once at most."""
        words = [sys.executable, "-P", "-c", DRIVER]  # as installed: without the working directory on Python's path
        given = json.dumps(commands)
        done = subprocess.run(
            words, cwd=self.place, env=self.environment, input=given, capture_output=True, text=True, check=True
        )
        return [Tried(*each) for each in json.loads(done.stdout)]

    def prism(self, *arguments: str) -> Tried:
        return self.tries([arguments])[0]


class Made(NamedTuple):
    """A run in `run`, and the person who has made it.

    Args:
        kind: "chart" with functions in its chart, "domain" with a domain of its maker's own.
        turn: the tick of a turn of its first agent.
    """

    maker: Person
    kind: str
    turn: str

    @property
    def code(self) -> Path:
        """The code, as the run has kept it."""
        (found,) = (self.maker.place / "run" / "inputs").resolve().glob("*/roads.py")
        return found

    def command(self, words: Sequence[str], out: Path) -> list[str]:
        """Return a command on this run."""
        return [word.replace("RUN", "run").replace("OUT", str(out)).replace("TURN", self.turn) for word in words]


def made_run(maker: Person, kind: str) -> Made:
    maker.place.mkdir(exist_ok=True)
    for name, text in {
        "study.yaml": CONFIGS[kind],
        "chart.yaml": CHART,
        "questions.yaml": "questions: [{id: one, text: Well, scale: [0, 1], answer: '1'}]\n",
        "roads.py": DOMAIN if kind == "domain" else FUNCTIONS,
        # as if a library were here, which PRISM or another one imports
        **{f"{library}.py": IMPORTED for library in ("click", "anyio", "sklearn")},
    }.items():
        (maker.place / name).write_text(text)
    ran, path = maker.tries([("run", "study.yaml", "-q", "--out", "run"), ("explain", "run", "--agent", "0", "--json")])
    assert (ran.code, ran.has_imported) == (0, True), ran.err
    turns = (each["cells"][0] for each in json.loads(path.out)["children"] if each["kind"] == "turn")
    return Made(maker, kind, str(next(turns)))


@pytest.fixture(scope="module", params=["domain", "chart"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    place = tmp_path_factory.mktemp(request.param)
    return made_run(Person(tmp_path_factory.mktemp("maker"), place), request.param)


OF_A_CHART = pytest.mark.parametrize("made", ["chart"], indirect=True)
"""For tests that take the same way whatever the code is for."""


@pytest.fixture
def stranger(made: Made, tmp_path: Path) -> Person:
    """Return somebody else, who stands beside the run and its code."""
    return Person(tmp_path / "state", made.maker.place)


def test_every_command_that_takes_a_run_is_tried_here() -> None:
    names = set(cli.list_commands(click.Context(cli)))
    tried = {command[0] for command in (*ASKS_FIRST.values(), *LOOKS.values())}
    assert names == tried | OTHERS
    for name in OTHERS - {"view", "play", "unpack"}:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert not any(word in str(each.metavar) for each in command.params for word in ("RUN", "CONFIG")), name


def test_no_command_runs_a_strangers_code_unasked(made: Made, stranger: Person, tmp_path: Path) -> None:
    words = {name: made.command(each, tmp_path / name) for name, each in (ASKS_FIRST | LOOKS).items()}
    if made.kind == "chart":
        del words["report"], words["validate-world"], words["export"]  # as of a domain, and slow
    for name, ended in zip(words, stranger.tries([*words.values()]), strict=True):
        assert not ended.has_imported, name
        if name in ASKS_FIRST:
            assert ended.code == 2, name
            (line,) = [line for line in ended.err.splitlines() if line.startswith("prism: not run: ")]
            assert f"{made.code} (sha256 " in line
            assert line.endswith("code that you have not run here before; read it, and allow it with --trust")
            assert not (tmp_path / name).exists()
        else:
            is_domain = made.kind == "domain"
            assert ("--trust" in ended.err) == (is_domain and name in NAME_TRUST), (name, ended.err)
            assert (ended.code != 0) == (is_domain and name in FAIL), (name, ended.err)
    if made.kind == "domain":
        page = (tmp_path / "report").read_text()
        assert ("not run: roads.py (sha256 " in page, str(made.maker.place) in page) == (True, False)


@pytest.mark.everyday(1)
def test_with_trust_code_is_run_and_is_known_from_then_on(made: Made, stranger: Person, tmp_path: Path) -> None:
    shutil.copytree(made.maker.place / "run", tmp_path / "run")
    commands = {name: made.command(each, tmp_path / name) for name, each in RUNS_CODE.items()}
    commands["resume"][1] = str(tmp_path / "run")
    first, *others = stranger.tries([[*each, "--trust"] for each in commands.values()])
    assert (first.code, first.has_imported) == (0, True), first.err
    assert "runs code as --trust says: " in first.err
    assert [each.err for each in others if each.code] == []
    known = stranger.prism("replay", "run", "-q")
    assert (known.code, known.has_imported) == (0, True)


@OF_A_CHART
def test_who_has_made_the_run_is_not_asked_and_the_record_is_theirs_alone(made: Made, tmp_path: Path) -> None:
    ended = made.maker.prism("verify", "run", "-q")
    assert (ended.code, "trust" in ended.err) == (0, False), ended.err
    record = made.maker.home / "prism" / "code"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700
    assert {line.partition(" ")[2] for line in record.read_text().splitlines()} == {"roads:note", "roads:is_keen"}
    shutil.copytree(made.maker.home, tmp_path / "state")  # a record that others could write is not believed
    (tmp_path / "state" / "prism" / "code").chmod(0o666)
    ended = Person(tmp_path / "state", made.maker.place).prism("replay", "run", "-q")
    assert (ended.code, ended.has_imported) == (2, False)


@pytest.mark.slow
@OF_A_CHART
def test_on_a_terminal_it_asks(made: Made, stranger: Person) -> None:
    sha256 = hashlib.sha256(made.code.read_bytes()).hexdigest()
    for answer, code in (("n", 2), ("y", 0)):
        ours, theirs = pty.openpty()
        with begin(
            "replay", "run", cwd=stranger.place, env=stranger.environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            os.write(ours, f"{answer}\n".encode())
            shown = b""
            with suppress(OSError):  # as a terminal ends when nobody has it open any more
                while chunk := os.read(ours, 4096):
                    shown += chunk
        os.close(ours)
        assert process.returncode == code
        assert (stranger.place / SENTINEL).exists() == (code == 0)
        for told in ("run: this command runs Python code that you have not run here before:", "Run it? [y/N]: "):
            assert told in shown.decode()
        assert f"{made.code} (sha256 {sha256})" in shown.decode()
    (stranger.place / SENTINEL).unlink()


@pytest.mark.slow
def test_code_that_was_edited_or_swapped_in_the_run_is_not_run(tmp_path: Path) -> None:
    made = made_run(Person(tmp_path / "state", tmp_path / "study"), "chart")
    config, kept = made.maker.place / "run" / CONFIG, made.code.read_text()
    before = config.read_text()
    made.code.chmod(0o644)
    made.code.write_text(f"{FUNCTIONS}\n# edited\n")
    ended = made.maker.prism("replay", "run", "-q")
    assert (ended.code, ended.has_imported) == (3, False)
    assert "is not the code that the run has kept: its SHA-256 is another" in ended.err
    known = made.code.parent
    edited = known.with_name(sources_sha256(sources_of([made.code])))
    known.rename(edited)  # as somebody does it who knows how runs keep their code
    config.write_text(before.replace(known.name, edited.name))
    ended = made.maker.prism("replay", "run", "-q")
    assert (ended.code, ended.has_imported) == (2, False)
    assert "code that is not the code that you have run here before; read it, and allow it with" in ended.err
    edited.rename(known)
    made.code.write_text(kept)
    (made.maker.place / "evil.py").write_text(DOMAIN)
    config.write_text(before.replace("domain: social", "domain: evil:build"))
    words = [made.command((RUNS_CODE | LOOKS)[name], tmp_path / name) for name in ("replay", "report", "export")]
    assert not any(ended.has_imported for ended in made.maker.tries(words))


@OF_A_CHART
def test_a_packed_run_is_looked_at_and_unpacked_without_its_code(made: Made, stranger: Person, tmp_path: Path) -> None:
    packed, unpacked = str(tmp_path / "run.prism"), str(tmp_path / "unpacked")
    assert prism_alone("pack", str(made.maker.place / "run"), "--out", packed).code == 0
    unpack, verify, refused, *again = stranger.tries(
        [
            ("unpack", packed, "--out", unpacked),
            ("verify", "--quick", packed),
            ("replay", "-q", packed),
            ("replay", "-q", packed, "--trust"),
            ("replay", "-q", unpacked),
        ]
    )
    assert (unpack.code, verify.code) == (0, 0)
    assert (refused.code, refused.has_imported) == (2, False)
    assert f"allow it with --trust; `prism unpack {packed}` makes a directory of it" in refused.err
    assert [each.code for each in again] == [0, 0]  # it is known by what it says


STUDY = """question: Are they keen?
base: run/config.yaml
design: {conditions: {short: {}, long: {simulation.rounds: 3}}}
seeds: 2
measures: {activations: activations}
"""
FIT = """question: Which interest fits?
base: run/config.yaml
parameters: {population.ambiguity: {low: 0.1, high: 0.2}}
targets: {activations: {measure: activations, value: 3, tolerance: 1, source: a panel}}
budget: {design: 160, confirm: 40}
"""
STUDIES = {("experiment", "plan"): STUDY, ("experiment",): STUDY, ("calibrate", "plan"): FIT, ("calibrate",): FIT}


@pytest.mark.slow
@OF_A_CHART
def test_a_study_of_a_strangers_configuration_runs_its_code_with_trust_alone(
    made: Made, stranger: Person, tmp_path: Path
) -> None:
    words = []
    for number, (command, study) in enumerate(STUDIES.items()):
        (tmp_path / f"{number}.yaml").write_text(study)
        words.append((*command, str(tmp_path / f"{number}.yaml"), "--out", str(tmp_path / str(number))))
    for ended in stranger.tries(words):
        assert (ended.code, ended.has_imported, f"{made.code} (sha256 " in ended.err) == (2, False, True), ended.err
        assert "allow it with --trust" in ended.err
    planned = stranger.prism(*words[0], "--trust")
    assert (planned.has_imported, "--trust" in planned.err) == (True, False), planned.err


@OF_A_CHART
@catalogue("broken", [CONFIG, "config-until-4.yaml"])
def test_a_configuration_that_cannot_be_read_does_not_hide_the_code_of_the_others(
    broken: str, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = tmp_path / "run"
    shutil.copytree(made.maker.place / "run", run)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["forks"] = [{"parent": "p", "tick": 4, "digest": "0" * 64, "config": "config-until-4.yaml"}]
    (run / "manifest.json").write_text(json.dumps(manifest))
    shutil.copy(run / CONFIG, run / "config-until-4.yaml")
    (run / broken).write_text("population: {size: none}\n")
    assert {file.name for code in unknown_code_of(run) for file in code.sources} == {"roads.py"}


@pytest.mark.slow
@OF_A_CHART
def test_the_local_page_runs_no_code_whatever_is_opened(made: Made, stranger: Person) -> None:
    with begin("view", ".", "--port", "0", cwd=stranger.place, env=stranger.environment) as process:
        try:
            assert process.stdout is not None
            address = re.findall(r"http\S+", process.stdout.readline())[0].rstrip("/")
            with urllib.request.urlopen(f"{address}/part/runs/run/agent?agent=0&tick={made.turn}") as answer:
                assert b"What it did" in answer.read()
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{address}/part/runs/run/explanation?agent=0&tick={made.turn}")
            assert "allow it with --trust" in refused.value.read().decode()
        finally:
            process.send_signal(signal.SIGINT)
    assert not (stranger.place / SENTINEL).exists()
