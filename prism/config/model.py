"""Every setting of a run: type, range, default and meaning. `docs/settings.md` is made from it.

Floats from 0 to 1 are probabilities or shares. Times are in ticks, or in seconds if a name ends in `_s`. In an economy,
rates, inflation, growth and unemployment are in percent; a point is a percentage point.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from msgspec import Meta

from prism.config.attributes import TRAITS, AttributeConfig, differ, of_people, of_posts
from prism.config.section import Section, Text, setting
from prism.credentials import VARIABLE, is_secret_name, is_variable_name, looks_like_key, secrets_in
from prism.expectations import found, meant
from prism.quarter import Period, Quarter

PEOPLE_MAX = 10**7
"""The most people of a run, also of those that a file has."""
Problems = Iterator[tuple[str, str]]
"""The wrong parts of a value, and what is wrong with each."""
Share = Annotated[float, Meta(ge=0, le=1)]
Kept = Annotated[float, Meta(ge=0, lt=1)]
"""The part of a value that is left a quarter later."""
Spread = Annotated[float, Meta(ge=0, le=10)]
Slope = Annotated[float, Meta(ge=0, le=5)]
Sigma = Annotated[float, Meta(ge=0, le=3)]
Hours = tuple[Annotated[float, Meta(ge=0, le=1e15)], ...]
Lag = Annotated[float, Meta(ge=-2, le=2)]
Price = Annotated[float, Meta(ge=0, le=1_000_000.0)]
Formula = Annotated[str, Meta(min_length=1, max_length=2000)]
"""The text of an expression, or of a name in its place."""
Texts = Annotated[tuple[Text, ...], Meta(min_length=1)]
Attributes = dict[str, AttributeConfig]
DAY_HOURS: Final = 24
LAGS_TOLERANCE = 1e-6
"""The most by which the weights of lags may miss 1 in sum: they are written with a few decimals."""


class SimulationConfig(Section):
    """The domain, the length and the seed of the simulation."""

    domain: Text = setting("social", "social, economy, an installed one, or your `module:function`: docs/domains.md")
    domain_path: str | None = setting(None, "directory with your code; none: Python's path, or beside the file")
    domain_inputs: dict[str, str] = setting({}, "files in place of those that your domain asks for, by their names")
    seed: int = setting(42, "seed of every random draw", ge=0, le=2**63 - 1)
    rounds: int = setting(50, "length of the run in rounds", ge=1, le=10**9)
    ticks_per_round: int = setting(24, "length of a round in ticks; people need at least 4", ge=1, le=10**6)
    ticks: int | None = setting(None, "length of the run in ticks; none: rounds * ticks_per_round", ge=1, le=10**12)
    epoch: datetime = setting(datetime(2026, 1, 1, tzinfo=UTC), "simulated time of tick 0, with UTC offset", tz=True)
    tick_seconds: float = setting(60.0, "simulated seconds a tick", gt=0, le=10_000_000)

    @property
    def length(self) -> int:
        """The run's length in ticks."""
        return self.rounds * self.ticks_per_round if self.ticks is None else self.ticks


def hours_problem(figures: tuple[float, ...]) -> str:
    """Return why these are no figures of the hours of a day; empty if they are."""
    if len(figures) != DAY_HOURS:
        return f"expected {DAY_HOURS} figures, one for each hour of the day, got {len(figures)}"
    return "" if any(figures) else "expected a figure above 0 for one hour at least, got 0 for all"


def _is_day(hours: tuple[float, ...] | str) -> Problems:
    if isinstance(hours, tuple) and (problem := hours_problem(hours)):
        yield "", problem


class ActivityConfig(Section):
    """The frequency of people's visits: log-normal over people, so a few are often online and most are rarely."""

    mean: float = setting(0.2, "mean probability that a person is online in a round", gt=0, le=1)
    sigma: Sigma = setting(0.9, "spread of log activity; 0: all alike")
    least: Share = setting(0.01, "least activity that is drawn, at most the mean. UNCALIBRATED")
    arrival: Share = setting(0.5, "first share of the round, in which people come online. UNCALIBRATED")
    hours: Hours | str | None = setting(None, "24 figures, or a .csv with columns h00 to h23; none: all alike", _is_day)


class ResponseConfig(Section):
    """The time until a post reaches a person, log-normal, with a speed of each original: docs/people.md. UNCALIBRATED.

    Source: Doerr, Blenn & Van Mieghem, "Lognormal infection times of online information spread" (2013), for the law.
    """

    median_s: float = setting(900.0, "median simulated seconds until a post may be in a feed; 0: at once", ge=0, le=1e9)
    sigma: Spread = setting(1.0, "spread of its log over people, for one original")
    speed_sigma: Spread = setting(2.4, "spread of its log over originals")


