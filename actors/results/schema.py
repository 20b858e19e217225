"""The tables of runs: their columns, with type, unit and meaning, in one place. `docs/tables.md` is made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum, unique
from typing import Final

import msgspec


@unique
class Kind(StrEnum):
    """The type of a column's values.

    `time`: simulated time in UTC, held as microseconds since 1970. `name`: one of a few texts that PRISM or a chart
    chose, such as a state. `text`: whatever people, models and files say. `json`: a value as JSON text.
    """

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    NAME = "name"
    TEXT = "text"
    JSON = "json"


Value = int | float | bool | str | None
"""A value of a column; None where there is none."""

Batch = Sequence[Sequence[Value]]
"""Some rows of a table: the values of each column, in the order of the columns."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table.

    Args:
        about: its meaning.
        unit: of its numbers; empty without one.
        key: the column of another table that it joins with, as `table.column`; empty for none.
    """

    name: str
    kind: Kind
    about: str
    unit: str = ""
    key: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of runs.

    Args:
        about: a row of it, in words.
        columns: in their order; the first is `run`.
        primary: the columns that name a row; empty if a row has no name.
        absent: the reason why a run has no such table, in words; empty if every run has one.
        varies: the further columns that a run may bring, in words; empty if there are none.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    primary: tuple[str, ...] = ()
    absent: str = ""
    varies: str = ""

    def with_columns(self, added: Iterable[Column]) -> Table:
        """Return the table with further columns at its end."""
        return msgspec.structs.replace(self, columns=(*self.columns, *added))


def _column(name: str, kind: Kind, about: str, unit: str = "", key: str = "") -> Column:
    return Column(name=name, kind=kind, about=about, unit=unit, key=key)


INTEGER, NUMBER, BOOLEAN, TIME, NAME, TEXT, JSON = Kind
RUN: Final = _column("run", NAME, "the run", key="runs.run")
TICK: Final = _column("tick", INTEGER, "the tick, from 0 on", "ticks")
AT: Final = _column("time", TIME, "simulated time at the beginning of the tick", "UTC")
AGENT: Final = _column("agent", INTEGER, "the agent's number", key="agents.agent")

NO_SHARING: Final = "no judgements were shared: set oracle.sharing.by"
NO_FEED: Final = "no posts on a feed in this domain"
NO_ECONOMY: Final = "no economy"
NO_CHANGES: Final = "nobody has changed any"

_RUNS = (
    _column("run", NAME, "name of its directory; the path as it was given, if two of the exported runs share the name"),
    _column("path", TEXT, "its directory, as it was given"),
    _column("status", NAME, "running, done, stopped or crashed, when it was read"),
    _column("domain", TEXT, "social, economy, or the name of a domain of one's own"),
    _column("seed", INTEGER, "seed of every random draw"),
    _column("agents", INTEGER, "agents of the run"),
    _column("ticks", INTEGER, "whole ticks in its journal, all of them in these tables", "ticks"),
    _column("length_ticks", INTEGER, "ticks that it has at its end", "ticks"),
    _column("ticks_per_round", INTEGER, "length of a round", "ticks"),
    _column("tick_seconds", NUMBER, "simulated length of a tick", "s"),
    _column("epoch", TIME, "simulated time of tick 0", "UTC"),
    _column("digest", TEXT, "digest after these ticks: equal for runs in which the same happened"),
    _column("oracle", TEXT, "who answered questions, in words"),
    _column("parent", TEXT, "run that it was forked from"),
    _column("fork_tick", INTEGER, "ticks that it has in common with its parent", "ticks"),
    _column("prism", TEXT, "version of PRISM that began it"),
    _column("config_sha256", TEXT, "SHA-256 of its settings, as its journal has it"),
    _column("config", JSON, "every setting that its journal names, by section"),
)
_ROUNDS = (
    RUN,
    _column("round", INTEGER, "the round, from 1 on"),
    _column("tick", INTEGER, "whole ticks at its end", "ticks"),
    _column("time", TIME, "simulated time at its end", "UTC"),
)
_AGENTS = (
    RUN,
    AGENT,
    _column("name", TEXT, "name of the person or nation"),
    _column("state", NAME, "state after the last tick"),
    _column("state_since_tick", INTEGER, "tick in which it entered this state; 0 if it never moved", "ticks"),
    _column("transitions", INTEGER, "updates that moved it"),
    _column("external_id", TEXT, "id of the person in the file of the graph or of profiles, or the number"),
    _column("interests", JSON, "topics that the person likes, in order"),
    _column("personality", TEXT, "personality in words"),
    _column("openness", NUMBER, "trait, from -1, the low end, to 1"),
    _column("conscientiousness", NUMBER, "trait, from -1 to 1"),
    _column("extraversion", NUMBER, "trait, from -1 to 1"),
    _column("agreeableness", NUMBER, "trait, from -1 to 1"),
    _column("neuroticism", NUMBER, "trait, from -1 to 1"),
    _column("engagement_threshold", NUMBER, "relevance from which the person is inclined to engage, 0 to 1"),
    _column("low_threshold", NUMBER, "relevance up to which a post is ignored, 0 to 1"),
    _column("high_threshold", NUMBER, "relevance from which it is acted on without a question, 0 to 1"),
    _column("activity", NUMBER, "probability that the person is online in a round, 0 to 1"),
    _column("followers", INTEGER, "people who follow the person, at the start"),
    _column("following", INTEGER, "people whom the person follows, at the start"),
    _column("followers_end", INTEGER, "people who follow the person, after the last tick"),
    _column("following_end", INTEGER, "people whom the person follows, after the last tick"),
    _column("posts", INTEGER, "original posts"),
    _column("replies", INTEGER, "replies written"),
    _column("reshares", INTEGER, "reshares made"),
    _column("likes", INTEGER, "likes given"),
    _column("economic_strength", NUMBER, "strength of a nation, in the unit of the configuration"),
)
_TRANSITIONS = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("trigger", NAME, "what happened to the agent"),
    _column("from_state", NAME, "state before"),
    _column("to_state", NAME, "state after"),
    _column("source", NAME, "what decided: rule, oracle, llm, fallback or timeout"),
    _column("effect", NAME, "what the person is about to do: post, reply, reshare or like; in an economy the step"),
    _column("post", INTEGER, "post that came of it at once, or that it liked", key="posts.post"),
    _column("reason", NAME, "reason of a fallback"),
)
_POSTS = (
    RUN,
    _column("post", INTEGER, "the post: its author times 2^24, and how many the author had made before"),
    TICK,
    AT,
    _column("author", INTEGER, "who made it", key="agents.agent"),
    _column("kind", NAME, "original, reply or reshare"),
    _column("parent", INTEGER, "post that it answers or reshares", key="posts.post"),
    _column("root", INTEGER, "original at the head of its cascade; itself for an original", key="posts.post"),
    _column("depth", INTEGER, "steps from the root; 0 for an original"),
    _column("topics", JSON, "topics of its root"),
    _column("text", TEXT, "its text"),
    _column("text_by", NAME, "where it is from: template, file, llm or intervention"),
    _column("file_post", INTEGER, "number of its root in the file of posts, from 1; empty for a root from elsewhere"),
    _column("likes", INTEGER, "likes so far"),
    _column("replies", INTEGER, "replies to it so far"),
    _column("reshares", INTEGER, "reshares of it so far"),
)
_ENGAGEMENTS = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("kind", NAME, "like, reply or reshare"),
    _column("post", INTEGER, "post that was liked, answered or reshared", key="posts.post"),
    _column("author", INTEGER, "author of this post", key="agents.agent"),
    _column("root", INTEGER, "original at the head of its cascade", key="posts.post"),
    _column("created", INTEGER, "the reply or reshare", key="posts.post"),
)
_EDGES = (
    RUN,
    _column("follower", INTEGER, "who follows", key="agents.agent"),
    _column("followee", INTEGER, "who is followed", key="agents.agent"),
    _column("from_tick", INTEGER, "first tick in which it holds: 0 for a tie of the start", "ticks"),
    _column("until_tick", INTEGER, "first tick in which it holds no more; empty if it still holds", "ticks"),
)
_TIES = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("kind", NAME, "follow, unfollow or mute. It holds from the next tick on"),
    _column("whom", INTEGER, "the other person", key="agents.agent"),
    _column("post", INTEGER, "post in view", key="posts.post"),
)
_ATTRIBUTE_CHANGES = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("name", NAME, "the attribute"),
    _column("number", NUMBER, "its value from the next tick on; of a truth value 1 or 0; empty for a text"),
    _column("text", TEXT, "its value from the next tick on, if it is a text"),
    _column("number_before", NUMBER, "its value before, in the same way"),
    _column("text_before", TEXT, "its value before, if it is a text"),
)
_FEEDS = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("position", INTEGER, "place in the feed, from 1, the top"),
    _column("post", INTEGER, "post at this place", key="posts.post"),
)
_QUESTIONS = (
    RUN,
    _column("question", NAME, "id of the question, as servers and logs have it"),
    TICK,
    AT,
    AGENT,
    _column("trigger", NAME, "what it was asked about"),
    _column("state", NAME, "state in which the agent waits"),
    _column("options", JSON, "states to choose from, the fallback first"),
    _column("post", INTEGER, "post in view", key="posts.post"),
    _column("answer", NAME, "option taken; empty while it is open, or if the decision came to nothing"),
    _column("source", NAME, "who decided: oracle, llm, fallback or timeout"),
    _column("reason", NAME, "reason of a fallback; stale if the agent had moved meanwhile"),
    _column(
        "method",
        NAME,
        "how the answer was found: systemone, logprobs, json or repaired by a model, embedded without one; shared: "
        "drawn from judgements of others. Empty where no log has it",
    ),
    _column("decided_tick", INTEGER, "tick in which the decision took effect", "ticks"),
    _column(
        "probabilities",
        JSON,
        "probability of each option for this agent by the embedded oracle, where it answers. A shared answer "
        "was drawn from others",
    ),
    _column("content", JSON, "what the model said beyond the option"),
    _column("latency_s", NUMBER, "time from the question to its answer, by a clock", "s"),
    _column("calls", INTEGER, "calls to the model, failed ones included"),
    _column("failed_calls", INTEGER, "calls without a usable answer"),
    _column("prompt_tokens", INTEGER, "tokens read", "tokens"),
    _column("cached_tokens", INTEGER, "tokens read that the server had in its cache", "tokens"),
    _column("completion_tokens", INTEGER, "tokens written", "tokens"),
    _column("cost_usd", NUMBER, "cost of these calls by llm.prices", "USD"),
)
_JUDGEMENTS = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("trigger", NAME, "what the agent was asked about"),
    _column("state", NAME, "state in which the agent waits"),
    _column("archetype", TEXT, "state, trigger, and the group of each field, before any split"),
    _column("is_audit", BOOLEAN, "asked although it could have shared; otherwise asked for all of its archetype"),
    _column("probabilities", JSON, "probability of each option, as the model judged"),
    _column("shared", JSON, "in an audit, what it would have shared"),
    _column("divergence", NUMBER, "in an audit, the Jensen-Shannon divergence of the two", "bits"),
    _column("chance", NUMBER, "probability with which it was audited; 1 for one asked for all"),
    _column("samples", INTEGER, "answers that the probabilities were counted from; 0 for probabilities of the server"),
    _column("fields", JSON, "value of each field of the question"),
)
_CHAINS = (
    RUN,
    TICK,
    AT,
    AGENT,
    _column("nation", TEXT, "name of the nation"),
    _column("component", NAME, "who reasoned: agent, validator or engine"),
    _column("trigger", NAME, "step of the quarter: turn_begins, review or apply"),
    _column("chain", TEXT, "id of the chain, as the log has it"),
    _column("action", TEXT, "action proposed, judged or applied"),
    _column("is_valid", BOOLEAN, "what the validator found"),
    _column("new_interest_rate", NUMBER, "rate that the engine set", "percent a year"),
    _column("reasoning", TEXT, "reasoning in words"),
    _column("confidence", NUMBER, "confidence of the component in its own decision, 0 to 1"),
    _column("model", TEXT, "model that answered"),
    _column("prompt", TEXT, "question; empty for the embedded oracle"),
    _column("response", TEXT, "answer, unchanged"),
)
_INDICATORS = (
    RUN,
    _column("quarter", INTEGER, "the quarter, from 1 on"),
    TICK,
    AT,
    _column("agent", INTEGER, "the nation; empty in the row of the whole economy", key="agents.agent"),
    _column("nation", TEXT, "its name"),
    _column("outcome", NAME, "of the nation's proposal: applied, accepted, rejected or proposed; empty for none"),
    _column("action", TEXT, "what the nation proposed"),
    _column(
        "interest_rate", NUMBER, "after the nation's action; in the row of the economy at the end", "percent a year"
    ),
    _column("inflation", NUMBER, "of the economy, at the end of the quarter", "percent a year"),
    _column("gdp_growth", NUMBER, "growth of output, at the end of the quarter", "percent a year"),
    _column("unemployment", NUMBER, "at the end of the quarter", "percent of the labour force"),
    _column("total_economic_value", NUMBER, "at the end of the quarter", "as configured"),
)


_ALL: Final = (
    Table(name="runs", about="a run", columns=_RUNS, primary=("run",)),
    Table(
        name="rounds",
        about="the end of a round, as in rounds.csv; every count is a total from the start of the run",
        columns=_ROUNDS,
        primary=("run", "round"),
        varies="the columns of rounds.csv, which [Results](summary.md) explains",
    ),
    Table(
        name="agents",
        about="an agent: a person, a nation, or whatever a domain of one's own has",
        columns=_AGENTS,
        primary=("run", "agent"),
        varies="`attribute_NAME` for each attribute that the configuration declares, of its type, at the start; and "
        "`attribute_NAME_end` for each that the chart sets, after the last tick",
    ),
    Table(
        name="transitions",
        about="an update that moved an agent, in the order in which they were applied",
        columns=_TRANSITIONS,
    ),
    Table(
        name="posts", about="a post, in the order of making", columns=_POSTS, primary=("run", "post"), absent=NO_FEED
    ),
    Table(name="engagements", about="a like, reply or reshare that took place", columns=_ENGAGEMENTS, absent=NO_FEED),
    Table(
        name="edges",
        about="a time for which one person follows another, from the start or by a change; friends have two",
        columns=_EDGES,
        absent=NO_FEED,
    ),
    Table(
        name="ties",
        about="a tie that a person has changed, in the order of the changes; interventions are only in `edges`",
        columns=_TIES,
        absent=NO_CHANGES,
    ),
    Table(
        name="attribute_changes",
        about="an attribute of a person that has changed, in the order of the changes",
        columns=_ATTRIBUTE_CHANGES,
        absent=NO_CHANGES,
    ),
    Table(
        name="feeds",
        about="a post in a feed that was shown",
        columns=_FEEDS,
        absent="feeds were not recorded: set run.record_feeds",
    ),
    Table(
        name="questions",
        about="a question to the oracle, in the order of asking",
        columns=_QUESTIONS,
        primary=("run", "question"),
    ),
    Table(
        name="judgements",
        about="a judgement that questions shared, or an audit of one, by tick and agent",
        columns=_JUDGEMENTS,
        absent=NO_SHARING,
    ),
    Table(
        name="chains",
        about="the reasoning behind a step of a nation's proposal",
        columns=_CHAINS,
        absent=NO_ECONOMY,
    ),
    Table(
        name="indicators",
        about="a quarter of an economy: of each nation, and, after these rows, of the whole at the end of each round",
        columns=_INDICATORS,
        absent=NO_ECONOMY,
    ),
)

TABLES: Final[Mapping[str, Table]] = {table.name: table for table in _ALL}
"""The tables by name, in the order in which they are written."""
