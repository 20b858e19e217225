"""Six recorded runs, each made once a session by the real command line, for all tests that only read them."""

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import yaml

from actors.core.messages import name_of_question
from actors.explain.questions import questions_of
from actors.explain.retrace import OpenRun, Trace, retrace
from actors.explain.tree import Node
from actors.explain.turns import turn_nodes
from actors.store.messages import messages_in, tables_of
from actors.store.record import Record
from tests.command import prism_alone
from tests.paths import ROOT
from tests.plain import Sections, plain
from tests.standin import ModelServer

Recorded = Callable[[str], Path]
"""Returns the directory of a recorded run, which is called `run`, and is made when it is first asked for."""

DELIBERATION_TICKS = 2
EMBEDDED = plain(
    yaml.safe_load("""
simulation: {rounds: 4, ticks_per_round: 12, seed: 5}
population:
  size: 60
  ambiguity: 0.5
  posts_per_session: 0.5
  activity: {mean: 0.9, sigma: 0.2}
  attributes: {party: {type: text, values: [left, right]}, level: {type: bool, default: true}}
run: {checkpoint_every_ticks: 20}
""")
)
LIVE: Sections = {
    **EMBEDDED,
    "population": {**EMBEDDED["population"], "deliberation_minutes": float(DELIBERATION_TICKS)},
    "oracle": {"backend": "ollama"},
}
SMALL = plain(
    yaml.safe_load("""
simulation: {rounds: 3, ticks_per_round: 24, seed: 5}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
""")
)
FEW = plain(
    yaml.safe_load("""
simulation: {rounds: 3, ticks_per_round: 12, seed: 5}
population: {size: 24, ambiguity: 0.5, posts_per_session: 0.6, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 8}
""")
)
CHANGES = plain(
    yaml.safe_load("""
simulation: {rounds: 4, ticks_per_round: 12, seed: 5}
population:
  size: 40
  posts_per_session: 0.6
  activity: {mean: 0.9, sigma: 0.1}
  graph: {kind: barabasi_albert, degree: 6}
  attributes:
    opinion: {type: float, min: -1, max: 1, prompt: true}
    seen: {type: int, default: 0, min: 0, max: 6}
    pause: {type: float, default: 1, min: 1, max: 9}
    camp: {type: text, values: [north, south]}
feed: {size: 8, out_of_network: 0.5}
run: {checkpoint_every_ticks: 8}
""")
)
CHANGING_CHART = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
    states:
      reading:
        role: browse
        transitions:
          - trigger: sees_post
            target: judging
            set:
              opinion:
                to: agent.opinion + 0.4 * (author.opinion - agent.opinion) + 0.01 * draw.normal
                when: abs(author.opinion - agent.opinion) < 0.5
              seen: agent.seen + 1.4
              pause: 1 + 2 * abs(author.opinion)
          - {trigger: timeout, target: away}
      judging:
        role: attend
        transitions:
          - {trigger: ignores, target: reading}
          - {trigger: decides, target: leaving, when: "abs(author.opinion - agent.opinion) > 1 and post.followed"}
          - {trigger: decides, target: joining, when: "abs(author.opinion - agent.opinion) < 0.3 and not post.followed"}
          - {trigger: decides, target: reading, when: "agent.camp == author.camp and draw.uniform < 0.4", effect: mute}
          - {trigger: decides, target: sharing, set: {camp: author.camp}}
      leaving: {effect: unfollow, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      joining: {effect: follow_root, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      sharing:
        effect: reshare
        after: {ticks: agent.pause, trigger: done}
        transitions: [{trigger: done, target: reading}]
      writing: {effect: post, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""
ECONOMY: Sections = yaml.safe_load(f"""
simulation:
  {{domain: economy, rounds: 4, ticks_per_round: 1, seed: 3, tick_seconds: 7889400, epoch: "1985-04-01T00:00:00+00:00"}}
economy:
  nations: [Ada, "=Bo", Cy]
  strengths: [3, 2, 1]
  initial: {{path: {ROOT}/configs/data/us-macro-quarterly.csv, quarter: 1985q1}}
  taylor: {{inflation_target: 3.58, smoothing: 0.8}}
  macro: {{anchor: 3.58, gap_shock: 0.8, inflation_shock: 1.0}}
""")
BRIDGE = {"author": 7, "text": "The bridge is closed.", "topics": ["politics"], "quality": 1.0}
SETTINGS: Final[dict[str, Sections]] = {
    "embedded": EMBEDDED,
    "live": LIVE,
    "small": SMALL,
    "few": {
        **FEW,
        "run": {"checkpoint_every_ticks": 8, "record_feeds": True},
        "interventions": [{"round": 2, "publish": BRIDGE}],
    },
    "changes": {
        **CHANGES,
        "interventions": [{"tick": 20, "follow": [[0, 1], [2, 3]]}, {"tick": 30, "unfollow": [[0, 1]]}],
    },
    "economy": {**ECONOMY, "interventions": [{"round": 3, "shock": {"inflation": 2.0}}]},
}


def make_run(place: Path, sections: Sections, name: str = "run") -> Path:
    """Return the directory of a finished run of these settings."""
    config = place / f"{name}.yaml"
    config.write_text(yaml.safe_dump(sections))
    ended = prism_alone("run", str(config), "-q", "--out", str(place / name))
    assert ended.code == 0, ended.err
    return place / name


def changing_run(place: Path, name: str = "run", chart: str = CHANGING_CHART, **sections: Any) -> Path:
    """Return the directory of a finished run of people who change, with further sections of the configuration."""
    file = place / f"{name}-chart.yaml"
    file.write_text(chart)
    return make_run(place, {**CHANGES, "statechart": {"file": str(file)}, **sections}, name)


def content(run: Path) -> dict[str, bytes]:
    """Return the content of every file that a run writes; what commands keep beside them is in directories."""
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Recorded:
    """Return the recorded runs, which all workers share. Tests read them, and change copies."""
    base = tmp_path_factory.getbasetemp()
    runs = (base if worker_id == "master" else base.parent) / "recorded"
    runs.mkdir(exist_ok=True)

    def run_of(name: str) -> Path:
        settings, place = SETTINGS[name], runs / name
        with (runs / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (place / "whole").exists():
                return place / "run"
            place.mkdir()
            if name == "live":
                with ModelServer() as server:
                    made = make_run(place, {**settings, "llm": {"host": server.url}})
            elif name == "changes":
                made = changing_run(place, **settings)
            else:
                made = make_run(place, settings)
            (place / "whole").touch()
            return made

    return run_of


def _run(name: str, fixture: str) -> Any:
    def of(recorded: Recorded) -> Path:
        return recorded(name)

    return pytest.fixture(scope="session", name=fixture)(of)


embedded = _run("embedded", "embedded")  # people with attributes, with the embedded oracle
live = _run("live", "live")  # the same with a model behind a real socket
small_run = _run("small", "small_run")  # `SMALL`: three days of people as they are by default
few_run = _run("few", "few_run")  # few people with many checkpoints and recorded feeds, and a post from outside
changed_run = _run("changes", "changed_run")  # people who change ties and attributes, and interventions that do
economy_run = _run("economy", "economy_run")  # an economy with a shock in its third quarter


def ticks_of(path: Path, *wanted: type[Any], first: int = 0, until: int | None = None) -> Iterator[list[Any]]:
    """Yield the messages of each tick of a run, up to any damage, as `messages_in` does."""
    record = Record(path)
    for block in record.blocks(first, until, record.all_of(*tables_of(*wanted))):
        for tick in block.each_tick():
            yield messages_in(tick, record.shapes, record.kinds, *wanted)


def everybody(path: Path, first: int, last: int) -> tuple[Node, ...]:
    """Return the turns in the ticks from `first` to `last`, in the order in which they were triggered."""

    async def turns() -> list[Node]:
        run = OpenRun(path)
        until = min(last + run.config.deliberation_ticks + 1, run.length)  # by then their questions are decided
        trace = Trace(None, first, until - 1)
        await retrace(run, trace, until)
        decided = {
            name_of_question(each.question): each.trigger.tick
            for each in trace.turns
            if each.question is not None and each.trigger.decision is not None
        }
        return [*turn_nodes(run, trace.turns, await questions_of(run, trace, decided))]

    return tuple(each for each in anyio.run(turns) if each.value["tick"] <= last)
