"""The moves of a run's agents as a table, and the domain, which is made again when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from msgspec import convert
from msgspec.json import encode
from msgspec.structs import replace

from actors.core.errors import UntrustedCodeError
from actors.factory.charts import look_at_chart
from actors.factory.domains import look_at_domain
from actors.results.part import Part, used_kinds
from actors.results.table_files import Rows
from actors.store.record import Block, tick_of_rows
from actors.store.run import Recorded
from prism.agents import MOVED, Question
from prism.cells import Cells
from prism.columns import places_among
from prism.config import Config
from prism.config.attributes import AttributeConfig
from prism.domain import Domain, said_by
from prism.errors import ConfigError, InputError, PrismError
from prism.rows import part_of, unpacked
from prism.social.people.population import Population
from prism.tables import Column, Kind


class BuiltOnce:
    """The domain of a run, made again when it is first asked for."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self._built: Domain | None = None
        self._is_embedded = run.config.oracle.backend == "choice"

    @property
    def domain(self) -> Domain:
        if self._built is None:
            hint = "; --tables without agents, edges, attribute_changes, questions and judgements needs no input files"
            try:
                self._built = look_at_domain(self._run.config).domain
            except InputError as error:
                raise ConfigError(str(self._run.path), f"{error}{hint}") from None
        return self._built

    @property
    def initial(self) -> str | None:
        """The state in which all agents begin; None if it depends on code that may not be run."""
        return None if self.is_untrusted else str(self.domain.chart.initial.value)

    @cached_property
    def is_untrusted(self) -> bool:
        """True if the domain is not built because it is code that this user has not allowed; then a note says so."""
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
        found = None if self.is_untrusted else getattr(self.domain, "population", None)
        return found if isinstance(found, Population) else None

    def probabilities(self, questions: Sequence[Question[Any]], columns: Mapping[str, Any]) -> list[str | None]:
        """Return the probabilities that the embedded oracle gave the options of questions, as JSON; None if unknown.

        They are unknown where a model was asked, and in ticks that a fork has from its parent, whose settings may
        differ.

        Args:
            columns: what the questions are about.
        """
        shared = self._run.shared_ticks
        first = sum(each.tick < shared for each in questions)
        found: list[str | None] = [None] * len(questions)
        if not self._is_embedded or first == len(questions) or self.is_untrusted:
            return found
        said, own = said_by(self.domain), questions[first:]
        parts = {name: part_of(values, first, len(questions)) for name, values in columns.items()}
        shares: Sequence[Sequence[float] | None] | None = said.chances(own, parts)
        if shares is None:
            types = self.domain.context_type
            typed = (
                replace(each, context=None if each.context is None else convert(each.context, types)) for each in own
            )
            shares = [said.reference(each).probabilities for each in typed]
        for place, (asked, of) in enumerate(zip(own, shares, strict=True), first):
            found[place] = None if of is None else encode(dict(zip(asked.options, of, strict=True))).decode()
        return found


