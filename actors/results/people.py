"""The agents of a run as a table: the domain is made again when it is first needed, and moves are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from actors.core.errors import UntrustedCodeError
from actors.factory.charts import look_at_chart
from actors.factory.domains import look_at_domain
from actors.record.run import Recorded, RecordedTick
from actors.results.table_files import Rows
from prism.agents import MOVED, Question, Update
from prism.config import Config
from prism.config.attributes import AttributeConfig
from prism.divergence import Reference
from prism.domain import Domain, said_by
from prism.errors import ConfigError, InputError, PrismError
from prism.events import PostEvent
from prism.show import Show
from prism.social.people.population import Population
from prism.tables import Column, Kind


class BuiltOnce:
    """The domain of a run, made again when it is first asked for."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self._built: Domain | None = None
        self._is_embedded = run.config.oracle.backend == "choice"
        self._reference: Callable[[Question[Any]], Reference] | None = None

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

    def probabilities(self, question: Question[Any]) -> str | None:
        """Return the probabilities that the embedded oracle gave the options of a question, as JSON; None if unknown.

        They are unknown where a model was asked, and in ticks that a fork has from its parent, whose settings may
        differ.
        """
        if not self._is_embedded or question.tick < self._run.shared_ticks or self.is_untrusted:
            return None
        if self._reference is None:
            self._reference = said_by(self.domain).reference
        seen = question.context
        context = None if seen is None else msgspec.convert(seen, self.domain.context_type)
        typed = Question(question.tick, question.agent, question.trigger, question.state, question.options, context)
        shares = self._reference(typed).probabilities
        if shares is None:
            return None
        return msgspec.json.encode(dict(zip(question.options, shares, strict=True))).decode()


def add_transitions(run: Recorded, rows: Rows, show: Show, tick: RecordedTick) -> None:
    moved = tick.moved
    count = len(moved)
    if count:
        rows.extend(
            (
                [run.name] * count,
                [tick.tick] * count,
                [tick.time] * count,
                [update.agent for update in moved],
                [update.trigger for update in moved],
                [update.from_state for update in moved],
                [update.to_state for update in moved],
                [update.source for update in moved],
                [None if update.effect is None else show.effect_name(update.effect) for update in moved],
                _posts(tick),
                [update.reason or None for update in moved],
            )
        )


def _posts(tick: RecordedTick) -> list[int | None]:
    """Return for each update that moved its agent the post that it made or liked: it stands after the update.

    A post that an intervention publishes stands before all updates, and belongs to none.
    """
    found: list[int | None] = [None] * len(tick.moved)
    place, place_of = 0, dict[int, int]()
    for message in tick.messages if any(isinstance(each, PostEvent) for each in tick.others) else ():
        if isinstance(message, Update) and message.source in MOVED:
            place_of[message.agent] = place
            place += 1
        elif isinstance(message, PostEvent) and message.agent in place_of:
            found[place_of[message.agent]] = message.post
    return found


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
                    found[key] = msgspec.structs.replace(found[key], kind=Kind.TEXT)
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
