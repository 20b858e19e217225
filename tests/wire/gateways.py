"""A gateway in a thread of the test, and cells that ask it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from actors.studies.experiments.cells import Done, Task, cell_path, work
from actors.studies.experiments.plan import Cell, Plan, make_plan
from actors.studies.experiments.shared_oracle import asking_of, limits_of
from actors.studies.gateway.proxy import OpenGateway, open_gateway
from tests.actors.studies.experiments.files import write_experiment
from tests.plain import plain_text

MODEL_BASE = """
simulation: {{rounds: 1, ticks_per_round: 24}}
population: {{size: 50, ambiguity: 0.6, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: {backend}, max_concurrency: 8}}
llm: {{host: "{host}", systemone: "off", method: json, temperature: {temperature}, {prices}}}
"""
PRICES = "prices: {input: 100, output: 1000}"
MODEL_EXPERIMENT = """\
question: Does the order of a feed matter?
base: base.yaml
design:
  conditions:
    chronological: {feed.algorithm: chronological}
    random: {feed.algorithm: random, feed.size: 3}
seeds: 2
measures: {likes: likes}
"""


def planned(
    directory: Path, host: str, oracle: str = "{}", *, backend: str = "ollama", temperature: float = 0.7
) -> Plan:
    """Return the plan of an experiment; `oracle` is that section of its file."""
    base = plain_text(MODEL_BASE.format(host=host, backend=backend, temperature=temperature, prices=PRICES))
    return make_plan(write_experiment(directory, f"{MODEL_EXPERIMENT}oracle: {oracle}\n", base))


@contextmanager
def gateway(plan: Plan, tape: Path) -> Iterator[OpenGateway]:
    """Provide a gateway for all cells of a plan."""
    with open_gateway(
        tape, limits_of(asking_of(plan)), [cell.config for cell in plan.cells], is_replay=False
    ) as opened:
        yield opened


def run_cell(cell: Cell, out: Path, opened: OpenGateway | None) -> Done:
    """Run a cell in this process."""
    return work(Task(cell.config, cell_path(out, cell), cell.inputs, opened and opened.place))


def records(tape: Path) -> list[dict[str, object]]:
    """Return the replies on a tape, read without the code that wrote it; nothing while it is being made."""
    try:
        with closing(sqlite3.connect(tape, timeout=10.0)) as file:
            return [
                {**msgspec.json.decode(answer), "asked_by": asked_by}
                for asked_by, answer in file.execute("SELECT asked_by, answer FROM answers WHERE asked_by != ''")
            ]
    except sqlite3.OperationalError:
        return []