class Moves(Part):
    """The rows of `transitions`, and the last move of each agent.

    `rows`: None if they are not wanted.
    """

    def __init__(self, run: Recorded, rows: Rows | None) -> None:
        super().__init__(run)
        self._rows = rows
        self.last = np.full(run.header.agents, -1)
        """The kind of each agent's last move; -1 for an agent that has not moved."""
        self.since, self.times = np.zeros_like(self.last), np.zeros_like(self.last)
        """The tick of its last move, and how often it has moved."""
        of_rows = {"effects": ("agent", "value"), "posts": ("agent", "post"), "likes": ("agent", "post")}
        self.wanted = {"updates": ("agent", "kind"), **({} if rows is None else of_rows)}

    def take(self, block: Block) -> None:
        table, many, kinds = block.tables["updates"], self.run.header.agents, self.run.record.kinds
        moved = np.array([kind.source in MOVED for kind in kinds], np.bool_)[table.columns["kind"]]
        rows = slice(None) if moved.all() else np.flatnonzero(moved)
        columns = tick_of_rows(table), table.columns["agent"], table.columns["kind"]
        ticks, agents, codes = (each[rows] for each in columns)
        self.last[agents], self.since[agents] = codes, ticks  # of several moves of an agent the last one stays
        self.times += np.bincount(agents, minlength=many)
        if self._rows is None or not len(codes):
            return
        # 1. The effects: names of kinds, and of updates that have an effect of their own.
        used, codes = used_kinds(kinds, codes)
        keys, effects = block.keys("updates", many)[rows], block.tables["effects"]
        places = places_among(keys, block.keys("effects", many))
        own = unpacked(effects.columns["value"].at(np.flatnonzero(places >= 0)))
        told = [*(kind.effect or None for kind in used), *own]
        name = self.run.show.effect_name
        names = Cells.of_texts(None if effect is None else name(effect) for effect in told)
        of_rows = codes.copy()
        of_rows[places[places >= 0]] = np.arange(len(used), len(told))
        # 2. The post that an update made or liked, which is noted in its wave.
        posts = np.full(len(codes), -1)
        for of in (each for each in ("posts", "likes") if each in block.tables):
            places = places_among(keys, block.keys(of, many))
            posts[places[places >= 0]] = block.tables[of].columns["post"][places >= 0]
        texts = (Cells.of_texts(each).at(codes) for each in [*zip(*used, strict=True)][:4])
        reasons = Cells.of_texts(kind.reason or None for kind in used).at(codes)
        self.add(self._rows, ticks, agents, *texts, names.at(of_rows), Cells.from_zero(posts), reasons)


_KINDS: Final[Mapping[str, Kind]] = {"float": Kind.NUMBER, "int": Kind.INTEGER, "bool": Kind.BOOLEAN, "text": Kind.TEXT}


def attribute_columns(configs: Iterable[Config]) -> dict[tuple[str, bool], Column]:
    """Return `{(attribute, whether at the end): its column}` for the attributes that these configurations declare.

    Those of the start come first, and then those of the end of the attributes that a chart sets.

    An attribute whose type differs among them is a text. Two names that differ in case alone get two columns that a
    database can tell apart.
    """
    configs = [*configs]
    declarations = [(False, config.population.attributes) for config in configs]
    declarations += [(True, _set_by_charts(config)) for config in configs]
    return _columns(declarations, "people")


def post_columns(configs: Iterable[Config]) -> dict[str, Column]:
    """Return `{attribute: its column}` for the attributes of posts that these configurations declare, likewise."""
    columns = _columns([(False, config.population.posts.attributes) for config in configs], "posts")
    return {name: column for (name, _), column in columns.items()}


def _columns(
    declarations: Iterable[tuple[bool, Mapping[str, AttributeConfig]]], of: str
) -> dict[tuple[str, bool], Column]:
    found: dict[tuple[str, bool], Column] = {}
    taken: set[str] = set()
    for is_end, attributes in declarations:
        for name, declared in attributes.items():
            kind, key = _KINDS[declared.type], (name, is_end)
            if key in found:
                if found[key].kind is not kind:
                    found[key] = replace(found[key], kind=Kind.TEXT)
                continue
            column = f"attribute_{name}_end" if is_end else f"attribute_{name}"
            while column.lower() in taken:
                column += "_"
            taken.add(column.lower())
            about = declared.description or f"attribute of {of}"
            found[key] = Column(name=column, kind=kind, about=f"{about}, after the last tick" if is_end else about)
    return found


def _set_by_charts(config: Config) -> dict[str, AttributeConfig]:
    """Return the attributes that the chart of a configuration sets; empty if the chart is not available.

    The agents of the run are then not available either, and making them raises the error.
    """
    try:
        names = {change.name for change in look_at_chart(config).behaviour.all_changes}
    except PrismError:
        return {}
    return {name: each for name, each in config.population.attributes.items() if name in names}
