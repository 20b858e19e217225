"""The description of a model by the ODD protocol: from a run's configuration, its chart and its domain's docstrings.

Source: Grimm et al., "The ODD protocol for describing agent-based and other simulation models: a second update" (2020).
It has seven elements: purpose and patterns; entities, state variables and scales; process overview and scheduling;
design concepts; initialization; input data; submodels.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

import msgspec

from actors.factory.domains import build_domain, is_own
from actors.factory.kept_inputs import plain_name
from actors.factory.own_domain import find_own_domain
from actors.results.odd_texts import ECONOMY, SOCIAL, DomainTexts
from actors.results.run_groups import flat_settings
from actors.results.run_record import RunRecord
from prism.config import Config
from prism.config.describe import settings
from prism.drawing.outline import Outline
from prism.errors import PrismError
from prism.social.effects import ON_TIES

CONCEPTS: Final = (
    "Basic principles",
    "Emergence",
    "Adaptation",
    "Objectives",
    "Learning",
    "Prediction",
    "Sensing",
    "Interaction",
    "Stochasticity",
    "Collectives",
    "Observation",
)
"""The eleven design concepts of the protocol."""
_CONCEPT = re.compile(rf"^\s*({'|'.join(CONCEPTS)}): +(\S.*)$", re.MULTILINE | re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
UNSAID: Final = "The domain's docstrings say nothing of it."
_SECTIONS: Final = {
    "social": ("population", "feed", "statechart", "oracle.choice"),
    "economy": ("economy", "oracle.choice"),
}
"""The sections of the configuration that hold the submodels of a domain."""


class Terms(NamedTuple):
    """Terms, each with its explanation."""

    items: tuple[tuple[str, str], ...]


class Grid(NamedTuple):
    """A table of texts: its caption, columns and rows."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part = str | Terms | Grid


class OddElement(NamedTuple):
    """One of the seven elements: its title, and its paragraphs, terms and tables."""

    title: str
    parts: tuple[Part, ...]


def odd_of(run: RunRecord) -> list[OddElement]:
    """Return the seven elements for the model of a run."""
    model = _Model(run)
    return [
        OddElement("1. Purpose and patterns", tuple(model.purpose())),
        OddElement("2. Entities, state variables and scales", tuple(model.entities())),
        OddElement("3. Process overview and scheduling", tuple(model.processes())),
        OddElement("4. Design concepts", (Terms(tuple(model.concepts())),)),
        OddElement("5. Initialization", tuple(model.initialization())),
        OddElement("6. Input data", tuple(model.inputs())),
        OddElement("7. Submodels", tuple(model.submodels())),
    ]


