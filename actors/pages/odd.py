"""An ODD protocol and a RAT-RS sheet of a run or an experiment, filled as far as the record knows, as Markdown.

What only the author knows is left open, and marked. Sources: Grimm et al., "The ODD protocol: a second update" (2020);
Achter, Borit, Chattoe-Brown & Siebers, "RAT-RS: a reporting standard for data use in agent-based modelling" (2022).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from actors.core.errors import RunDirectoryError
from actors.explain.retrace import OpenRun
from actors.factory.domains import look_at_domain
from actors.factory.input_files import with_prompt
from actors.factory.oracle_backends import calibration_label
from actors.store.manifest import read_summary
from actors.store.run import list_run
from actors.studies.audit.record import read_audit
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import other_than
from actors.studies.experiments.record import CellState, ExperimentRecord, is_experiment, read_experiment_record
from prism.config import Config
from prism.config.yaml_text import flat
from prism.statechart import Transition
from prism.wording import counted, model_name, without_place

OPEN: Final = "**[OPEN]**"  # the mark of what only the author knows


def odd_sheet(path: Path) -> str:
    """Return the sheet of a run, or of an experiment by its first finished cell. It reads files, and blocks."""
    experiment, runs = None, [path]
    if is_experiment(path):
        experiment = read_experiment_record(path)
        runs = [cell_path(path, each) for each in experiment.cells if each.state is CellState.DONE]
        if not runs:
            raise RunDirectoryError(f"{path}: no cell of the experiment is done, so there is nothing to describe")
    audit = read_audit(path)
    audited = "Not audited as it is now: `prism audit`."
    if audit is not None and {*audit.digests} == {list_run(each).digest for each in runs}:
        audited = audit.paragraph
    parts = [f"# {path.resolve().name}: ODD and RAT-RS", f"{OPEN} marks what the record does not know."]
    for heading, text in _sheet(OpenRun(runs[0], look_at_domain), experiment, audited).items():
        parts += [f"## {heading}"] if text is None else [f"### {heading}", text]
    return "\n\n".join(parts) + "\n"


def _sheet(run: OpenRun, experiment: ExperimentRecord | None, audited: str) -> dict[str, str | None]:
    """Return the parts of both standards, `{heading: text}`; the heading of a standard itself has no text."""
    config, summary, show = run.config, read_summary(run.path), run.show
    simulation, agents = config.simulation, counted(run.domain.size, show.agent, show.agents)
    question = f"{OPEN} The purpose of the model, and the patterns by which it is judged."
    design = f"One run, seed {simulation.seed}. {OPEN} The design behind it."
    if experiment is not None:
        plan = experiment.plan.experiment
        measures = ", ".join(f"{name} ({place})" for name, place in plan.measures.items())
        told = "; ".join(str(each) for each in plan.hypotheses) or "none"
        question = (
            f"{plan.question} Measures: {measures}. Hypotheses: {told}.\n\n{OPEN} The real patterns by which the "
        )
        question += "model is judged."
        design = (
            f"Conditions: {', '.join(each.name for each in plan.conditions)}; {counted(len(plan.seeds), 'seed')} each, "
            f"the same for all; alpha {plan.alpha:g}, by Holm. Plan {experiment.plan.hash[:16]}. Fallbacks: "
            f"{summary.get('fallback_share', 0.0):.1%} of choices."
        )
    asks, oracle = config.oracle.backend != "choice", run.manifest.oracle
    oracle = without_place(oracle) if asks else oracle
    decides = f"What rules leave open is decided by: {oracle}."
    if asks and "quarters" not in show.pictures:
        decides = (
            f"A language model decides what rules leave open: {oracle}. Its prompt:"
            f"\n\n```\n{with_prompt(config)[0].llm.prompt.strip()}\n```\n\nOrder of the options: {config.llm.order}; "
            f"temperature {config.llm.temperature:g}."
        )
    memory = f"{config.llm.memory:,} lines" if config.llm.memory else "none"
    files = "\n".join(f"- {Path(name).name}: SHA-256 {digest}" for name, digest in run.manifest.inputs.items())
    inputs = f"{files}\n\n{OPEN} Where each file comes from, who collected it, when, and how."
    inputs = inputs if files else "None: agents and ties are generated."
    label = calibration_label(config)
    fitted = f"Settings are {label}." if label else "No setting is calibrated: numbers are defaults or the author's."
    graph = f"; ties: {config.population.graph.kind}" if "network" in show.pictures else ""
    concept = "4. Design concepts: "
    return {
        "ODD protocol": None,
        "1. Purpose and patterns": question,
        "2. Entities, state variables and scales": (
            f"{agents}, each with a statechart of the states {', '.join(sorted(map(str, run.domain.chart.states)))}. "
            f"Attributes of their own: {', '.join(config.population.attributes) or 'none besides the built-in ones'}. "
            f"A tick is {simulation.tick_seconds:g} seconds; {run.length:,} ticks in rounds of "
            f"{simulation.ticks_per_round:,} were run."
        ),
        "3. Process overview and scheduling": (
            "In each tick the engine sends each agent that has something due one trigger. All answers of a tick are "
            "applied together, in the order of agents' numbers. Rows of the chart; the first enabled one wins, unless "
            "the oracle chooses among several:\n\n" + "\n".join(map(_row, run.domain.chart.transitions))
        ),
        f"{concept}basic principles": f"{OPEN} The theory behind the model.",
        f"{concept}emergence": f"{OPEN} What is expected to emerge, and what the rules impose.",
        f"{concept}adaptation and objectives": decides,
        f"{concept}learning and prediction": f"Memory in prompts: {memory}. Agents do not change their rules.",
        f"{concept}sensing": "An agent reads its own attributes and what a trigger carries, such as the post in view.",
        f"{concept}interaction": f"{OPEN} Which interactions matter here, beside those of the chart.",
        f"{concept}stochasticity": (
            "Each draw is a hash of seed, agent, tick and purpose: the same seed gives the same run."
        ),
        f"{concept}collectives": f"{OPEN} Groups that matter, if any.",
        f"{concept}observation": f"The journal has every update; digest {summary.get('digest', 'unknown')}.",
        "5. Initialization": (
            f"From seed {simulation.seed}: {agents}{graph}. Settings that are not at their defaults:\n\n"
            f"{_settings(config)}"
        ),
        "6. Input data": inputs,
        "7. Submodels": (
            f"PRISM {run.manifest.packages.get('prism-sim', 'of an unknown version')}, code {run.manifest.code[:16]}. "
            f"Its pages describe them.\n\n{OPEN} Why these."
        ),
        "RAT-RS: the use of data": None,
        "Model aim and context": question,
        "Conceptualisation: what is modelled, and by which data": f"{OPEN} Data and theory behind each entity.",
        "Operationalisation: how data enter the model": f"{fitted}\n\n{inputs}",
        "Experimentation": design,
        "Evaluation": f"{audited}\n\n{OPEN} Comparison with data: docs/realism.md.",
    }


def _settings(config: Config) -> str:
    """Return the settings that are not at their defaults; without addresses and directories: a sheet is for others."""
    texts = {
        name: model_name(value) if isinstance(value, str) else str(value)
        for name, value in flat(other_than(msgspec.to_builtins(config), msgspec.to_builtins(Config())))
        if name != "llm.host"
    }
    return "\n".join(f"- `{name}`: {' '.join(text.split())[:200]}" for name, text in texts.items()) or "none"


def _row(row: Transition[Any]) -> str:
    guard = row.when.text if row.when is not None else getattr(row.guard, "__name__", "a function of the author's")
    condition = "" if row.guard is None else f", if `{guard}`"
    oracle = ", if the oracle chooses it" if row.oracle and row.target else ""
    label = f" ({row.label})" if row.label else ""
    target = row.target or "a state that the oracle chooses"
    return f"- in {row.source}, on {row.trigger}{condition}: to {target}{label}{oracle}"
