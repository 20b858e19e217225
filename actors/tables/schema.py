"""The tables that any run may have: their columns, with type, unit and meaning. Domains have further ones.

`docs/tables.md` is made from them, and from those of the domains that come with PRISM.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from actors.factory.domains import look_at_chart, look_at_domain, shipped_shows
from actors.store.run import Recorded
from prism.config import Config
from prism.config.attributes import AttributeConfig
from prism.errors import PrismError
from prism.events import ATTRIBUTES, FEEDS, KINDS, OF_EVERY_RUN, OF_FEEDS, POSTS, TIES
from prism.expectations import guess
from prism.show import Show
from prism.tables import (
    AGENT,
    AT,
    BOOLEAN,
    HEAP,
    INTEGER,
    JSON,
    NAME,
    NUMBER,
    PACKED,
    PACKED_HEAP,
    RUN,
    TEXT,
    TICK,
    TIME,
    Column,
    Kind,
    Table,
    column,
)


def _meaning(table: Table, name: str) -> str:
    return next(each.about for each in table.columns if each.name == name)


NO_FEED: Final = "no posts on a feed in this domain"
NO_CHANGES: Final = "nobody has changed any"
_ACT: Final = (RUN, TICK, AT, AGENT)

_ALL: Final = (
    Table(
        name="runs",
        about="a run",
        columns=(
            column("run", NAME, "name of its directory, or its path if two runs share the name"),
            column("path", TEXT, "its directory, as it was given"),
            column("status", NAME, "running, done, stopped or crashed, when it was read"),
            column("domain", TEXT, "social, economy, or the name of a user's own domain"),
            column("seed", INTEGER, "seed of every random draw"),
            column("agents", INTEGER, "agents of the run"),
            column("ticks", INTEGER, "whole ticks in its journal", "ticks"),
            column("length_ticks", INTEGER, "ticks at its end", "ticks"),
            column("ticks_per_round", INTEGER, "length of a round", "ticks"),
            column("tick_seconds", NUMBER, "simulated length of a tick", "s"),
            column("epoch", TIME, "simulated time of tick 0", "UTC"),
            column("digest", TEXT, "digest after these ticks"),
            column("oracle", TEXT, "oracle, in words"),
            column("parent", TEXT, "run that it was forked from"),
            column("fork_tick", INTEGER, "ticks shared with its parent", "ticks"),
            column("prism", TEXT, "version of PRISM that began it"),
            column("config_sha256", TEXT, "SHA-256 of its settings, as its journal has it"),
            column("config", JSON, "every setting of its journal, by section"),
        ),
        primary=("run",),
    ),
    Table(
        name="rounds",
        about="the end of a round, as in rounds.csv; every count is a total from the start of the run",
        columns=(
            RUN,
            column("round", INTEGER, "the round, from 1 on"),
            column("tick", INTEGER, "whole ticks at its end", "ticks"),
            column("time", TIME, "simulated time at its end", "UTC"),
        ),
        primary=("run", "round"),
        varies="the columns of rounds.csv, which [Runs](runs.md#roundscsv) explains",
    ),
    Table(
        name="agents",
        about="an agent: a person, a nation, or an agent of a user's own domain",
        columns=(
            RUN,
            AGENT,
            column("name", TEXT, "name of the person or nation"),
            column("state", NAME, "state after the last tick"),
            column("state_since_tick", INTEGER, "tick in which it entered this state", "ticks"),
            column("transitions", INTEGER, "updates that moved it"),
        ),
        primary=("run", "agent"),
        varies="`attribute_NAME` for each attribute that the configuration declares, of its type, at the start; and "
        "`attribute_NAME_end` for each that the chart sets, after the last tick",
    ),
    Table(
        name="transitions",
        about="an update that moved an agent, in the order in which they were applied",
        columns=(
            *_ACT,
            column("trigger", NAME, _meaning(KINDS, "trigger")),
            column("from_state", NAME, _meaning(KINDS, "from_state")),
            column("to_state", NAME, "state after"),
            column("source", NAME, "what decided: rule, oracle, llm, fallback or timeout"),
            column("effect", NAME, "the coming post, reply, reshare or like; in an economy the step"),
            column("post", INTEGER, "post that it made or liked", key="posts.post"),
            column("reason", NAME, "reason of a fallback"),
        ),
    ),
    Table(
        name="posts",
        about="a post, in the order of making",
        columns=(
            RUN,
            column("post", INTEGER, _meaning(POSTS, "post")),
            TICK,
            AT,
            column("author", INTEGER, "who made it", key="agents.agent"),
            column("kind", NAME, "original, reply or reshare"),
            column("parent", INTEGER, "parent in the tree", key="posts.post"),
            column("root", INTEGER, "root of the tree; itself for an original", key="posts.post"),
            column("depth", INTEGER, "steps from the root; 0 for an original"),
            column("topics", JSON, "topics of its root"),
            column("text", TEXT, "its text"),
            column("text_by", NAME, "its origin: template, file, llm or intervention"),
            column("file_post", INTEGER, "number of its root in the file of posts, from 1"),
            column("likes", INTEGER, "likes so far"),
            column("replies", INTEGER, "replies to it so far"),
            column("reshares", INTEGER, "reshares of it so far"),
        ),
        primary=("run", "post"),
        absent=NO_FEED,
    ),
    Table(
        name="engagements",
        about="a like, reply or reshare that took place",
        columns=(
            *_ACT,
            column("kind", NAME, "like, reply or reshare"),
            column("post", INTEGER, "liked, answered or reshared post", key="posts.post"),
            column("author", INTEGER, "author of this post", key="agents.agent"),
            column("root", INTEGER, "root of the tree", key="posts.post"),
            column("created", INTEGER, "the reply or reshare", key="posts.post"),
        ),
        absent=NO_FEED,
    ),
    Table(
        name="cascades",
        about="a tree of posts: an original with all replies and reshares below it",
        columns=(
            RUN,
            column("root", INTEGER, "the original", key="posts.post"),
            TICK,
            AT,
            column("author", INTEGER, "author of the original", key="agents.agent"),
            column("posts", INTEGER, "posts of the tree, the original included"),
            column("people", INTEGER, "authors of these posts"),
            column("depth", INTEGER, "steps to the post farthest from the original"),
            column("breadth", INTEGER, "most posts at one depth"),
            column("structural_virality", NUMBER, "mean steps between two of its posts; empty for a lone original"),
        ),
        primary=("run", "root"),
        absent=NO_FEED,
    ),
    Table(
        name="edges",
        about="a time for which one person follows another, from the start or by a change; friends have two",
        columns=(
            RUN,
            column("follower", INTEGER, "who follows", key="agents.agent"),
            column("followee", INTEGER, "who is followed", key="agents.agent"),
            column("from_tick", INTEGER, "first tick in which it holds", "ticks"),
            column("until_tick", INTEGER, "first tick in which it no longer holds; empty if it still holds", "ticks"),
        ),
        absent=NO_FEED,
    ),
    Table(
        name="ties",
        about="a tie that a person has changed, in the order of the changes; interventions are only in `edges`",
        columns=(
            *_ACT,
            column("kind", NAME, "follow, unfollow or mute, from the next tick on"),
            column("whom", INTEGER, _meaning(TIES, "whom"), key="agents.agent"),
            column("post", INTEGER, "post in view", key="posts.post"),
        ),
        absent=NO_CHANGES,
    ),
    Table(
        name="attribute_changes",
        about="an attribute of a person that has changed, in the order of the changes",
        columns=(
            *_ACT,
            column("name", NAME, _meaning(ATTRIBUTES, "name")),
            column("number", NUMBER, "new number, or 1 or 0 for a truth value; empty for a text"),
            column("text", TEXT, "new text"),
            column("number_before", NUMBER, "number before"),
            column("text_before", TEXT, "text before"),
        ),
        absent=NO_CHANGES,
    ),
    Table(
        name="feeds",
        about="a post in a feed that was shown",
        columns=(
            *_ACT,
            column("position", INTEGER, _meaning(FEEDS, "position")),
            column("post", INTEGER, "post at this place", key="posts.post"),
        ),
        absent="feeds were not recorded: set run.record_feeds",
    ),
    Table(
        name="questions",
        about="a question to the oracle, in the order of asking",
        columns=(
            RUN,
            column("question", NAME, "id of the question"),
            TICK,
            AT,
            AGENT,
            column("trigger", NAME, "what it was asked about"),
            column("state", NAME, "state in which the agent waits"),
            column("options", JSON, "states to choose from, the fallback first"),
            column("post", INTEGER, "post in view", key="posts.post"),
            column("answer", NAME, "option taken; empty while it is open"),
            column("source", NAME, "who decided: oracle, llm, fallback or timeout"),
            column("reason", NAME, "reason of a fallback; stale if the agent had moved"),
            column("method", NAME, "systemone, logprobs or json by a model, embedded, or shared: drawn from others"),
            column("decided_tick", INTEGER, "tick in which the decision took effect", "ticks"),
            column("content", JSON, "other content of the model's answer"),
            column("latency_s", NUMBER, "time from the question to its answer", "s"),
            column("calls", INTEGER, "calls to the model, failed ones included"),
            column("failed_calls", INTEGER, "calls without a usable answer"),
            column("prompt_tokens", INTEGER, "tokens read", "tokens"),
            column("cached_tokens", INTEGER, "tokens read from the server's cache", "tokens"),
            column("completion_tokens", INTEGER, "tokens written", "tokens"),
            column("cost_usd", NUMBER, "cost of these calls by llm.prices", "USD"),
        ),
        primary=("run", "question"),
    ),
)

TABLES: Final[Mapping[str, Table]] = {table.name: table for table in _ALL}
OF_EVENTS: Final = ("posts", "engagements", "cascades", "edges", "ties", "attribute_changes", "feeds")
"""The tables of what took place: `prism.events`."""


def tables_of(shows: Iterable[Show | type[Show]]) -> dict[str, Table]:
    """Return all tables that runs of some domains may have, by name: those of any run, then those of a domain."""
    shows = [*shows]
    found = {**TABLES, **{table.name: table for show in shows for table in show.tables}}
    added = {column.name: column for show in shows for column in show.agent_columns}
    found["agents"] = TABLES["agents"].with_columns(added.values())
    return found


def shipped_tables() -> dict[str, Table]:
    return tables_of(shipped_shows())


class NoTableError(LookupError):
    """The error for a table that runs do not have."""

    def __init__(self, name: str, tables: Iterable[str]) -> None:
        super().__init__(f"{name}: there is no such table; {guess(name, tables)}")


def chosen_tables(names: Sequence[str], tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Return the tables that are named, in their usual order; all without names. An unknown name is a NoTableError."""
    for name in names:
        if name not in tables:
            raise NoTableError(name, tables)
    return tuple(name for name in tables if not names or name in names)


