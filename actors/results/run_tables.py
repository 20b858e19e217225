"""The tables of one run, gathered while its journal is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import UntrustedCodeError
from actors.factory.charts import look_at_chart
from actors.factory.domains import look_at_domain
from actors.record.listing import list_run
from actors.record.run import Recorded, RecordedTick, shown_path
from actors.results.change_tables import AttributeChanges, TieTables
from actors.results.judgement_table import add_judgements
from actors.results.movements import FinalStates, Transitions
from actors.results.people import AgentRows
from actors.results.post_tables import Feeds, PostTables
from actors.results.quarters import Quarters
from actors.results.question_table import Questions
from actors.results.rounds_table import RoundsTable
from actors.results.rows import Tables
from actors.results.schema import TABLES, Column
from prism.agents import Question
from prism.divergence import Reference
from prism.domain import Domain, reference_of
from prism.errors import ConfigError, InputError
from prism.social.people.population import Population
from prism.social.posts.post import PostView


class Attributes(NamedTuple):
    """The columns of own attributes.

    Args:
        of_people: `{(attribute, whether at the end): its column}`.
        of_posts: the attributes of posts, in the order of their columns.
    """

    of_people: Mapping[tuple[str, bool], Column]
    of_posts: Sequence[str]


class RunTables:
    """The tables of one run.

    Args:
        draft: the directory that is being written.
        attributes: the columns of own attributes.
    """

    def __init__(self, run: Recorded, tables: Tables, draft: Path, attributes: Attributes, rounds: RoundsTable) -> None:
        self._run = run
        self._tables = tables
        self._domain = _Domain(run)
        self._rounds = rounds
        self._attributes = attributes
        self._takers: list[Callable[[RecordedTick], None]] = []
        self._states = FinalStates()
        self._ties = TieTables(run, tables.if_wanted("ties"), tables.if_wanted("edges"))
        changes = tables.if_wanted("attribute_changes")
        self._changes = AttributeChanges(run, changes, lambda: self._domain.population)
        self._questions: Questions | None = None
        self._quarters: Quarters | None = None
        self._posts: PostTables | None = None
        self._directory = draft
        tables.begin(name for name in TABLES if _has(run, name))
        self._prepare()

    def write(self, on_read: Callable[[int], None]) -> None:
        """Add all rows of the run."""
        try:
            for tick in self._run.ticks(on_read):
                for take in self._takers:
                    take(tick)
            self._finish()
        finally:
            if self._posts is not None:
                self._posts.close()

    def _prepare(self) -> None:
        run, tables = self._run, self._tables
        if "agents" in tables:
            self._takers.append(self._states.take)
        if (rows := tables.if_wanted("transitions")) is not None:
            self._takers.append(Transitions(run, rows).take)
        if any(name in tables for name in ("posts", "engagements", "agents")):
            writes = run.domain_name == "social" and run.config.llm.writes
            behaviour = look_at_chart(run.config).behaviour if writes else None
            self._posts = PostTables(run, tables, behaviour, self._directory, self._attributes.of_posts)
            self._takers.append(self._posts.take)
        if (rows := tables.if_wanted("feeds")) is not None:
            self._takers.append(Feeds(run.name, rows).take)
        if run.domain_name == "social":
            self._takers += [self._ties.take, self._changes.take]
        if (rows := tables.if_wanted("questions")) is not None:
            self._questions = Questions(run, rows, self._domain.probabilities)
            self._takers.append(self._questions.take)
        if run.domain_name == "economy":
            self._quarters = Quarters(run, tables)
            self._takers.append(self._quarters.take)

    def _finish(self) -> None:
        run, tables = self._run, self._tables
        if (rows := tables.if_wanted("rounds")) is not None:
            self._rounds.add_to(rows)
        if self._posts is not None:
            self._posts.finish()
        if self._questions is not None:
            self._questions.finish()
        self._add_judgements()
        if self._quarters is not None:
            self._quarters.finish(self._rounds.read())
        self._add_people()
        if (rows := tables.if_wanted("runs")) is not None:
            rows.add(*_run_row(run))

    def _add_people(self) -> None:
        """Add the agents, and the ties between people."""
        rows = self._tables.if_wanted("agents")
        population = self._domain.population if rows is not None or "edges" in self._tables else None
        if population is not None:
            self._ties.finish(population)
        if rows is not None:
            made = {} if self._posts is None else self._posts.made
            changed = self._ties, self._changes
            AgentRows(rows, self._attributes.of_people).add(self._run, self._domain, self._states, made, changed)

    def _add_judgements(self) -> None:
        rows = self._tables.if_wanted("judgements") if _has(self._run, "judgements") else None
        if rows is not None and not self._domain.is_untrusted:
            add_judgements(self._run, rows, self._domain.domain)


class _Domain:
    """The domain of a run, made again when it is first asked for."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self._built: Domain | None = None
        self._is_embedded = run.domain_name == "social" and run.config.oracle.backend == "choice"
        self._reference: Callable[[Question[Any]], Reference] | None = None

    @property
    def domain(self) -> Domain:
        """The domain.

        Raises:
            ConfigError: an input file of the run is not there any more, or the code of its domain.
        """
        if self._built is None:
            hint = "; --tables without agents, edges, attribute_changes, questions and judgements needs no input files"
            try:
                self._built = look_at_domain(self._run.config).domain
            except InputError as error:
                raise ConfigError(str(self._run.path), f"{error}{hint}") from None
        return self._built

    @property
    def initial(self) -> str | None:
        """The state in which all agents begin; None if only code that is not run could tell."""
        return None if self.is_untrusted else str(self.domain.chart.initial.value)

    @cached_property
    def is_untrusted(self) -> bool:
        """True if the domain is not built, as it is code that this user has not asked for; then a note says so."""
        try:
            _ = self.domain
        except UntrustedCodeError as error:
            self._run.notes.append(
                f"without judgements, and without the state of agents that never moved: {error.reason}"
            )
            return True
        return False

    @property
    def population(self) -> Population | None:
        """The people on a feed; None in another domain."""
        return getattr(self.domain, "population", None) if self._run.domain_name == "social" else None

    def probabilities(self, question: Question[Any]) -> str | None:
        """Return the probabilities that the embedded oracle gave the options of a question, as JSON; None if unknown.

        They are unknown where a model was asked, and in ticks that a fork has from its parent, whose settings may have
        been others.
        """
        if not self._is_embedded or question.tick < self._run.shared_ticks:
            return None
        if self._reference is None:
            self._reference = reference_of(self.domain)
        seen = question.context
        context = None if seen is None else msgspec.convert(seen, PostView)
        typed = Question(question.tick, question.agent, question.trigger, question.state, question.options, context)
        shares = self._reference(typed).probabilities
        return None if shares is None else _json(dict(zip(question.options, shares, strict=True)))


def _has(run: Recorded, table: str) -> bool:
    """Return whether a run has a table, though it may have no rows. Others begin with their first row, if any."""
    if table in ("posts", "engagements", "edges"):
        return run.domain_name == "social"
    if table in ("ties", "attribute_changes"):
        return False  # by its first row
    if table == "feeds":
        return run.domain_name == "social" and run.config.run.record_feeds
    if table == "judgements":
        return run.config.oracle.sharing.by != "none"
    if table in ("chains", "indicators"):
        return run.domain_name == "economy"
    return True


def _run_row(run: Recorded) -> Iterator[Any]:
    simulation, header, forks = run.config.simulation, run.header, run.manifest.forks
    yield run.name
    yield shown_path(run.path)
    yield list_run(run.path).status.value
    yield simulation.domain
    yield header.seed
    yield header.agents
    yield run.length
    yield simulation.length
    yield simulation.ticks_per_round
    yield simulation.tick_seconds
    yield run.time_at(0)
    yield run.digest
    yield run.manifest.oracle or None
    yield forks[-1].parent if forks else None
    yield forks[-1].tick if forks else None
    yield header.prism
    yield header.config_sha256
    yield _json(header.config)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
