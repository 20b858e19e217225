"""The relations of a run that are not in its journal: its people, their ties, its rounds, and the oracle's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import convert
from msgspec.json import encode
from msgspec.structs import replace

from actors.core.errors import UntrustedCodeError
from actors.factory.domains import look_at_domain
from actors.factory.input_files import load_posts
from actors.store.answers import answers_by_question, judgements_in
from actors.store.listing import list_run
from actors.store.messages import questions_in
from actors.store.record import tick_of_rows
from actors.store.rounds import ROUNDS
from actors.store.run import Recorded, shown_path
from actors.tables.relations import Columns, numbers_and_texts
from actors.tables.schema import attribute_columns, post_columns
from actors.tables.ties import Edges, edges_of
from prism.agents import Question
from prism.columns import Ints
from prism.config import Config
from prism.domain import Domain, said_by
from prism.errors import ConfigError, InputError
from prism.llm.question_id import question_id
from prism.llm.spending import USEFUL, cost_usd
from prism.rng import Draw, integers
from prism.rows import part_of, unpacked
from prism.sharing.audit import divergence_from
from prism.sharing.settings import archetypes_of, fields_of
from prism.sharing.table import words_of
from prism.social.people.people import People
from prism.social.people.population import Population
from prism.social.posts.post import TEMPLATES, PostKind
from prism.tables import Kind, Table, Value

_POST_KINDS: Final = (PostKind.ORIGINAL, PostKind.REPLY, PostKind.RESHARE)
"""The kind of what `MADE` names."""
_VALUES: Final = {"float": float, "int": int, "bool": bool, "text": str}
_encode: Final = msgspec.msgpack.Encoder().encode


class Made:
    """The relations of one run that Python makes. The journal has been read to its end.

    Args:
        tables: those that the runs may have.
    """

    def __init__(self, run: Recorded, tables: Mapping[str, Table], configs: Sequence[Config]) -> None:
        self.run, self.tables = run, tables
        self._of_people, self._of_posts = attribute_columns(configs), post_columns(configs)
        """The columns of attributes of people, and of posts."""
        self.relations = {
            "runs": self._runs,
            "rounds": self._rounds,
            "made.edges": self._edges,
            "judgements": self._judgements,
            "made.people": self._people,
            "made.file_posts": self._file_posts,
            "made.attributes_at_start": self._attributes_at_start,
            "made.questions": self._questions,
        }
        """`{relation: yields its rows, some at a time}`."""

    # The domain, which is made again when it is first asked for.

    @cached_property
    def domain(self) -> Domain | None:
        """The domain of the run; None if it is code that this user has not allowed: then a note says so."""
        hint = "; --tables without agents, edges, attribute_changes, questions and judgements needs no input files"
        try:
            return look_at_domain(self.run.config).domain
        except InputError as error:
            raise ConfigError(str(self.run.path), f"{error}{hint}") from None
        except UntrustedCodeError as error:
            self.run.notes.append(
                f"without judgements, and without the state of agents that never moved: {error.reason}"
            )
            return None

    @cached_property
    def population(self) -> Population | None:
        """The people on a feed; None in another domain."""
        found = getattr(self.domain, "population", None)
        return found if isinstance(found, Population) else None

    @cached_property
    def edges(self) -> Edges | None:
        return None if self.population is None else edges_of(self.run, self.population)

    def _drawn(self, attribute: str) -> Sequence[Value | None]:
        """Return the values of an attribute at the start; nothing without people."""
        return () if self.population is None else People(self.population.personas).attribute(attribute)

    # What is known of the run as a whole.

    def _runs(self) -> Iterator[Columns]:
        run, simulation, forks = self.run, self.run.config.simulation, self.run.manifest.forks
        parent = (forks[-1].parent, forks[-1].tick) if forks else (None, None)
        row = (
            *(shown_path(run.path), list_run(run.path).status.value, simulation.domain),
            *(run.header.seed, run.header.agents, run.length, simulation.length),
            *(simulation.ticks_per_round, simulation.tick_seconds, run.time_at(0), run.digest),
            *(run.manifest.oracle or None, *parent, run.header.prism, run.header.config_sha256),
            encode(run.header.config).decode(),
        )
        names = (each.name for each in self.tables["runs"].columns[1:])
        yield {name: [value] for name, value in zip(names, row, strict=True)}

    def _rounds(self) -> Iterator[Columns]:
        run, rounds = self.run, self.run.rounds_until(self.run.length)
        if not rounds.get("round") and run.length >= run.config.simulation.ticks_per_round:
            run.notes.append(f"{ROUNDS} has no rows; `prism resume` writes them again")
        yield {"time": [*map(run.time_at, map(int, rounds.get("tick", ())))], **rounds}

    def _edges(self) -> Iterator[Columns]:
        if self.edges is not None and "ties" in self.run.record.all_of():
            yield self.edges.columns

    def _people(self) -> Iterator[Columns]:
        """Yield all agents, with their values at the start, and with the ties and attributes of people at the end."""
        run, population, count = self.run, self.population, self.run.header.agents
        given: Mapping[str, Any] = {} if self.domain is None else run.show.agent_values(self.domain)
        values = dict(given)
        is_of_feed = population is not None and "followers" in values
        recorded = run.record.all_of()
        if is_of_feed:
            if self.edges is not None and "ties" in recorded:
                for name, more in (("followers", self.edges.followers), ("following", self.edges.following)):
                    values[f"{name}_end"] = values[name] + more
            for (name, is_end), column in self._of_people.items():
                found = self._drawn(name)
                if is_end and "attributes" in recorded:
                    found = self._at_end(name, found)
                values[column.name] = [_as_kind(column.kind, value) for value in found]
        names: Any = [run.show.name(agent) or None for agent in range(count)] if population is None else ()
        yield {
            "agent": np.arange(count),
            "name": names if population is None else People(population.personas).texts("name"),
            "initial": [None if self.domain is None else str(self.domain.chart.initial.value)] * count,
            "acts": np.full(count, is_of_feed and {"posts", "likes"} <= recorded.keys()),
            **values,
        }

    def _at_end(self, name: str, start: Sequence[Value | None]) -> list[Value | None]:
        """Return the values of an attribute at the end. `start`: those at the start."""
        run, found = self.run, [*start]
        changes = run.record.table("attributes", until=run.length)
        names, of_row = changes["name"].numbered()
        if name in names:
            places = np.flatnonzero(of_row == names.index(name))
            values = np.asarray(unpacked(changes["value"].at(places)), object).tolist()
            convert_to = _VALUES[run.config.population.attributes[name].type]
            for agent, value in zip(changes["agent"][places].tolist(), values, strict=True):
                found[agent] = convert_to(value)
        return found

    def _attributes_at_start(self) -> Iterator[Columns]:
        run = self.run
        changed = run.record.table("attributes", until=run.length, columns=("name",)) if self.population else {}
        for name in changed["name"].numbered()[0] if changed else ():
            drawn = self._drawn(name)
            yield {"agent": np.arange(len(drawn)), "name": [name] * len(drawn), **numbers_and_texts(drawn)}

    # The texts of posts.

    def _file_posts(self) -> Iterator[Columns]:
        is_feed = "posts" in self.run.show.event_tables
        posts = (load_posts(self.run.config.population)[0] or ()) if is_feed else ()
        values = {
            column.name: [_as_kind(column.kind, each.attributes.get(name)) for each in posts]
            for name, column in self._of_posts.items()
        }
        yield {"number": np.arange(1, len(posts) + 1), "text": [each.text for each in posts], **values}

    # The oracle.

    def _questions(self) -> Iterator[Columns]:
        run, kinds, answers = self.run, self.run.record.kinds, answers_by_question(self.run.path)
        prices, post = run.config.llm.prices, run.show.post
        for block in run.blocks(run.record.all_of("questions")):
            table = block.tables["questions"]
            if not len(ticks := tick_of_rows(table)):
                continue
            asked = [*questions_in(ticks.tolist(), [*table.columns.values()], run.record.shapes, kinds)]
            of = [*map(answers.take, asked)] if answers.are_left() else []
            codes = table.columns["kind"]
            yield {
                "tick": ticks,
                "wave": np.repeat(table.waves, table.rows),
                "agent": table.columns["agent"],
                "question": [question_id(run.header.seed, each.tick, each.agent, _encode(each)) for each in asked],
                "trigger": np.array([kind.trigger for kind in kinds], object)[codes],
                "state": np.array([kind.from_state for kind in kinds], object)[codes],
                "options": np.array([kind.effect for kind in kinds], object)[codes],
                "post": np.array([-1 if (seen := post(each.context)) is None else seen for each in asked]),
                "probabilities": self._probabilities(asked, ticks, table.columns),
                **{name: [each and get(each, prices) for each in of] for name, get in _LOGGED.items() if any(of)},
            }

    def _probabilities(self, asked: Sequence[Question[Any]], ticks: Ints, columns: Mapping[str, Any]) -> list[Any]:
        """Return the probabilities that the embedded oracle gave the options of questions, as JSON; None if unknown.

        They are unknown where a model was asked, and in ticks that a fork has from its parent, whose settings may
        differ.

        Args:
            columns: what the questions are about.
        """
        first = int(np.searchsorted(ticks, self.run.shared_ticks))
        if self.run.config.oracle.backend != "choice" or first == len(asked) or self.domain is None:
            return [None] * len(asked)
        own, said = asked[first:], said_by(self.domain)
        parts = {name: part_of(values, first, len(asked)) for name, values in columns.items()}
        shares: Sequence[Sequence[float] | None] | None = said.chances(own, parts)
        if shares is None:
            types = self.domain.context_type
            typed = (
                replace(each, context=None if each.context is None else convert(each.context, types)) for each in own
            )
            shares = [said.reference(each).probabilities for each in typed]
        texts = (
            of and encode(dict(zip(each.options, of, strict=True))).decode()
            for each, of in zip(own, shares, strict=True)
        )
        return [*[None] * first, *texts]

    def _judgements(self) -> Iterator[Columns]:
        """Yield the judgements of the oracle's log up to the end of the journal, by tick and agent."""
        run = self.run
        if run.config.oracle.sharing.by == "none" or self.domain is None:
            return
        archetypes, rows = archetypes_of(run.config, fields_of(run.config, self.domain)), list[Sequence[Value]]()
        for judged in sorted(judgements_in(run.path), key=lambda each: (each.asked, each.name)):
            if judged.asked < run.length:
                state, _, *options = map(str, judged.kind)
                shared = (
                    (_shares(options, judged.shared), divergence_from(judged, judged.shared))
                    if judged.is_audit
                    else (None, None)
                )
                fields = dict(zip(archetypes.names, judged.values, strict=False))
                rows.append((
                    *(judged.asked, run.time_at(judged.asked), judged.agent, judged.trigger, state),
                    *(words_of(archetypes, judged.key), judged.is_audit, _shares(options, judged.probabilities)),
                    *(*shared, judged.chance, judged.samples, encode(fields).decode()),
                ))  # fmt: skip
        names = (each.name for each in self.tables["judgements"].columns[1:])
        yield dict(zip(names, map(list, zip(*rows, strict=True)), strict=False))