_COVERED: Final = {table.name: table for table in (*OF_EVERY_RUN, *OF_FEEDS)}
"""The tables of journals whose rows stand in tables with other columns."""
_STORED: Final = {HEAP: TEXT, PACKED_HEAP: PACKED, "<f4": NUMBER, "<f8": NUMBER}


def journal_tables(run: Recorded) -> dict[str, Table]:
    """Return the tables of a run's journal, by name.

    The columns of those that its domain declares are as it declares them now; if they cannot be had, or are not those
    of the journal, they have the names and types of the journal alone.
    """
    found = dict[str, Table]()
    for name, columns in run.record.shapes:
        of_journal = tuple(column(each, _STORED.get(kind, INTEGER), "", dtype=kind) for each, kind in columns)
        found[name] = Table(name=name, about="a row of the domain's own", columns=of_journal)
        if name in _COVERED:
            known = _COVERED[name].columns
            found[name] = replace(_COVERED[name], columns=(*known, *of_journal[len(known) :]))
    if found.keys() - _COVERED.keys():
        try:
            declared = look_at_domain(run.config).domain.world.tables
        except PrismError:  # code that this user has not allowed, or an input file that is gone
            declared = ()
        for table in declared:
            if table.name in found and table.shape == found[table.name].shape:
                found[table.name] = table
    return found


