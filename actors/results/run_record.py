"""A run as a report shows it, read once from its files, with the attributes that its people change; groups of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.core.errors import RunDirectoryError, UntrustedCodeError
from actors.core.messages import Decided
from actors.factory.domains import chart_of
from actors.factory.input_files import INPUTS, KEPT, load_population
from actors.factory.oracle_backends import NOT_COMPARED
from actors.results.observed import engagement_in, feed_of
from actors.runs.summary import Summary
from actors.store.course import point_ticks, read_course
from actors.store.oracle_log import logged_in
from actors.store.record import readable
from actors.store.run import Recorded, RunStatus, list_run
from prism.answers import setting_in_words
from prism.columns import Floats
from prism.config.attributes import Value
from prism.config.yaml_text import flat
from prism.errors import PrismError
from prism.llm.spending import Ledger
from prism.quoting import as_text
from prism.rows import unpacked
from prism.scorecard.facts import Feed
from prism.sharing.archetypes import Judged
from prism.social.measures import bimodality, variance
from prism.social.people.people import SyntheticPeople
from prism.social.people.population import Population, ignore_step
from prism.statechart.outline import outline

ROUNDS_MAX: Final = 60
"""The most rounds whose ends are kept: of a longer run they are evenly chosen, and the last one."""
VALUES_MAX: Final = 1001  # the most values that are kept of a moment: of more people they are evenly chosen by rank


class Moment(NamedTuple):
    values: Floats  # ascending, of shape (people,) or (VALUES_MAX,)
    mean: float
    spread: float
    bimodality: float  # as computed by `prism.social.measures.bimodality`
    sides: Sequence[tuple[int, float]]  # how many people are below the mean, and their median; and of the others


def moment_of(values: Floats) -> Moment:
    """Return the distribution of a number over all people. `values`: of shape (people,), in any order."""
    mean = float(values.mean())
    is_below = values < mean
    sides = [values[is_below], values[~is_below]]
    ranks = np.linspace(0, len(values) - 1, min(len(values), VALUES_MAX)).round().astype(np.int64)
    medians = [(len(side), float(np.median(side)) if len(side) else mean) for side in sides]
    return Moment(np.sort(values)[ranks], mean, float(np.sqrt(variance(values))), bimodality(values), medians)


class AttributeCourse:
    """An attribute of people, at the start and at the ends of rounds."""

    def __init__(self, name: str, values: Sequence[Value | None], *, is_number: bool) -> None:
        self.name, self.is_number = name, is_number
        self.values: NDArray[Any] = np.array(values, dtype=np.float64 if is_number else object)
        """Those of everybody at the moment that is kept next."""
        self._first = self.values.copy()
        self.differs = False  # true if somebody had another value than at the start, at one of the moments
        self.rounds = list[int]()  # ascending; 0 is the start, 1 the end of the first round
        self.moments = list[Moment]()  # of a number, at these rounds
        self._counts = list[Counter[str]]()
        self.keep(0)

    def keep(self, at: int) -> None:
        """Keep the distribution of the values at a round."""
        self.rounds.append(at)
        self.differs = self.differs or bool((self.values != self._first).any())
        if self.is_number:
            self.moments.append(moment_of(self.values))
        else:
            texts = (each if isinstance(each, str) else "true" if each else "false" for each in self.values)
            self._counts.append(Counter(texts))

    @property
    def shares(self) -> list[dict[str, float]]:
        """Of a text or truth value, the share of people with each value: of all at any of these rounds, 0 to 1."""
        every = dict.fromkeys(text for counted in self._counts for text in counted)
        return [{text: counted[text] / counted.total() for text in every} for counted in self._counts]


class RunRecord(Recorded):
    """A run as a report shows it, read at once; it may have ended, be under way, or have been killed."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, name)
        config = self.config  # an error of the configuration is no problem of the chart
        chart, self.chart_problem = None, ""
        """The reason why the chart cannot be read, whose file or code may be gone; empty if it can."""
        try:
            chart = chart_of(config)
        except UntrustedCodeError as error:
            self.chart_problem = error.reason
        except PrismError as error:
            self.chart_problem = str(error)
        self.listed = listed = list_run(path)  # its status, with the ticks and the digest
        if listed.status is RunStatus.DAMAGED and not listed.domain:
            problem = f"is damaged, so there is nothing to report; `prism verify {path}` says where"
            raise RunDirectoryError(f"{path}: {problem}")
        self.course = read_course(
            path,
            initial=None if chart is None else outline(chart).initial,
            each_ticks=point_ticks(listed.ticks, self.config.simulation.ticks_per_round),
        )
        self.chart = None if chart is None else outline(chart, self.course.activity)
        """The chart with the counts of the run; None if it cannot be read."""
        self.is_damaged = listed.status is RunStatus.DAMAGED
        """True if the journal cannot be read up to its latest checkpoint, which no crash explains."""
        self.summary: Summary | None = None
        if self.summary_fields.get("ticks") == listed.ticks == self.course.ticks:
            with suppress(msgspec.ValidationError):
                self.summary = Summary.from_fields(self.summary_fields)
        self.rounds = self.rounds_until(self.course.ticks)
        # The calls to a model in the oracle's log, up to any damage, and the times from question to answer.
        self.latencies_s, ledger = list[float](), Ledger()
        for record in logged_in(path):
            if not isinstance(record, Judged):
                ledger.add(record.spent)
            if isinstance(record, Decided) and not record.reason and record.spent:
                self.latencies_s.append(record.latency_s)
        self.spent = sorted(ledger, key=lambda each: each.outcome)  # empty if no model was asked
        self.people: Population | str | None = None
        """The people of a social run; the reason, if they cannot be read again; None before `read_people`."""
        self.attributes: tuple[AttributeCourse, ...] = ()
        """The attributes that people change, over the rounds; none before `read_people`."""

    @property
    def states(self) -> list[str]:
        """The states in the order of the chart, and those that the journal has besides."""
        names = [] if self.chart is None else self.chart.states
        seen = dict.fromkeys(state for point in self.course.people for state in point)
        return list(dict.fromkeys([*names, *seen, *self.course.inside]))

    @property
    def feed(self) -> Feed:
        """The data of a social run for a scorecard; the run need not have ended."""
        return feed_of(self.course, engagement_in({} if self.summary is None else self.summary.world), self.config)

    def read_people(self, on_step: Callable[[str], None] = ignore_step) -> None:
        """Read the people of a social run, and the attributes that they change: then it reads the journal again."""
        try:
            self.people, _ = load_population(self.config.population, self.config.simulation.seed, on_step)
        except PrismError as error:
            self.people = str(error)
            return
        people, changed = self.people.personas, {*self.course.attributes_changed}
        at_start = {
            name: people.attribute(name)
            if isinstance(people, SyntheticPeople)
            else [each.attributes[name] for each in people]
            for name in self.config.population.attributes
            if name in changed
        }
        if at_start:
            on_step("attributes over the rounds")
            self._read_attributes(at_start)

    def _read_attributes(self, drawn: Mapping[str, Sequence[Value | None]]) -> None:
        """Read the attributes that differ at the ends of whole rounds. `drawn`: the values at the start."""
        length = self.config.simulation.ticks_per_round
        last = self.course.ticks // length
        kept = sorted({*range(0, last + 1, max(1, -(-last // ROUNDS_MAX))), last} - {0})
        declared = self.config.population.attributes
        found = {
            name: AttributeCourse(name, values, is_number=declared[name].type in ("float", "int"))
            for name, values in drawn.items()
        }
        for block in self.record.blocks(until=last * length, wanted=self.record.all_of("attributes")):
            at, end = block.first, block.first + block.ticks
            with readable(block):
                while at < end:
                    until = min(kept[0] * length, end)
                    changes = block.part(at, until).tables["attributes"].columns
                    names, of_row = changes["name"].numbered()
                    for number, name in enumerate(names):
                        if name in found:
                            places = np.flatnonzero(of_row == number)
                            found[name].values[changes["agent"][places]] = unpacked(changes["value"].at(places))
                    at = until
                    if at == kept[0] * length:
                        for each in found.values():
                            each.keep(kept[0])
                        del kept[0]
        self.attributes = tuple(each for each in found.values() if each.differs)


_KEPT_IN_JSON = re.compile(rf'{INPUTS}/(?P<sha256>[0-9a-f]{{64}})(?:/(?P<name>(?:\\.|[^/"\\])+))?')
"""As `KEPT`, in a text of JSON: there the quotes in a name are escaped, and the quote after it ends it."""


Differences = dict[str, list[str]]  # `{setting that differs: its value in each run or group, as text}`


class RunGroup(NamedTuple):
    """Runs of one configuration with different seeds; or one damaged run, which no mean or median includes."""

    label: str  # the settings that tell it from the other groups; empty if there is no other
    runs: tuple[RunRecord, ...]  # at least one, in the order in which they were given

    @property
    def name(self) -> str:
        """Its name in a legend, with its number of runs, if there are several."""
        several = f"{len(self.runs)} seeds" if len(self.runs) > 1 else ""
        return f"{self.label} ({several})" if self.label and several else self.label or several or "the run"

    @property
    def first(self) -> RunRecord:
        """The run that is shown where a single run must represent the group."""
        return self.runs[0]


def settings_in_words(config: dict[str, Any]) -> dict[str, str]:
    return {key: as_text(value) for key, value in flat(config)}


def differing(settings: Sequence[dict[str, str]], missing: str = "") -> Differences:
    """Return the settings that differ between runs. `missing`: the text for a setting that a run does not have."""
    rows = {key: [each.get(key, missing) for each in settings] for key in dict.fromkeys(chain(*settings))}
    return {key: _plain(values) for key, values in rows.items() if len({*values}) > 1}


def _plain(values: Sequence[str]) -> list[str]:
    """Return values with kept inputs by the names of their files; files of one name are numbered if they differ."""
    versions: dict[str, list[str]] = {}

    def named(found: re.Match[str]) -> str:
        contents = versions.setdefault(found["name"] or "code", [])
        if found["sha256"] not in contents:
            contents.append(found["sha256"])
        name, place = found["name"] or "code", contents.index(found["sha256"]) + 1
        return name if place == 1 else f"{name} (version {place})"

    return [(KEPT if KEPT.fullmatch(value) else _KEPT_IN_JSON).sub(named, value) for value in values]


def groups_of(runs: Sequence[RunRecord]) -> tuple[list[RunGroup], Differences]:
    """Return the groups of runs in the order of their first runs, and the settings in which they differ.

    Each damaged run is a group of its own; these are the last.
    """
    found: dict[tuple[tuple[tuple[str, str], ...], str], list[RunRecord]] = {}
    for run in sorted(runs, key=lambda run: run.is_damaged):
        told = settings_in_words(msgspec.to_builtins(run.config)).items()
        kept = tuple((key, value) for key, value in told if not key.startswith(NOT_COMPARED))
        found.setdefault((kept, run.name if run.is_damaged else ""), []).append(run)
    differences, groups = differing([dict(settings) for settings, _ in found], "not set"), list[RunGroup]()
    for place, each in enumerate(found.values()):
        label = ", ".join(f"{setting_in_words(key)}: {values[place]}" for key, values in differences.items())
        if len(found) == 1:
            label = ""
        elif each[0].is_damaged:
            label = f"{each[0].name}, damaged after {each[0].course.ticks:,} ticks"
        elif len(differences) > 2 or len(label) > 40:
            label = f"configuration {place + 1}"
        groups.append(RunGroup(label, tuple(each)))
    return groups, differences