TieColumn = Annotated[int, Meta(ge=1)] | Text
GraphKind = Literal["barabasi_albert", "power_law", "stochastic_block", "watts_strogatz", "profiles"]


class HomophilyConfig(Section):
    """The share of generated ties between people with the same value of an attribute: docs/people.md."""

    by: str | None = setting(None, "attribute, text or bool, by which people are alike; none: no homophily")
    share: Share | None = setting(None, "share of ties between people with the same value; E-I index: 1 - 2 share")


class GraphConfig(Section):
    """The follow graph: generated, read from a file, or taken from the profiles."""

    kind: GraphKind = setting("power_law", "a generator, or `profiles`: the profiles' follow lists")
    path: str | None = setting(None, "file of ties: table, GraphML, GML or Pajek")
    directed: bool = setting(False, "`a b` means that a follows b; false: they follow each other")
    columns: tuple[TieColumn, ...] | None = setting(None, "columns of both; none: found", min_length=2, max_length=2)
    separator: str | None = setting(None, "separator of columns; a space: any spaces, tabs; none: found", min_length=1)
    header: bool | None = setting(None, "the first line names the columns; none: found")
    degree: int | None = setting(None, "mean number of people followed; none: 20, or a quarter of few people", ge=1)
    exponent: float = setting(2.1, "power_law: exponent of followers; Kwak et al. 2010: 2.276", ge=2, le=100)
    following_exponent: float = setting(3.0, "power_law: exponent of people followed; uncalibrated", ge=2, le=100)
    blocks: int = setting(5, "stochastic_block: number of equal communities", ge=1)
    mixing: Share = setting(0.1, "stochastic_block: share of ties that leave the community")
    rewiring: Share = setting(0.1, "watts_strogatz: share of ties rewired at random")
    homophily: HomophilyConfig = HomophilyConfig()

    def degree_among(self, size: int) -> int:
        """The mean number of people that each of `size` people follows."""
        # A quarter is the most that power_law can draw, and watts_strogatz needs an even number.
        return max(1, min(20, size // 8 * 2)) if self.degree is None else self.degree


Column = Text | None


class ColumnsConfig(Section):
    """The columns of the profile file, or keys, that give what is drawn for people otherwise; so is a blank cell."""

    engagement_threshold: Column = setting(None, "relevance at which the person engages, 0 to 1")
    low_threshold: Column = setting(None, "relevance up to which posts are ignored")
    high_threshold: Column = setting(None, "relevance from which posts are acted on")
    activity: Column = setting(None, "probability that the person is online in a round, 0 to 1")
    openness: Column = setting(None, "trait, -1 to 1; blank: 0")
    conscientiousness: Column = setting(None, "trait, -1 to 1; blank: 0")
    extraversion: Column = setting(None, "trait, -1 to 1; blank: 0")
    agreeableness: Column = setting(None, "trait, -1 to 1; blank: 0")
    neuroticism: Column = setting(None, "trait, -1 to 1; blank: 0")

    @classmethod
    def holding(cls, name: str) -> AttributeConfig:
        """Return the type and range of the values in one of these columns."""
        return _TRAIT if name in TRAITS else _SHARE


_SHARE = AttributeConfig(type="float", min=0.0, max=1.0)
_TRAIT = AttributeConfig(type="float", min=-1.0, max=1.0)

ACTIONS: Final = ("like", "reshare", "reply")
Weight = Annotated[float, Meta(ge=-100, le=100)]
ByAction = dict[Literal["like", "reshare", "reply"], Weight]


class RelevanceConfig(Section):
    """The worth of a post to a person: a weighted sum, at most 1. Formulas: docs/experiments.md. UNCALIBRATED."""

    topic_match: Spread = setting(0.1, "weight of the topic match")
    followed: Spread = setting(0.0, "weight of following its author")
    popularity: Spread = setting(0.1, "weight of its popularity, n / (n + popularity_half)")
    appeal: Spread = setting(0.8, "weight of its appeal, the person's taste for it")
    exposure: Spread = setting(0.0, "weight of each further person showing the cascade (Centola & Macy 2007)")
    popularity_half: float = setting(10.0, "engagements of a cascade at which its popularity is a half", gt=0, le=1e9)
    appeal_power: float = setting(20.0, "p in appeal = u ^ p of a uniform u, mean 1 / (p + 1)", gt=0, le=100)


def _are_weights(weights: dict[str, float]) -> Problems:
    if not any(weights.values()):
        yield "", "expected at least one weight above 0, got none"


class IntentionsConfig(Section):
    """The actions of a convinced person: a weight for each, whose log each trait raises. UNCALIBRATED."""

    base: dict[Literal["like", "reshare", "reply"], Annotated[float, Meta(ge=0, le=1e6)]] = setting(
        {"like": 0.3, "reshare": 0.35, "reply": 0.35}, "weights of actions without traits, one above 0", _are_weights
    )
    openness: ByAction = setting({"reshare": 0.2}, "weights of openness, by action")
    conscientiousness: ByAction = setting({"reshare": -0.2}, "weights of conscientiousness, by action")
    extraversion: ByAction = setting({"reply": 0.3}, "weights of extraversion, by action")
    agreeableness: ByAction = setting({"like": 0.2}, "weights of agreeableness, by action")
    neuroticism: ByAction = setting({"reply": -0.2}, "weights of neuroticism, by action")


class PostsConfig(Section):
    """A file of posts, such as headlines, that people publish instead of sentences from templates: docs/people.md."""

    file: str | None = setting(None, "posts, formats as profiles; none: sentences about the author's interests")
    attributes: Attributes = setting({}, "attributes of posts: {leaning: {type: float, min: -1, max: 1}}", of_posts)
    author: Column = setting("author", "column of people's ids, who alone publish it; none: anybody. docs/people.md")
    offered: int = setting(10, "posts of the file drawn for each publication", ge=1, le=1000)
    choice: Formula = setting("post.topic_match", "expression; the drawn post of greatest value is published")


FollowLists = Literal["fit", "user_id", "username", "index", "row", "row_from_1"]


class PopulationConfig(Section):
    """The people: their number, their personas and their thresholds."""

    size: int = setting(2000, "number of people; a graph file has its own", ge=1, le=PEOPLE_MAX)
    profiles: str | None = setting(None, "profile file: .json, .jsonl, .csv, .tsv or .parquet; none: people are drawn")
    encoding: str = setting("utf-8", "encoding of profiles, posts and margins, such as cp1252", "a".encode)
    follow_lists: FollowLists = setting("fit", "contents of follow lists; fit: the only reading that fits")
    join: Literal["id", "position", "draw"] = setting("id", "how profiles and ties are joined; draw: for each person")
    unmatched: Literal["drop", "draw"] | None = setting(None, "people in only one of two files; none: refuse")
    topics: Texts = setting(
        ("politics", "business", "technology", "culture", "sport", "science", "food", "travel"),
        "topics of synthetic people's interests and posts",
        differ,
    )
    interests_per_person: int = setting(3, "topics that interest a synthetic person", ge=1)
    interests_exponent: Spread = setting(1.0, "z in the weight 1 / r^z of the r-th topic; 0: equal (Zipf 1949)")
    engagement_threshold: Share = setting(0.38, "mean relevance at which a person engages")
    threshold_spread: Share = setting(0.08, "standard deviation of the engagement threshold over people")
    ambiguity: Share = setting(0.2, "width of the band around the engagement threshold in which the oracle decides")
    posts_per_session: float = setting(0.04, "mean originals a session; below 1 the probability of one", ge=0, le=7)
    deliberation_minutes: float = setting(4.0, "minutes of an ambiguous choice. UNCALIBRATED", ge=0, le=525_600)
    posts_by_followers: Slope = setting(0.7, "a in originals ~ (1 + followers)^a; 0: all alike (Huberman et al. 2009)")
    participation_sigma: Slope = setting(2.4, "spread of log participation; 0: all alike (Muchnik et al. 2013)")
    quality_sigma: Sigma = setting(0.7, "spread of log quality, which multiplies appeal (Salganik et al. 2006)")
    attributes: Attributes = setting({}, "your attributes of people: {age: {type: int, min: 13, max: 99}}", of_people)
    margins: tuple[Text, ...] = setting((), "tables of shares, .csv or .tsv, for attributes of synthetic people")
    measures: tuple[Text, ...] = setting((), "measures of each round, such as gini_followers: docs/runs.md", differ)
    columns: ColumnsConfig = ColumnsConfig()
    posts: PostsConfig = PostsConfig()
    relevance: RelevanceConfig = RelevanceConfig()
    intentions: IntentionsConfig = IntentionsConfig()
    activity: ActivityConfig = ActivityConfig()
    response: ResponseConfig = ResponseConfig()
    graph: GraphConfig = GraphConfig()


ALGORITHMS: Final[Mapping[str, str]] = {
    "chronological": "post.created",
    "hot": "log10(max(1, post.engagements)) + post.created / feed.freshness",
    "interest": "post.topic_match + post.popularity * feed.popularity_weight",
    "random": "draw.uniform",
    "bridging": "log10(1 + post.across) + post.created / feed.freshness",
}
"""`{algorithm: its expression}`. docs/people.md gives their sources; a new one is a line here and a row there."""


def _is_ranking(text: str) -> Problems:
    # A word that is no algorithm. What else an expression can be, a world knows.
    if text.isidentifier() and text not in ALGORITHMS:
        problem = f"expected one of: {', '.join(ALGORITHMS)}, or an expression, got {found(text)}"
        yield "", f"{problem}{meant(text, ALGORITHMS)}"


class FeedConfig(Section):
    """The feed: the posts that people see. Formulas and sources: docs/people.md."""

    algorithm: Formula = setting("interest", f"{', '.join(ALGORITHMS)}, or an expression: docs/people.md", _is_ranking)
    size: int = setting(10, "most posts shown in one session", ge=1, le=1000)
    out_of_network: Share = setting(0.2, "share of posts by people not followed, of the feed or of its places: `fill`")
    fill: Literal["share", "strict", "borrow"] = setting("share", "if few are by people followed: docs/people.md")
    memory: int = setting(50, "in-network candidates kept for each person, newest first", ge=1, le=10_000)
    pool: int = setting(20, "out-of-network candidates sampled for one feed", ge=1, le=1000)
    recent: int = setting(1000, "most originals that a feed's out-of-network candidates are drawn from", ge=1, le=10**6)
    hot_rounds: float = setting(0.5, "hot: rounds worth ten times the engagements; docs/people.md", gt=0, le=10_000)
    popularity_weight: float = setting(0.5, "interest: weight of popularity, topic match 1. UNCALIBRATED", ge=0, le=1e3)
    attention: Share = setting(0.9, "probability of considering the post at place n: attention ^ n")
    horizon_rounds: int = setting(50, "rounds after which a post is no longer shown", ge=2)
    across: Text | None = setting(None, "attribute whose groups `bridging` compares: text, truth or sign of a number")
    per_author: int = setting(0, "most posts by one author on each side (followed or not); 0: no limit", ge=0, le=1000)
    per_topic: int = setting(0, "most posts with the same topics on each side; 0: no limit", ge=0, le=1000)
    exposure: Literal["once", "simple", "complex"] = setting("once", "simple: a new chance; complex: reinforcement")
    reshare_credit: Literal["seen", "root", "newest"] = setting("seen", "parent of a reshare: which copy of the post")


class StatechartConfig(Section):
    """The chart, the timing of people's states, and the use of the oracle."""

    file: str | None = setting(None, "people's chart, a .yaml file; none: the default chart")
    default_timeout_ticks: int = setting(5, "ticks until a scroller without posts or a stuck person rests", ge=1)
    rest_ticks: int = setting(2, "ticks a person rests after an action", ge=1)
    max_history_depth: int | None = setting(None, "transitions kept of each person; none: 50 for functions, or 0", ge=0)
    oracle_enabled: bool = setting(True, "false: ambiguous choices take the chart's first row")


class ChoiceConfig(Section):
    """Coefficients of the embedded oracle, a multinomial logit. UNCALIBRATED: fit them before you publish."""

    scale: float = setting(0.5, "noise s in P(j) ~ exp(V_j / s)", ge=0.001, le=100)
    like: Weight = setting(-1.2, "constant of liking; scrolling on is 0")
    reshare: Weight = setting(-1.9, "constant of resharing")
    compose: Weight = setting(-1.7, "constant of writing a reply")
    topic: Weight = setting(1.0, "weight of the topic match")
    tie: Weight = setting(0.4, "weight of following the author")
    activity: Weight = setting(0.4, "weight of activity")
    popularity: Weight = setting(0.5, "weight of popularity, for liking and resharing")
    fatigue: Weight = setting(0.6, "weight of the share of the feed already seen, subtracted")
    quality: Weight = setting(0.0, "weight of log quality")
    exposure: Weight = setting(0.0, "weight of each further person showing the cascade, if feed.exposure is complex")
    openness: Weight = setting(0.1, "weight of openness")
    conscientiousness: Weight = setting(-0.1, "weight of conscientiousness")
    extraversion: Weight = setting(0.2, "weight of extraversion")
    agreeableness: Weight = setting(0.1, "weight of agreeableness")
    neuroticism: Weight = setting(-0.1, "weight of neuroticism")
    attributes: dict[str, Weight | dict[str, Weight]] = setting({}, "of yours; for a text {region: {north: 0.2}}")
    states: dict[str, Weight] = setting({}, "constants of your chart's states, as `{doomscrolling: 0.5}`; others: 0")


class SharingConfig(Section):
    """The judgements that several people share, and the checks of the error of sharing: docs/language-models.md."""

    by: Literal["none", "archetype"] = setting("none", "`archetype`: questions with equal fields share one judgement")
    archetype: dict[str, str] = setting({}, "such as `{topic_match: 4 bins}`; {}: fields of guards and of the choice")
    audit: Share = setting(0.02, "share of shared questions that are also asked by themselves")
    samples: int = setting(8, "answers for a judgement if the server has no probabilities", ge=1, le=1000)


class OracleConfig(Section):
    """The oracle that decides ambiguous choices: its backend, its limits and its deadline."""

    backend: Literal["choice", "ollama", "openai"] = setting("choice", "a built-in formula, or the model in `llm`")
    mode: Literal["pace", "realtime"] = setting("pace", "late answers: the clock waits, or they become fallbacks")
    deadline_s: float = setting(30.0, "an answer later than this is a recorded fallback", gt=0)
    on_outage: Literal["wait", "stop", "fallback"] = setting("wait", "in `pace`, while the server is away")
    outage_patience_s: float = setting(900.0, "longest wait for a server that is away, before the run stops", gt=0)
    max_attempts: int = setting(3, "most attempts at a question", ge=1, le=100)
    max_fallback_share: Share | None = setting(0.05, "share of fallbacks in 1,000 choices above which the run stops")
    rate_per_s: float | None = setting(None, "most calls a second; none: no limit until a 429", ge=0.001, le=100_000.0)
    max_concurrency: int = setting(64, "most calls under way at once; halved by 429 and 503", ge=1, le=100_000)
    max_calls: int | None = setting(None, "spend cap: calls in the whole run; none: no cap", ge=0)
    max_tokens: int | None = setting(None, "spend cap: tokens in and out; checked before each call", ge=0)
    max_usd: float | None = setting(None, "spend cap in US dollars, by `llm.prices`; the run stops there", ge=0)
    when_spent: Literal["fallback", "stop"] = setting("stop", "at a cap: stop, or take fallbacks")
    tape: Literal["off", "record", "replay"] = setting("off", "`record` keeps every answer; `replay` asks no server")
    tape_path: str | None = setting(None, "file of the tape; none: tape.sqlite in the run's directory")
    queue_size: int = setting(10_000, "most questions in the oracle's queue", ge=1, le=10**7)
    sharing: SharingConfig = SharingConfig()
    choice: ChoiceConfig = ChoiceConfig()

    @property
    def unshared(self) -> Self:
        """These settings, with each question asked by itself: without sharing, and all that needs it."""
        return msgspec.structs.replace(self, sharing=msgspec.structs.replace(self.sharing, by="none", archetype={}))


class PricesConfig(Section):
    """The prices of the model, in US dollars for a million tokens. With them a run counts what it costs."""

    input: Price | None = setting(None, "tokens of the prompt; none is unknown")
    output: Price | None = setting(None, "tokens of the answer; none is unknown")
    cached: Price | None = setting(None, "tokens of the prompt from the server's cache; none: as `input`")


# The user's own words in a request. A run keeps its settings in files, so none of them may be a secret, and no problem
# shows a value that may be one.
_PATH: Final = re.compile(r"/(?:(?![?#\\])[!-~])*")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING: Final = {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
_KEPT: Final = "because a run keeps its settings in files"
_OURS: Final = "is set by PRISM itself; leave it out"


def _is_path(path: str) -> Problems:
    if looks_like_key(path):
        yield "", f"expected no key, {_KEPT}; put it in llm.request.headers or query"
    elif not _PATH.fullmatch(path) or ".." in path.split("/"):
        elsewhere = "; parameters belong in llm.request.query" if "?" in path else ""
        yield "", f"expected a path such as /v1/chat/completions, got {found(path)}{elsewhere}"


def _are_headers(headers: dict[str, str]) -> Problems:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            yield _part(name), "expected the name of a header, such as api-key"
        elif name.lower() in _FRAMING:
            yield _part(name), _OURS
        elif not (value and value.isascii() and value.isprintable()):
            yield _part(name), "expected printable ASCII characters, at least one"
    yield from _are_parameters(headers)


def _are_parameters(values: dict[str, str]) -> Problems:
    for name, value in values.items():
        if not name or not name.isprintable() or not value.isprintable():
            yield _part(name), "expected a name such as api-version, and a value of printable characters"
        elif looks_like_key(value) or (is_secret_name(name) and not VARIABLE.search(value)):
            yield _part(name), f"expected an environment variable such as $API_KEY, {_KEPT}, got a text"


def _are_fields(fields: dict[str, Any]) -> Problems:
    for name, value in fields.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            yield _part(name), f"expected a value that JSON has, got {found(value)}"
            continue
        if name in ("messages", "model"):  # without them it would be no question
            yield _part(name), _OURS
        for secret in secrets_in({name: value}, ""):
            yield secret, f"expected no secret, {_KEPT}; send it by llm.request.headers or query, as $NAME"


def _part(name: str) -> str:
    return f".{name or repr(name)}"


class RequestConfig(Section):
    """The user's own part of every request to the model's server: docs/language-models.md."""

    path: str | None = setting(None, "path of requests after the host; none: /v1/chat/completions", _is_path)
    headers: dict[str, str] = setting({}, "headers of every request; $NAME is an environment variable", _are_headers)
    query: dict[str, str] = setting({}, "parameters after the path; $NAME as in headers", _are_parameters)
    extra_body: dict[str, Any] = setting({}, "fields added to every question; null removes one", _are_fields)


def _is_no_key(text: str) -> Problems:
    if looks_like_key(text):
        yield "", f"expected no key, {_KEPT}; put it in the environment (llm.api_key_env)"


def _is_host(host: str) -> Problems:
    if "@" in host:
        yield "", f"must not carry a user or password, {_KEPT}; put the key in the environment (llm.api_key_env)"
    if "?" in host or "#" in host:
        yield "", f"expected an address without parameters, {_KEPT}; they belong in llm.request.query"
    yield from _is_no_key(host)


def _is_variable(name: str) -> Problems:
    if not is_variable_name(name):
        problem = "expected the name of an environment variable that holds the key, such as OPENAI_API_KEY, never the "
        yield "", f"{problem}key itself; what stands here is not shown, since it may be one"


Model = Annotated[str, Meta(min_length=1), _is_no_key]


class ModelsConfig(Section):
    """The models of different people, on the same servers. See docs/language-models.md."""

    attribute: Text | None = setting(None, "attribute, text, that chooses the model; none: llm.model for all")
    models: dict[str, Model] = setting({}, "`{value: model}`; other values: llm.model")

    def model_of(self, attributes: Mapping[str, Any]) -> str:
        """Return the name of the model for somebody with these attributes; empty for `llm.model`."""
        return "" if self.attribute is None else self.models.get(attributes.get(self.attribute, ""), "")


class LLMConfig(Section):
    """The language model behind the oracle: its server and its sampling. See docs/language-models.md."""

    host: Text = setting("http://127.0.0.1:11434", "address of the server, such as http://127.0.0.1:8000", _is_host)
    ca_file: str | None = setting(None, "PEM file of certificates to trust besides the public ones")
    model: Model = setting("llama3.2", "name of the model, as the server lists it")
    temperature: float = setting(0.7, "spread of the answers; at 0 always the likeliest", ge=0, le=2)
    seed: int = setting(0, "the seeds of all calls follow from it", ge=0, le=2**31 - 1)
    num_predict: int = setting(64, "most tokens of an answer", ge=1, le=131_072)
    num_ctx: int = setting(2048, "tokens of prompt and answer together, for ollama", ge=256, le=2**20)
    keep_alive: Text = setting("30m", "time that ollama keeps the model in memory: 30m, 24h, -1m", _is_no_key)
    timeout_s: float = setting(60.0, "longest time of a call, to its last byte", gt=0, le=3600)
    api_key_env: str = setting("PRISM_LLM_API_KEY", "environment variable with the key", _is_variable)
    method: Literal["auto", "probabilities", "json"] = setting("auto", "auto: probabilities where sound, else JSON")
    prompt: Text = setting("prose", "template: prose or list, which ship; a file; or a text of several lines")
    order: Literal["drawn", "fixed"] = setting("drawn", "of options: drawn for each question, or the chart's")
    writes: bool = setting(False, "let the model write replies and comments, with a reason; asked as JSON")
    memory: int = setting(0, "most lines of a prompt about what the person lately saw, did and got", ge=0, le=100)
    systemone: Literal["auto", "off"] = setting("auto", "auto: use ollama's `/v1/systemone` for probabilities if there")
    by: ModelsConfig = ModelsConfig()
    prices: PricesConfig = PricesConfig()
    request: RequestConfig = RequestConfig()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models that are asked, each once: `model` first."""
        return tuple(dict.fromkeys((self.model, *self.by.models.values())))


class TaylorConfig(Section):
    """The policy rule of the embedded adviser: Taylor (1993), who gave 2, 2, 0.5 and 0.5."""

    neutral_rate: float = setting(2.0, "real interest rate in balance, percent (Taylor 1993: 2)", ge=-20, le=20)
    inflation_target: float = setting(2.0, "inflation aimed at, percent a year (Taylor 1993: 2)", ge=-20, le=100)
    inflation_weight: float = setting(0.5, "points for a point of excess inflation (Taylor: 0.5)", ge=-2, le=10)
    output_weight: float = setting(0.5, "points for a percent of output gap (Taylor 1993: 0.5)", ge=0, le=10)
    smoothing: Kept = setting(0.0, "part of the old rate kept each quarter (Taylor: none)")
    rate_floor: float = setting(0.0, "lowest interest rate, percent", ge=-10, le=100)
    rate_step: float = setting(0.25, "proposed changes are multiples of this many points", ge=0.01, le=10)
    rate_step_max: float = setting(1.0, "most points by which one proposal changes the rate", ge=0.01, le=100)
    rate_error: float = setting(1.7, "standard error of the rule's rate, in points", ge=0.01, le=100)


TwoLags = Annotated[tuple[Lag, ...], Meta(min_length=2, max_length=2)]
FourLags = Annotated[tuple[Lag, ...], Meta(min_length=4, max_length=4)]


def _fade(lags: tuple[float, ...]) -> Problems:
    # Both roots of a second-order difference equation have to be inside the unit circle.
    if not (abs(lags[1]) < 1.0 and abs(lags[0]) < 1.0 - lags[1]):
        yield "", f"expected weights with which a gap dies out by itself, got {list(lags)}"


def _add_up(lags: tuple[float, ...]) -> Problems:
    if abs(math.fsum(lags) - 1.0) > LAGS_TOLERANCE:
        yield "", f"expected weights that add up to 1, got {math.fsum(lags):.10g}"


class MacroConfig(Section):
    """The response of the economy to the interest rate, one quarter a tick. Equations and limits: docs/economy.md."""

    neutral_rate: float = setting(2.0, "real rate that leaves output unchanged, percent", ge=-20, le=20)
    natural_unemployment: float = setting(5.9, "percent at a zero output gap (US mean 1959-2009: 5.9)", ge=0.1, le=50)
    okun: float = setting(2.0, "percent of output for a point of unemployment (Okun 1962: 3; today 2)", ge=0.1, le=10)
    trend_growth: float = setting(3.15, "growth in balance, percent a year (US 1959-2009: 3.15)", ge=-20, le=20)
    gap_lags: TwoLags = setting((1.16, -0.25), "weights of two gaps, latest first (Rudebusch & Svensson)", _fade)
    rate_effect: Slope = setting(0.1, "percent of gap for a point of real rate (Rudebusch & Svensson: 0.10)")
    phillips_slope: Slope = setting(0.14, "points of inflation for a percent of gap (Rudebusch & Svensson: 0.14)")
    inflation_lags: FourLags = setting((0.7, -0.1, 0.28, 0.12), "weights of quarters, latest first, sum 1", _add_up)
    anchoring: Share = setting(0.2, "weight of the anchor in expected inflation (US 1960-1983: 0.17 to 0.23)")
    anchor: float = setting(2.0, "anchor of expected inflation, percent a year", ge=-20, le=100)
    okun_lag: Kept = setting(0.47, "part of a change of unemployment left in the next quarter (US 1960-1983: 0.47)")
    okun_impact: Spread = setting(0.19, "unemployment's fall at once for a percent of gap, points (US 1960-1983: 0.19)")
    okun_pull: Share = setting(0.02, "part of the distance to `okun`'s unemployment closed each quarter (US: 0.02)")
    gap_shock: Spread = setting(0.0, "standard deviation of demand shocks, percent (estimate of 1999: 0.82)")
    gap_shock_persistence: Kept = setting(0.0, "part of a demand shock left a quarter later (US 1960-1983: none)")
    inflation_shock: Spread = setting(0.0, "standard deviation of price shocks, points a year (1999: 1.01)")
    inflation_shock_persistence: Kept = setting(0.0, "part of a price shock left a quarter later (US 1960-1983: none)")
    unemployment_shock: Spread = setting(0.0, "standard deviation of unemployment noise, points (US 1960-1983: 0.24)")
    rate_shock: Spread = setting(0.0, "standard deviation of policy shocks in the rate, points (US 1960-1983: 1.0)")


class InitialConfig(Section):
    """The state in which the economy starts: the indicators given here, or those of a quarter in a file."""

    interest_rate: float = setting(4.0, "short-term rate, percent", ge=-10, le=100)
    inflation: float = setting(2.0, "inflation, percent a year", ge=-50, le=100)
    gdp_growth: float = setting(3.15, "growth of real GDP, percent a year", ge=-50, le=50)
    unemployment: float = setting(5.9, "unemployment, percent", ge=0, le=100)
    total_economic_value: float = setting(1000.0, "real GDP, in any unit", gt=0)
    path: str | None = setting(None, "table by quarter with FRED's names, or realgdp, cpi, tbilrate, unemp")
    quarter: str | None = setting(None, "quarter of the file to start from: 1985q1; none: the last", Quarter.parse)


Periods = tuple[Annotated[str, Meta(min_length=1), Period.parse], ...]


class BacktestConfig(Section):
    """The comparison of the rule with history in `prism validate-world`."""

    lag_quarters: int = setting(1, "quarters by which the rule's figures are old", ge=0, le=8)
    periods: Periods = setting(
        ("1960q1-1979q2", "1979q3-1986q4", "1987q1-1992q3", "1987q1-2009q3"), "periods with a score, as FIRST-LAST"
    )


Strengths = tuple[Annotated[float, Meta(ge=0.001, le=1e12)], ...]


class EconomyConfig(Section):
    """The nations of an economy, and their weights."""

    # Names stand in prompts and in log lines, where a line end would begin something new.
    nations: Texts = setting(("Arvendia", "Borland", "Castellon", "Dravia", "Estmark"), "names of the nations", differ)
    strengths: Strengths = setting((100.0, 80.0, 60.0, 40.0, 20.0), "economic strength of each nation", min_length=1)
    preference_spread: float = setting(0.3, "spread of log weights of the rule over nations; 0: all alike", ge=0, le=2)
    taylor: TaylorConfig = TaylorConfig()
    macro: MacroConfig = MacroConfig()
    initial: InitialConfig = InitialConfig()
    backtest: BacktestConfig = BacktestConfig()


class CalibrationConfig(Section):
    """The data that the settings were fitted to, as `prism calibrate` writes it. No result depends on it."""

    data: str | None = setting(None, "data that the settings were fitted to; none: uncalibrated", max_length=500)
    fit: float | None = setting(None, "distance of the fit from the fitted data, in tolerances")
    holdout: float | None = setting(None, "distance of the fit from data that was not fitted")
    doubts: str = setting("", "why the fit may be wrong", max_length=10_000)
    result: str | None = setting(None, "SHA-256 of the calibration.json of the fit", max_length=64)
    settings: dict[str, Any] = setting({}, "`{setting: value}` of the fit where it differs from the defaults")


class RunConfig(Section):
    """The execution of a run. These settings change no result, unless an agent crashes."""

    question: str = setting("", "question of the run, for `prism report`", max_length=2000)
    activation: Literal["resident", "compiled", "auto"] = setting("resident", "tasks, machine code, or by size (auto)")
    shards: int = setting(1, "Ray processes among which agents are divided, with the same journal", ge=1, le=1024)
    mailbox_capacity: int = setting(1024, "most messages waiting in one mailbox", ge=1, le=10**7)
    tick_s: float = setting(0.0, "least seconds between the beginnings of two ticks", ge=0, le=3600)
    restart_intensity: int = setting(3, "crashes of one agent in the period before quarantine", ge=0)
    restart_period_ticks: int = setting(100, "ticks over which crashes are counted", ge=1)
    checkpoint_every_ticks: int | None = setting(None, "0: only at the end; none: 1 to 500, by domain and size", ge=0)
    checkpoint_share: Share = setting(0.2, "most share of the time for checkpoints of more than a second; 0: no limit")
    stop_within_s: float = setting(4.0, "seconds for tick and checkpoint of a stop; 0: no limit", ge=0, le=86_400.0)
    segment_mb: float = setting(8.0, "MB of ticks in journal.prism sealed in a segment; 0: never", ge=0, le=1000)
    sync: bool = setting(True, "sync each write; false is safe from a kill, not from a power cut")
    record_feeds: bool = setting(False, "record every feed shown; it changes the digest, but no result")
    log_max_mb: float = setting(100.0, "MB at which log.jsonl becomes log.jsonl.1; 5 are kept", ge=0.01, le=10**6)
    calibration: CalibrationConfig = CalibrationConfig()


class MetricsConfig(Section):
    """The HTTP server for metrics and health: docs/operations.md. The result does not depend on these settings."""

    enabled: bool = setting(False, "serve /metrics, /healthz and /readyz")
    host: str = setting("127.0.0.1", "address to listen on; 0.0.0.0: the whole network", min_length=1)
    port: int = setting(9464, "port to listen on; 0: any free one", ge=0, le=65_535)
    tls_cert: str | None = setting(None, "PEM certificate with its chain; none: plain HTTP")
    tls_key: str | None = setting(None, "PEM key of the certificate")
    username: str | None = setting(None, "user of /metrics, password in $PRISM_METRICS_PASSWORD; none: no login")
    linger_s: float = setting(60.0, "longest time that the endpoint stays after the end", ge=0, le=3600)