class _Model:
    """The model of a run, as its description needs it."""

    def __init__(self, run: RunRecord) -> None:
        self._run = run
        self._config = run.config
        self._name = run.config.simulation.domain
        self._docs = {} if self._name in _SECTIONS else own_docs(run.config)
        self._texts = {"social": SOCIAL, "economy": ECONOMY}.get(self._name) or own_texts(self._docs)

    def purpose(self) -> Iterator[Part]:
        question = self._config.run.question
        yield (
            f"The run is to answer: {question}" if question else "The configuration states no question (run.question)."
        )
        if self._name not in _SECTIONS and self._run.chart_problem:
            yield f"What the domain's docstrings say is not shown: {self._run.chart_problem}"
        yield self._texts.purpose
        yield self._texts.patterns

    def entities(self) -> Iterator[Part]:
        header, simulation = self._run.course.header, self._config.simulation
        yield f"There are {header.agents:,} agents. {self._texts.entities}"
        yield Terms(tuple(self._texts.variables.items()) + tuple(_attributes(self._config)))
        yield (
            f"Time goes in ticks of {simulation.tick_seconds:g} simulated seconds; {simulation.ticks_per_round:,} "
            f"ticks are a round, and the whole run has {simulation.length:,} ticks from "
            f"{simulation.epoch.isoformat()} on. {self._texts.space}"
        )

    def processes(self) -> Iterator[Part]:
        yield (
            "In each tick these happen one after the other: interventions that are due; triggers, at most one for each "
            "agent; the agents' turns, which depend on nothing that happens in the same tick; decisions of the oracle "
            "that are due; reactions to what has just happened. Turns are applied in the order of the agents' numbers, "
            "so the order in which a computer works them out has no effect."
        )
        ticks = self._config.deliberation_ticks
        if ticks:
            yield f"A choice that is put to the oracle takes effect {_ticks(ticks)} later; the agent waits meanwhile."
        yield self._texts.scheduling
        if self._run.chart is not None and _changes_people(self._run.chart):
            yield "What agents change of their ties and attributes holds from the next tick on: all at the same time."
        if self._run.chart is None:
            yield f"The chart of the agents cannot be read: {self._run.chart_problem}"
            return
        yield _states(self._run.chart)
        yield _rows(self._run.chart)

    def concepts(self) -> Iterator[tuple[str, str]]:
        known = dict(self._texts.concepts)
        known.setdefault("Adaptation", self._adaptation())
        known.setdefault("Stochasticity", self._chance())
        known.setdefault("Observation", self._observation())
        if self._name not in _SECTIONS:
            known.setdefault("Sensing", _conditions(self._run.chart))
        said = "\n".join(self._docs.values())
        known |= {match[1].capitalize(): " ".join(match[2].split()) for match in _CONCEPT.finditer(said)}
        for name in CONCEPTS:
            yield name, known.get(name, UNSAID)

    def _adaptation(self) -> str:
        chart = self._run.chart
        if chart is None:
            return UNSAID
        rows = [row for path in chart.definition.walk() for row in path[-1].rows]
        asked = sum(bool(row.oracle) or not row.target for row in rows)
        backend = self._config.oracle.backend
        who = "an embedded model of choice" if backend == "choice" else f"a language model ({backend})"
        return (
            f"Agents answer triggers by their chart: {len(rows)} rows, of which {asked} may be put to the oracle, "
            f"which is {who}. Where one row's condition holds, the rule decides; where several hold, the oracle does."
        )

    def _chance(self) -> str:
        text = (
            f"Every draw follows from the seed ({self._run.course.header.seed}), the agent, the tick and the purpose "
            "of the draw, so it does not depend on other draws: two runs that differ in a setting share their draws "
            "where the same thing happens. "
        )
        return text + self._texts.chance

    def _observation(self) -> str:
        feeds = " Feeds as they were shown are recorded, too." if self._config.run.record_feeds else ""
        return (
            "The journal records every turn of every agent, every question with what was known, and what came of it, "
            f"for the whole run; nothing is sampled.{feeds} Counts stand in rounds.csv after each round and in "
            "summary.json at the end."
        )

    def initialization(self) -> Iterator[Part]:
        chart = self._run.chart
        begins = "" if chart is None else f" All agents begin in the state {chart.initial}."
        yield f"{self._texts.initialization}{begins}"
        yield _settings_table("The settings of the start", self._config, self._texts.start_sections)

    def inputs(self) -> Iterator[Part]:
        inputs = self._run.course.header.inputs
        if inputs:
            yield Grid(
                "Input files",
                ("file", "SHA-256"),
                tuple(sorted((plain_name(name), sha256) for name, sha256 in inputs.items())),
            )
        else:
            yield "No file is read: everything follows from the settings and the seed."
        done = self._config.interventions
        if done:
            rows = tuple((str(number), msgspec.json.encode(each).decode()) for number, each in enumerate(done, start=1))
            yield Grid("Interventions, which change the run from outside", ("number", "what is done"), rows)
        else:
            yield "Nothing is done to the run from outside while it goes on."

    def submodels(self) -> Iterator[Part]:
        yield Terms(tuple(self._texts.submodels.items()))
        for section in _SECTIONS.get(self._name, ("domain",)):
            table = _settings_table(f"Settings: {section}", self._config, (section,))
            if table.rows:
                yield table


def own_docs(config: Config) -> dict[str, str]:
    """Return `{part of the domain: its docstring}` of a domain of one's own: its module, world, agents and settings."""
    if not is_own(config):
        return {}
    try:
        own, domain = find_own_domain(config.simulation), build_domain(config).domain
    except PrismError:
        return {}
    parts: dict[str, Any] = {
        "module": sys.modules.get(str(getattr(own.code.value, "__module__", ""))),
        "function": own.code.value,
        "domain": type(domain),
        "world": type(domain.world),
        "settings": own.settings,
    }
    if domain.size:
        parts["agent"] = type(domain.agent(0))
    return {name: text for name, part in parts.items() if (text := _doc(part))}


