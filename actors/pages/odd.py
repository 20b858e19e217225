"""An ODD protocol and a RAT-RS sheet of a run or an experiment, filled as far as the record knows, as Markdown.

What only the author knows is left open, and marked. Sources: Grimm et al., "The ODD protocol: a second update" (2020);
Achter, Borit, Chattoe-Brown & Siebers, "RAT-RS: a reporting standard for data use in agent-based modelling" (2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.core.errors import RunDirectoryError
from actors.explain.retrace import OpenRun
from actors.factory.calibrated import calibration_label
from actors.factory.domains import look_at_domain
from actors.factory.input_files import with_prompt
from actors.store.listing import list_run
from actors.store.manifest import read_summary
from actors.studies.audit.record import read_audit
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import other_than
from actors.studies.experiments.record import CellState, ExperimentRecord, is_experiment, read_experiment_record
from prism.audit import Audit
from prism.config import Config
from prism.statechart import Transition
from prism.wording import counted, model_name, without_place

OPEN: Final = "**[OPEN]**"
"""The mark of what only the author knows."""


def odd_sheet(path: Path) -> str:
    """Return the sheet of a run, or of an experiment by its first finished cell. It reads files, and blocks."""
    experiment, run, runs = None, path, [path]
    if is_experiment(path):
        experiment = read_experiment_record(path)
        done = [each for each in experiment.cells if each.state is CellState.DONE]
        if not done:
            raise RunDirectoryError(f"{path}: no cell of the experiment is done, so there is nothing to describe")
        runs = [cell_path(path, each) for each in done]
        run = runs[0]
    audit = read_audit(path)
    is_stale = audit is not None and {*audit.digests} != {list_run(each).digest for each in runs}
    sheet = _Sheet(OpenRun(run, look_at_domain), experiment, None if is_stale else audit)
    parts = [f"# {path.resolve().name}: ODD and RAT-RS", f"{OPEN} marks what the record does not know."]
    for title, lines in (("ODD protocol", sheet.odd()), ("RAT-RS: the use of data", sheet.rat_rs())):
        parts.append(f"## {title}")
        parts += [f"### {heading}\n\n{text}" for heading, text in lines]
    return "\n\n".join(parts) + "\n"


class _Sheet:
    def __init__(self, run: OpenRun, experiment: ExperimentRecord | None, audit: Audit | None) -> None:
        self._run, self._experiment, self._audit = run, experiment, audit
        self._config, self._summary = run.config, read_summary(run.path)

    @property
    def _question(self) -> str:
        if self._experiment is None:
            return f"{OPEN} The purpose of the model, and the patterns by which it is judged."
        experiment = self._experiment.plan.experiment
        measures = ", ".join(f"{name} ({place})" for name, place in experiment.measures.items())
        told = "; ".join(str(each) for each in experiment.hypotheses) or "none"
        patterns = f"{OPEN} The real patterns by which the model is judged."
        return f"{experiment.question} Measures: {measures}. Hypotheses: {told}.\n\n{patterns}"

    def odd(self) -> Iterator[tuple[str, str]]:
        """Yield the elements of the ODD protocol."""
        config, run = self._config, self._run
        simulation, agents = config.simulation, counted(run.domain.size, run.show.agent, run.show.agents)
        states = ", ".join(sorted(str(each) for each in run.domain.chart.states))
        attributes = ", ".join(config.population.attributes) or "none besides the built-in ones"
        yield "1. Purpose and patterns", self._question
        ticks = f"{run.length:,} ticks in rounds of {simulation.ticks_per_round:,}"
        said = f"{agents}, each with a statechart of the states {states}. Attributes of their own: {attributes}. "
        said += f"A tick is {simulation.tick_seconds:g} seconds; {ticks} were run."
        yield "2. Entities, state variables and scales", said
        rows = "\n".join(map(_row, run.domain.chart.transitions))
        said = "In each tick the engine sends each agent that has something due one trigger. All answers of a tick are "
        said += "applied together, in the order of agents' numbers. Rows of the chart; the first enabled one "
        yield "3. Process overview and scheduling", f"{said}wins, unless the oracle chooses among several:\n\n{rows}"
        for name, text in self._concepts():
            yield f"4. Design concepts: {name}", text
        graph = f"; ties: {config.population.graph.kind}" if "network" in run.show.pictures else ""
        said = f"From seed {simulation.seed}: {agents}{graph}. Settings that are not at their defaults:"
        yield "5. Initialization", f"{said}\n\n{self._settings(config)}"
        yield "6. Input data", self._inputs()
        version = run.manifest.packages.get("prism-sim", "of an unknown version")
        said = f"PRISM {version}, code {run.manifest.code[:16]}. Its pages describe them."
        yield "7. Submodels", f"{said}\n\n{OPEN} Why these."

    def _concepts(self) -> Iterator[tuple[str, str]]:
        config = self._config
        yield "basic principles", f"{OPEN} The theory behind the model."
        yield "emergence", f"{OPEN} What is expected to emerge, and what the rules impose."
        asks, oracle = config.oracle.backend != "choice", self._run.manifest.oracle
        oracle = without_place(oracle) if asks else oracle
        questions = (
            f"A language model decides what rules leave open: {oracle}. Its prompt:"
            f"\n\n```\n{with_prompt(config)[0].llm.prompt.strip()}\n```\n\nOrder of the options: {config.llm.order}; "
            f"temperature {config.llm.temperature:g}."
            if asks and "quarters" not in self._run.show.pictures
            else f"What rules leave open is decided by: {oracle}."
        )
        yield "adaptation and objectives", questions
        memory = f"{config.llm.memory:,} lines" if config.llm.memory else "none"
        yield "learning and prediction", f"Memory in prompts: {memory}. Agents do not change their rules."
        yield "sensing", "An agent reads its own attributes and what a trigger carries, such as the post in view."
        yield "interaction", f"{OPEN} Which interactions matter here, beside those of the chart."
        yield "stochasticity", "Each draw is a hash of seed, agent, tick and purpose: the same seed gives the same run."
        yield "collectives", f"{OPEN} Groups that matter, if any."
        yield "observation", f"The journal has every update; digest {self._summary.get('digest', 'unknown')}."

    def _settings(self, config: Config) -> str:
        found = other_than(msgspec.to_builtins(config), msgspec.to_builtins(Config()))
        # A sheet is for others: it has no addresses and no directories of this machine.
        lines = list[str]()
        for name, value in _flat(found):
            text = model_name(value) if isinstance(value, str) else str(value)
            if name != "llm.host":
                lines.append(f"- `{name}`: {' '.join(text.split())[:200]}")
        return "\n".join(lines) or "none"

    def _inputs(self) -> str:
        files = "\n".join(
            f"- {Path(name).name}: SHA-256 {digest}" for name, digest in self._run.manifest.inputs.items()
        )
        origin = f"{OPEN} Where each file comes from, who collected it, when, and how."
        return f"{files}\n\n{origin}" if files else "None: agents and ties are generated."

    def rat_rs(self) -> Iterator[tuple[str, str]]:
        """Yield the five suites of RAT-RS."""
        yield "Model aim and context", self._question
        yield "Conceptualisation: what is modelled, and by which data", f"{OPEN} Data and theory behind each entity."
        label = calibration_label(self._config)
        fitted = (
            f"Settings are {label}." if label else "No setting is calibrated: numbers are defaults or the author's."
        )
        yield "Operationalisation: how data enter the model", f"{fitted}\n\n{self._inputs()}"
        if self._experiment is None:
            yield "Experimentation", f"One run, seed {self._config.simulation.seed}. {OPEN} The design behind it."
        else:
            experiment = self._experiment.plan.experiment
            names = ", ".join(each.name for each in experiment.conditions)
            share = self._summary.get("fallback_share", 0.0)
            said = f"Conditions: {names}; {counted(len(experiment.seeds), 'seed')} each, the same for all; alpha "
            said += f"{experiment.alpha:g}, by Holm. Plan {self._experiment.plan.hash[:16]}. "
            yield "Experimentation", f"{said}Fallbacks: {share:.1%} of choices."
        audited = "Not audited as it is now: `prism audit`." if self._audit is None else self._audit.paragraph
        yield "Evaluation", f"{audited}\n\n{OPEN} Comparison with data: docs/realism.md."


def _row(row: Transition[Any]) -> str:
    guard = row.when.text if row.when is not None else getattr(row.guard, "__name__", "a function of the author's")
    condition = "" if row.guard is None else f", if `{guard}`"
    oracle = ", if the oracle chooses it" if row.oracle and row.target else ""
    label = f" ({row.label})" if row.label else ""
    target = row.target or "a state that the oracle chooses"
    return f"- in {row.source}, on {row.trigger}{condition}: to {target}{label}{oracle}"


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