def configs_of_feeds(runs: Sequence[Recorded]) -> list[Config]:
    return [run.config for run in runs if "posts" in run.show.event_tables]


def tables_of_runs(runs: Sequence[Recorded], of_journals: Sequence[Mapping[str, Table]]) -> dict[str, Table]:
    """Return all tables that some runs may have, by name, with the columns that the runs bring.

    A table that a world declares stands after the run, the tick and its time, with JSON in place of msgpack.
    """
    found = tables_of(run.show for run in runs)
    for run, tables in zip(runs, of_journals, strict=True):
        taken = tables_of([run.show]).keys() | _COVERED  # those that exports have in another form
        for table in (each for name, each in tables.items() if name not in taken):
            others = (each for each in table.columns if each.name not in {"run", "tick", "time"})
            columns = (replace(each, kind=JSON) if each.kind is PACKED else each for each in others)
            found[table.name] = replace(table, columns=(RUN, TICK, AT, *columns))
    of_feeds = configs_of_feeds(runs)
    found["agents"] = found["agents"].with_columns(attribute_columns(of_feeds).values())
    found["posts"] = found["posts"].with_columns(post_columns(of_feeds).values())
    kinds: dict[str, Kind] = {}
    for run in runs:
        for name, values in run.rounds.items():
            if values and name not in {"round", "tick"}:
                is_whole = all(isinstance(value, int) for value in values)
                kinds[name] = INTEGER if is_whole and kinds.get(name) is not NUMBER else NUMBER
        if run.show.tables and not run.rounds:  # queries of a domain may name its numbers
            kinds |= {each.column: kinds.get(each.column, NUMBER) for each in run.show.numbers}
    of_rounds = (Column(name=name, kind=kind, about="as in rounds.csv") for name, kind in kinds.items())
    found["rounds"] = found["rounds"].with_columns(of_rounds)
    return found


_TYPES: Final[Mapping[str, Kind]] = {"float": NUMBER, "int": INTEGER, "bool": BOOLEAN, "text": TEXT}


def attribute_columns(configs: Iterable[Config]) -> dict[tuple[str, bool], Column]:
    """Return `{(attribute, whether at the end): its column}` of these configurations, those of the start first.

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
            kind, key = _TYPES[declared.type], (name, is_end)
            if key in found:
                if found[key].kind is not kind:
                    found[key] = replace(found[key], kind=TEXT)
                continue
            column = f"attribute_{name}_end" if is_end else f"attribute_{name}"
            while column.lower() in taken:
                column += "_"
            taken.add(column.lower())
            about = declared.description or f"attribute of {of}"
            found[key] = Column(name=column, kind=kind, about=f"{about}, after the last tick" if is_end else about)
    return found


def _set_by_charts(config: Config) -> dict[str, AttributeConfig]:
    """Return the attributes that a chart sets; empty if it cannot be had: then making the agents fails."""
    try:
        names = {change.name for change in look_at_chart(config).behaviour.all_changes}
    except PrismError:
        return {}
    return {name: each for name, each in config.population.attributes.items() if name in names}