def own_texts(docs: Mapping[str, str]) -> DomainTexts:
    """Return the texts of a domain of one's own, from its docstrings."""
    purpose = docs.get("module") or docs.get("domain") or docs.get("function") or UNSAID
    return DomainTexts(
        purpose=_CONCEPT.sub("", purpose).strip(),
        patterns="No patterns to judge the model by are stated; the numbers that the world tells are in rounds.csv.",
        entities=first_sentence(docs.get("agent", "")),
        variables={"state": "the agent's state in the chart"},
        space="The domain says what space there is.",
        scheduling=first_sentence(docs.get("world", "")) or UNSAID,
        concepts={},
        chance="Which draws there are is up to the domain.",
        initialization=first_sentence(docs.get("function", ""))
        or "The domain's function builds the agents and their world.",
        start_sections=("domain",),
        submodels={
            name: _CONCEPT.sub("", text).strip()
            for name, text in docs.items()
            if name in ("world", "agent", "settings")
        }
        or {"world": UNSAID},
    )


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return _SENTENCE.split(paragraph)[0]


def _doc(part: object) -> str:
    """Return the docstring that a module, class or function has itself; empty if it only inherits one."""
    own = vars(part).get("__doc__") if isinstance(part, type | ModuleType) else getattr(part, "__doc__", None)
    return inspect.cleandoc(own) if isinstance(own, str) else ""


def _attributes(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the attributes that the configuration gives people."""
    for name, declared in config.population.attributes.items():
        words = declared.description or f"{declared.type} of people, declared in population.attributes"
        yield name, words


def _states(chart: Outline) -> Grid:
    rows = []
    for path in chart.definition.walk():
        state = path[-1]
        if state.states:
            continue
        delay = "" if state.after is None else f"{state.after}, by {state.after.trigger}"
        rows.append((state.name, state.description, state.role, delay, state.effect))
    return Grid("The states of an agent", ("state", "meaning", "role in the world", "ends", "effect then"), tuple(rows))


def _changes_people(chart: Outline) -> bool:
    """Return whether agents change ties or attributes."""
    return bool(chart.attributes_set) or not chart.effects.isdisjoint(ON_TIES)


def _rows(chart: Outline) -> Grid:
    rows = tuple(
        (
            path[-1].name,
            row.trigger,
            row.when or "always",
            row.target or "as the oracle decides",
            {True: "the oracle", False: "a rule", None: "a rule; the oracle, if several rows hold"}[row.oracle],
            "; ".join([*([row.effect] if row.effect else []), *map(str, row.sets)]),
        )
        for path in chart.definition.walk()
        for row in path[-1].rows
    )
    columns = ("in the state", "on the trigger", "when", "to the state", "decided by", "what it does at once")
    with_own = any(row[-1] for row in rows)
    shown = rows if with_own else tuple(row[:-1] for row in rows)
    return Grid("The rows of the chart, in their order", columns if with_own else columns[:-1], shown)


def _conditions(chart: Outline | None) -> str:
    """Return what the conditions of a chart read."""
    if chart is None:
        return UNSAID
    names = dict.fromkeys(row.when for path in chart.definition.walk() for row in path[-1].rows if row.when)
    if not names:
        return "No condition of the chart reads anything: the trigger and the state decide."
    return f"The conditions of the chart read: {'; '.join(names)}."


def _settings_table(caption: str, config: Config, sections: Sequence[str]) -> Grid:
    """Return the settings of sections with their values and meanings; those of a domain of its own without meanings."""
    values = flat_settings(config)
    told = {each.path: each.description for each in settings()}
    rows = tuple(
        (key, value if len(value) <= 120 else f"{value[:119]}…", told.get(key, ""))
        for key, value in values.items()
        if any(key.startswith(f"{section}.") for section in sections)
    )
    return Grid(caption, ("setting", "value", "meaning"), rows)


def _ticks(number: int) -> str:
    return "1 tick" if number == 1 else f"{number:,} ticks"