_LOGGED: Final[Mapping[str, Any]] = {
    "logged_source": lambda answer, _: answer.source,
    "method": lambda answer, _: answer.method or None,
    "content": lambda answer, _: answer.content or None,
    "latency_s": lambda answer, _: answer.latency_s,
    "calls": lambda answer, _: sum(each.calls for each in answer.spent),
    "failed_calls": lambda answer, _: sum(each.calls for each in answer.spent if each.outcome != USEFUL),
    "prompt_tokens": lambda answer, _: sum(each.prompt_tokens for each in answer.spent),
    "cached_tokens": lambda answer, _: sum(each.cached_tokens for each in answer.spent),
    "completion_tokens": lambda answer, _: sum(each.completion_tokens for each in answer.spent),
    "cost_usd": lambda answer, prices: cost_usd(answer.spent, prices),
}
"""`{column: its value of an answer in the log, and of the prices}`."""


def _shares(options: list[str], shares: tuple[float, ...]) -> str:
    return encode(dict(zip(options, shares, strict=True))).decode()


def _as_kind(kind: Kind, value: Value) -> Value:
    """Return the value of an attribute as its column has it; runs may declare it with another type."""
    if kind is Kind.TEXT and value is not None and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return float(value) if kind is Kind.NUMBER and isinstance(value, int) else value


def template_texts(seed: int, ticks: Ints, authors: Ints, what: Ints) -> Any:
    """Return the template of the text of each post. `what`: the places of their kinds in `MADE`."""
    found = np.empty(len(what), object)
    for number, kind in enumerate(_POST_KINDS):
        if (is_of := what == number).any():
            drawn = integers(len(TEMPLATES[kind]), seed, authors[is_of], ticks[is_of], Draw.TEXT)
            found[is_of] = np.array(TEMPLATES[kind], object)[drawn]
    return found


_TEXT, _NUMBER, _WHOLE = "VARCHAR", "DOUBLE", "BIGINT"
MADE_TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "made.edges": dict.fromkeys(("follower", "followee", "from_tick", "until_tick"), "INTEGER"),
    "made.attributes_at_start": {"agent": _WHOLE, "name": _TEXT, "number": _NUMBER, "text": _TEXT},
    "made.questions": {
        "tick": _WHOLE,
        "wave": _WHOLE,
        "agent": _WHOLE,
        "question": _TEXT,
        "trigger": _TEXT,
        "state": _TEXT,
        "options": _TEXT,
        "post": _WHOLE,
        "probabilities": _TEXT,
        **dict.fromkeys(("logged_source", "method", "content"), _TEXT),
        **dict.fromkeys(("calls", "failed_calls", "prompt_tokens", "cached_tokens", "completion_tokens"), _WHOLE),
        **dict.fromkeys(("latency_s", "cost_usd"), _NUMBER),
    },
}
"""`{relation: {column: its type}}` of those whose columns are always the same."""
