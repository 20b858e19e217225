"""Every setting of a run: type, range, default and meaning. `docs/settings.md` is made from it.

Floats from 0 to 1 are probabilities or shares. Times are in ticks, or in seconds if a name ends in `_s`. In an economy,
rates, inflation, growth and unemployment are in percent; a point is a percentage point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from msgspec import Meta

from prism.config.attributes import PLACE, POSTS_PLACE, TRAITS, AttributeConfig, misnamed
from prism.config.requests import TEXT_SETTINGS, as_texts, refusal_of, text_problem
from prism.config.section import Section
from prism.expectations import found, join, meant

PEOPLE_MAX = 10**7
"""The most people of a run, also of those that a file has."""
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Price = Annotated[float, Meta(ge=0.0, le=1_000_000.0)]
DAY_HOURS: Final = 24
LAGS_TOLERANCE = 1e-6
"""The most by which the weights of lags may miss 1 in sum: they are written with a few decimals."""


class SimulationConfig(Section, frozen=True, kw_only=True):
    """The domain, the length and the seed of the simulation."""

    domain: Annotated[
        str,
        Meta(
            min_length=1,
            description="domain: social, economy, an installed one, or your own as `module:function`: docs/domains.md",
        ),
    ] = "social"
    domain_path: Annotated[
        str | None,
        Meta(
            description="directory with your code; none: Python's path, then beside the file, then the working "
            "directory"
        ),
    ] = None
    domain_inputs: Annotated[
        dict[str, str],
        Meta(description="files in place of those that your domain asks for, by their names"),
    ] = msgspec.field(default_factory=dict)
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="seed of every random draw")] = 42
    rounds: Annotated[int, Meta(ge=1, le=10**9, description="length of the run in rounds")] = 50
    ticks_per_round: Annotated[
        int, Meta(ge=1, le=10**6, description="length of a round in ticks; people need at least 4")
    ] = 24
    ticks: Annotated[
        Annotated[int, Meta(ge=1, le=10**12)] | None,
        Meta(description="length of the run in ticks; none: rounds * ticks_per_round"),
    ] = None
    epoch: Annotated[datetime, Meta(tz=True, description="simulated time of tick 0, with its UTC offset")] = datetime(
        2026, 1, 1, tzinfo=UTC
    )
    tick_seconds: Annotated[float, Meta(gt=0.0, le=10_000_000, description="simulated seconds a tick")] = 60.0

    @property
    def length(self) -> int:
        """The run's length in ticks."""
        return self.rounds * self.ticks_per_round if self.ticks is None else self.ticks


class ActivityConfig(Section, frozen=True, kw_only=True):
    """The frequency of people's visits: log-normal over people, so a few are often online and most are rarely."""

    mean: Annotated[
        float,
        Meta(gt=0.0, le=1.0, description="mean probability that a person is online in a round"),
    ] = 0.2
    sigma: Annotated[float, Meta(ge=0.0, le=3.0, description="spread of log activity; 0: all alike")] = 0.9
    least: Annotated[
        Share,
        Meta(description="least activity that is drawn, at most the mean. UNCALIBRATED"),
    ] = 0.01
    arrival: Annotated[
        Share,
        Meta(description="first share of the round, in which people come online. UNCALIBRATED"),
    ] = 0.5
    hours: Annotated[
        tuple[Annotated[float, Meta(ge=0.0, le=1e15)], ...] | str | None,
        Meta(
            description="activity by hour: 24 figures from midnight on, or a .csv with columns h00 to h23; none: "
            "all alike"
        ),
    ] = None

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        if name == "hours" and isinstance(value, tuple) and (problem := hours_problem(value)):
            yield name, problem


def hours_problem(figures: tuple[float, ...]) -> str:
    """Return why these are no figures of the hours of a day; empty if they are."""
    if len(figures) != DAY_HOURS:
        return f"expected {DAY_HOURS} figures, one for each hour of the day, got {len(figures)}"
    return "" if any(figures) else "expected a figure above 0 for one hour at least, got 0 for all"


class DwellConfig(Section, frozen=True, kw_only=True):
    """The time that people look at a post and write, log-normal and rounded up to ticks. UNCALIBRATED."""

    look_median_s: Annotated[
        float,
        Meta(ge=0.0, le=1e6, description="median simulated seconds of a look at a post; 0: one tick"),
    ] = 0.0
    look_sigma: Annotated[
        float, Meta(ge=0.0, le=10.0, description="spread of its log (log-normal reading times: Yin et al. 2013)")
    ] = 1.0
    write_median_s: Annotated[
        float, Meta(ge=0.0, le=1e6, description="median simulated seconds of writing; 0: one tick")
    ] = 0.0
    write_sigma: Annotated[
        float,
        Meta(ge=0.0, le=10.0, description="spread of its log (log-normal lengths of posts: Sobkowicz et al. 2013)"),
    ] = 1.0


class ResponseConfig(Section, frozen=True, kw_only=True):
    """The time until a post reaches a person, log-normal, with a speed of each original: docs/people.md. UNCALIBRATED.

    Source: Doerr, Blenn & Van Mieghem, "Lognormal infection times of online information spread" (2013), for the law.
    """

    median_s: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1e9,
            description="median simulated seconds until a post may be in a person's feeds; 0: at once",
        ),
    ] = 900.0
    sigma: Annotated[float, Meta(ge=0.0, le=10.0, description="spread of its log over people, for one original")] = 1.0
    speed_sigma: Annotated[
        float,
        Meta(ge=0.0, le=10.0, description="spread of its log over originals"),
    ] = 2.4


TieColumn = Annotated[int, Meta(ge=1)] | Annotated[str, Meta(min_length=1)]


class HomophilyConfig(Section, frozen=True, kw_only=True):
    """The share of generated ties between people with the same value of an attribute: docs/people.md."""

    by: Annotated[
        str | None,
        Meta(description="attribute, text or bool, by which people are alike; none: no homophily"),
    ] = None
    share: Annotated[
        Share | None,
        Meta(description="share of ties between people with the same value; the E-I index is 1 - 2 share"),
    ] = None


class GraphConfig(Section, frozen=True, kw_only=True):
    """The follow graph: generated, read from a file, or taken from the profiles."""

    kind: Annotated[
        Literal["barabasi_albert", "power_law", "stochastic_block", "watts_strogatz", "profiles"],
        Meta(description="a generator, or `profiles`: the profiles' follow lists"),
    ] = "power_law"
    path: Annotated[
        str | None,
        Meta(description="file of ties: table, GraphML, GML, Pajek or MatrixMarket"),
    ] = None
    directed: Annotated[
        bool,
        Meta(description="`a b` means that a follows b; false: they follow each other"),
    ] = False
    columns: Annotated[
        Annotated[tuple[TieColumn, ...], Meta(min_length=2, max_length=2)] | None,
        Meta(description="columns of follower and followee, by name or number; none: found"),
    ] = None
    separator: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="separator of columns; a space: any spaces and tabs; none: found"),
    ] = None
    header: Annotated[bool | None, Meta(description="the first line names the columns; none: found")] = None
    degree: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="mean number of people that a person follows, even for watts_strogatz; none: 20, or a quarter "
            "of fewer than 80 people"
        ),
    ] = None
    exponent: Annotated[
        float,
        Meta(ge=2.0, le=100.0, description="power_law: exponent of the number of followers; Kwak et al. 2010: 2.276"),
    ] = 2.1
    following_exponent: Annotated[
        float,
        Meta(ge=2.0, le=100.0, description="power_law: exponent of the number of people followed; uncalibrated"),
    ] = 3.0
    blocks: Annotated[int, Meta(ge=1, description="stochastic_block: number of equal communities")] = 5
    mixing: Annotated[Share, Meta(description="stochastic_block: share of ties that leave the community")] = 0.1
    rewiring: Annotated[Share, Meta(description="watts_strogatz: share of ties rewired at random")] = 0.1
    homophily: HomophilyConfig = HomophilyConfig()

    def degree_among(self, size: int) -> int:
        """The mean number of people that each of `size` people follows."""
        # A quarter is the most that power_law can draw, and watts_strogatz needs an even number.
        return max(1, min(20, size // 8 * 2)) if self.degree is None else self.degree


Column = Annotated[str, Meta(min_length=1)] | None


class ColumnsConfig(Section, frozen=True, kw_only=True):
    """The columns of the profile file, or keys, that give what is drawn for people otherwise; so is a blank cell."""

    engagement_threshold: Annotated[Column, Meta(description="relevance at which the person engages, 0 to 1")] = None
    low_threshold: Annotated[Column, Meta(description="relevance up to which posts are ignored")] = None
    high_threshold: Annotated[Column, Meta(description="relevance from which posts are acted on")] = None
    activity: Annotated[Column, Meta(description="probability that the person is online in a round, 0 to 1")] = None
    openness: Annotated[Column, Meta(description="trait from -1, conventional, to 1, curious; a blank is 0")] = None
    conscientiousness: Annotated[
        Column, Meta(description="trait from -1, spontaneous, to 1, orderly; a blank is 0")
    ] = None
    extraversion: Annotated[Column, Meta(description="trait from -1, reserved, to 1, outgoing; a blank is 0")] = None
    agreeableness: Annotated[Column, Meta(description="trait from -1, blunt, to 1, warm; a blank is 0")] = None
    neuroticism: Annotated[Column, Meta(description="trait from -1, calm, to 1, anxious; a blank is 0")] = None

    @classmethod
    def holding(cls, name: str) -> AttributeConfig:
        """Return the type and range of the values in one of these columns."""
        return _TRAIT if name in TRAITS else _SHARE


_SHARE = AttributeConfig(type="float", min=0.0, max=1.0)
_TRAIT = AttributeConfig(type="float", min=-1.0, max=1.0)

ACTIONS: Final = ("like", "reshare", "reply")
Weight = Annotated[float, Meta(ge=-100.0, le=100.0)]
ByAction = dict[Literal["like", "reshare", "reply"], Weight]
Part = Annotated[float, Meta(ge=0.0, le=10.0)]


class RelevanceConfig(Section, frozen=True, kw_only=True):
    """The worth of a post to a person: a weighted sum, at most 1. Formulas: docs/experiments.md. UNCALIBRATED."""

    topic_match: Annotated[Part, Meta(description="weight of the topic match")] = 0.1
    followed: Annotated[Part, Meta(description="weight of following its author")] = 0.0
    popularity: Annotated[Part, Meta(description="weight of its popularity, n / (n + popularity_half)")] = 0.1
    appeal: Annotated[Part, Meta(description="weight of its appeal, the person's taste for it")] = 0.8
    exposure: Annotated[
        Part,
        Meta(
            description="weight of each further person who has shown the cascade; only with feed.exposure complex"
            " (Centola & Macy 2007)"
        ),
    ] = 0.0
    popularity_half: Annotated[
        float,
        Meta(gt=0.0, le=1e9, description="engagements of a cascade at which its popularity is one half"),
    ] = 10.0
    appeal_power: Annotated[
        float,
        Meta(
            gt=0.0,
            le=100.0,
            description="p in appeal = u ^ p of a uniform u, mean 1 / (p + 1)",
        ),
    ] = 20.0


class IntentionsConfig(Section, frozen=True, kw_only=True):
    """The actions of a convinced person: a weight for each, whose log each trait raises. UNCALIBRATED."""

    base: Annotated[
        dict[Literal["like", "reshare", "reply"], Annotated[float, Meta(ge=0.0, le=1e6)]],
        Meta(description="weights of the actions without traits, at least one above 0; left out: 0"),
    ] = msgspec.field(default_factory=lambda: {"like": 0.3, "reshare": 0.35, "reply": 0.35})

    openness: Annotated[ByAction, Meta(description="weights of openness, by action")] = msgspec.field(
        default_factory=lambda: {"reshare": 0.2}
    )
    conscientiousness: Annotated[ByAction, Meta(description="weights of conscientiousness, by action")] = msgspec.field(
        default_factory=lambda: {"reshare": -0.2}
    )
    extraversion: Annotated[ByAction, Meta(description="weights of extraversion, by action")] = msgspec.field(
        default_factory=lambda: {"reply": 0.3}
    )
    agreeableness: Annotated[ByAction, Meta(description="weights of agreeableness, by action")] = msgspec.field(
        default_factory=lambda: {"like": 0.2}
    )
    neuroticism: Annotated[ByAction, Meta(description="weights of neuroticism, by action")] = msgspec.field(
        default_factory=lambda: {"reply": -0.2}
    )

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        if name == "base" and not any(value.values()):
            yield name, "expected at least one weight above 0, got none"


class PostsConfig(Section, frozen=True, kw_only=True):
    """A file of posts, such as headlines, that people publish instead of sentences from templates: docs/people.md."""

    file: Annotated[
        str | None,
        Meta(description="posts, .csv, .tsv, .json or .jsonl; none: sentences about the author's interests"),
    ] = None
    attributes: Annotated[
        dict[str, AttributeConfig],
        Meta(description="your attributes of posts, as in {leaning: {type: float, min: -1, max: 1}}"),
    ] = msgspec.field(default_factory=dict)
    author: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="column of people's ids: only the author publishes a post; none: anybody. docs/people.md"),
    ] = "author"
    offered: Annotated[int, Meta(ge=1, le=1000, description="posts of the file drawn for each publication")] = 10
    choice: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2000)],
        Meta(description="expression; the drawn post with the greatest value is published"),
    ] = "post.topic_match"

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        if name == "attributes":
            yield from misnamed(value, POSTS_PLACE)


class PopulationConfig(Section, frozen=True, kw_only=True):
    """The people: their number, their personas and their thresholds."""

    size: Annotated[int, Meta(ge=1, le=PEOPLE_MAX, description="number of people; a graph file has its own")] = 2000
    profiles: Annotated[
        str | None,
        Meta(description="profile file: .json, .jsonl, .csv or .tsv; none: people are drawn"),
    ] = None
    encoding: Annotated[
        str,
        Meta(min_length=1, description="encoding of profiles, posts and margins, such as cp1252"),
    ] = "utf-8"
    follow_lists: Annotated[
        Literal["fit", "user_id", "username", "index", "row", "row_from_1"],
        Meta(description="contents of follow lists; fit: the only reading that fits"),
    ] = "fit"
    join: Annotated[
        Literal["id", "position", "draw"],
        Meta(description="how profiles and ties are joined: by ids, by position, or by a draw for each person"),
    ] = "id"
    unmatched: Annotated[
        Literal["drop", "draw"] | None,
        Meta(
            description="people in only one of two files: leave them out, or draw what they lack; none: refuse the "
            "files. docs/people.md"
        ),
    ] = None
    topics: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(min_length=1, description="topics of synthetic people's interests and posts"),
    ] = ("politics", "business", "technology", "culture", "sport", "science", "food", "travel")
    interests_per_person: Annotated[int, Meta(ge=1, description="topics that interest a synthetic person")] = 3
    interests_exponent: Annotated[
        float,
        Meta(
            ge=0.0,
            le=10.0,
            description="z in the weight 1 / r^z of the r-th topic in synthetic interests; 0: equal weights (Zipf"
            " 1949)",
        ),
    ] = 1.0
    engagement_threshold: Annotated[Share, Meta(description="mean relevance at which a person engages")] = 0.38
    threshold_spread: Annotated[
        Share, Meta(description="standard deviation of the engagement threshold over people")
    ] = 0.08
    ambiguity: Annotated[
        Share,
        Meta(description="width of the band around the engagement threshold: the oracle decides about posts in it"),
    ] = 0.2
    posts_per_session: Annotated[
        float,
        Meta(
            ge=0.0,
            le=7.0,
            description="mean number of original posts in a session; below 1 the probability of one",
        ),
    ] = 0.04
    deliberation_minutes: Annotated[
        float,
        Meta(
            ge=0.0,
            le=525_600.0,
            description="simulated minutes of thought about an ambiguous choice, rounded up to ticks; not in an "
            "economy. UNCALIBRATED",
        ),
    ] = 4.0
    posts_by_followers: Annotated[
        float,
        Meta(
            ge=0.0,
            le=5.0,
            description="a in originals ~ (1 + followers)^a; 0: the same for all (Huberman et al. 2009)",
        ),
    ] = 0.7
    participation_sigma: Annotated[
        float,
        Meta(
            ge=0.0,
            le=5.0,
            description="spread of log participation: more originals and likelier engagement; 0: all alike "
            "(Muchnik et al. 2013)",
        ),
    ] = 2.4
    quality_sigma: Annotated[
        float,
        Meta(
            ge=0.0,
            le=3.0,
            description="spread of log quality, which multiplies appeal; 0: all alike (Salganik et al. 2006)",
        ),
    ] = 0.7
    attributes: Annotated[
        dict[str, AttributeConfig],
        Meta(description="your attributes of people, as in {age: {type: int, min: 13, max: 99}}"),
    ] = msgspec.field(default_factory=dict)
    margins: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="tables of shares, .csv or .tsv, for attributes of synthetic people"),
    ] = ()
    measures: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="measures at the end of each round, such as gini_followers: docs/runs.md"),
    ] = ()
    columns: ColumnsConfig = ColumnsConfig()
    posts: PostsConfig = PostsConfig()
    relevance: RelevanceConfig = RelevanceConfig()
    intentions: IntentionsConfig = IntentionsConfig()
    activity: ActivityConfig = ActivityConfig()
    dwell: DwellConfig = DwellConfig()
    response: ResponseConfig = ResponseConfig()
    graph: GraphConfig = GraphConfig()

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        if name == "attributes":
            yield from misnamed(value, PLACE)


ALGORITHMS: Final[Mapping[str, str]] = {
    "chronological": "post.created",
    "hot": "log10(max(1, post.engagements)) + post.created / feed.freshness",
    "interest": "post.topic_match + post.popularity * feed.popularity_weight",
    "random": "draw.uniform",
    "bridging": "log10(1 + post.across) + post.created / feed.freshness",
}
"""`{algorithm: its expression}`. docs/people.md gives their sources; a new one is a line here and a row there."""


class FeedConfig(Section, frozen=True, kw_only=True):
    """The feed: the posts that people see. Formulas and sources: docs/people.md."""

    algorithm: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2000)],
        Meta(
            description=f"ranking of posts for each reader: {', '.join(ALGORITHMS)}, or an expression: docs/people.md"
        ),
    ] = "interest"
    size: Annotated[int, Meta(ge=1, le=1000, description="most posts shown in one session")] = 10
    out_of_network: Annotated[
        Share,
        Meta(
            description="share of posts by people not followed: of the feeds as built with fill share, else of "
            "their places"
        ),
    ] = 0.2
    fill: Annotated[
        Literal["share", "strict", "borrow"],
        Meta(
            description="if too few posts are by people followed: fewer of others to keep the share (share), as "
            "many as planned (strict), or more (borrow)"
        ),
    ] = "share"
    memory: Annotated[
        int, Meta(ge=1, le=10_000, description="in-network candidates kept for each person, newest first")
    ] = 50
    pool: Annotated[int, Meta(ge=1, le=1000, description="out-of-network candidates sampled for one feed")] = 20
    recent: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="most originals from which the out-of-network candidates of one feed are sampled",
        ),
    ] = 1000
    hot_rounds: Annotated[
        float,
        Meta(
            gt=0.0,
            le=10_000,
            description="hot: rounds of freshness worth ten times the engagements. UNCALIBRATED; Reddit: 12.5 "
            "hours (Salihefendic 2010)",
        ),
    ] = 0.5
    popularity_weight: Annotated[
        float,
        Meta(ge=0.0, le=1000.0, description="interest: weight of popularity; topic match has 1. UNCALIBRATED"),
    ] = 0.5
    attention: Annotated[
        Share,
        Meta(description="probability of considering the post at place n: attention ^ n"),
    ] = 0.9
    horizon_rounds: Annotated[int, Meta(ge=2, description="rounds after which a post is no longer shown")] = 50
    across: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="attribute whose groups `bridging` compares: text, truth value, or sign of a number"),
    ] = None
    per_author: Annotated[
        int, Meta(ge=0, le=1000, description="most posts by one author on each side (followed or not); 0: no limit")
    ] = 0
    per_topic: Annotated[
        int, Meta(ge=0, le=1000, description="most posts with the same topics on each side; 0: no limit")
    ] = 0
    exposure: Annotated[
        Literal["once", "simple", "complex"],
        Meta(
            description="cascades are shown once; or again by others followed, with a new chance each (simple) or"
            " reinforcement (complex)"
        ),
    ] = "once"
    reshare_credit: Annotated[
        Literal["seen", "root", "newest"],
        Meta(description="parent of a reshare: the copy seen, the original, or the newest copy in the timeline"),
    ] = "seen"

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        # A word that is no algorithm. What else an expression can be, a world knows.
        if name == "algorithm" and value.isidentifier() and value not in ALGORITHMS:
            problem = f"expected one of: {', '.join(ALGORITHMS)}, or an expression, got {found(value)}"
            yield name, f"{problem}{meant(value, ALGORITHMS)}"


class StatechartConfig(Section, frozen=True, kw_only=True):
    """The chart, the timing of people's states, and the use of the oracle."""

    file: Annotated[str | None, Meta(description="people's chart, a .yaml file; none: the default chart")] = None
    default_timeout_ticks: Annotated[
        int, Meta(ge=1, description="ticks until a scroller without posts rests or a stuck person recovers")
    ] = 5
    rest_ticks: Annotated[int, Meta(ge=1, description="ticks a person rests after an action")] = 2
    max_history_depth: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="transitions kept for each person; none: 50, or 0 above 10,000 people"),
    ] = None
    oracle_enabled: Annotated[bool, Meta(description="false: ambiguous choices take the chart's first row")] = True


class ChoiceConfig(Section, frozen=True, kw_only=True):
    """Coefficients of the embedded oracle, a multinomial logit. UNCALIBRATED: fit them before you publish."""

    scale: Annotated[
        float,
        Meta(
            ge=0.001,
            le=100.0,
            description="noise s in P(j) ~ exp(V_j / s)",
        ),
    ] = 0.5
    like: Annotated[float, Meta(ge=-100.0, le=100.0, description="constant of liking; scrolling on is 0")] = -1.2
    reshare: Annotated[float, Meta(ge=-100.0, le=100.0, description="constant of resharing")] = -1.9
    compose: Annotated[float, Meta(ge=-100.0, le=100.0, description="constant of writing a reply")] = -1.7
    topic: Annotated[float, Meta(ge=-100.0, le=100.0, description="weight of the topic match")] = 1.0
    tie: Annotated[float, Meta(ge=-100.0, le=100.0, description="weight of following the author")] = 0.4
    activity: Annotated[float, Meta(ge=-100.0, le=100.0, description="weight of activity")] = 0.4
    popularity: Annotated[
        float, Meta(ge=-100.0, le=100.0, description="weight of popularity, for liking and resharing")
    ] = 0.5
    fatigue: Annotated[
        float,
        Meta(ge=-100.0, le=100.0, description="weight of the share of the feed already seen, subtracted"),
    ] = 0.6
    quality: Annotated[Weight, Meta(description="weight of log quality")] = 0.0
    exposure: Annotated[
        Weight,
        Meta(description="weight of each further person who has shown the cascade; only with feed.exposure complex"),
    ] = 0.0
    openness: Annotated[Weight, Meta(description="weight of openness")] = 0.1
    conscientiousness: Annotated[Weight, Meta(description="weight of conscientiousness")] = -0.1
    extraversion: Annotated[Weight, Meta(description="weight of extraversion")] = 0.2
    agreeableness: Annotated[Weight, Meta(description="weight of agreeableness")] = 0.1
    neuroticism: Annotated[Weight, Meta(description="weight of neuroticism")] = -0.1
    attributes: Annotated[
        dict[str, Weight | dict[str, Weight]],
        Meta(description="weights of your attributes; for a text one for each value: {region: {north: 0.2}}"),
    ] = msgspec.field(default_factory=dict)

    states: Annotated[
        dict[str, Annotated[float, Meta(ge=-100.0, le=100.0)]],
        Meta(description="constants of your chart's states, as `{doomscrolling: 0.5}`; others have 0"),
    ] = msgspec.field(default_factory=dict)


class SharingConfig(Section, frozen=True, kw_only=True):
    """The judgements that several people share, and the checks of the error of sharing: docs/language-models.md."""

    by: Annotated[
        Literal["none", "archetype"],
        Meta(description="`archetype`: questions with equal fields of `archetype` share one judgement"),
    ] = "none"
    archetype: Annotated[
        dict[str, str],
        Meta(
            description="`{field: groups}`, as in `{topic_match: 4 bins, likes: log2}`; default: fields of guards"
            " and the embedded choice"
        ),
    ] = msgspec.field(default_factory=dict)
    audit: Annotated[Share, Meta(description="share of shared questions that are also asked by themselves")] = 0.02
    samples: Annotated[
        int, Meta(ge=1, le=1000, description="answers for a judgement if the server has no probabilities")
    ] = 8


class OracleConfig(Section, frozen=True, kw_only=True):
    """The oracle that decides ambiguous choices: its backend, its limits and its deadline."""

    backend: Annotated[
        Literal["choice", "ollama", "openai"],
        Meta(description="who decides ambiguous choices: `choice`, a built-in formula, or the model in `llm`"),
    ] = "choice"
    mode: Annotated[
        Literal["pace", "realtime"],
        Meta(description="`pace`: the clock waits for late answers; `realtime`: late answers become fallbacks"),
    ] = "pace"
    deadline_s: Annotated[float, Meta(gt=0.0, description="an answer later than this is a recorded fallback")] = 30.0
    on_outage: Annotated[
        Literal["wait", "stop", "fallback"],
        Meta(description="while the server is away, in `pace`: wait, stop, or take fallbacks"),
    ] = "wait"
    outage_patience_s: Annotated[
        float, Meta(gt=0.0, description="longest wait for a server that is away, before the run stops")
    ] = 900.0
    max_attempts: Annotated[int, Meta(ge=1, le=100, description="most attempts at a question")] = 3
    max_fallback_share: Annotated[
        Share | None,
        Meta(description="share of fallbacks in the last 1,000 choices above which the run stops"),
    ] = 0.05
    rate_per_s: Annotated[
        Annotated[float, Meta(ge=0.001, le=100_000.0)] | None,
        Meta(description="most calls started a second, lowered by 429; none: no limit until a 429"),
    ] = None
    max_concurrency: Annotated[
        int, Meta(ge=1, le=100_000, description="most calls under way at once; halved by 429 and 503")
    ] = 64
    max_calls: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="spend cap: calls in the whole run; none is no cap")
    ] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="spend cap: tokens in and out; checked before each call")
    ] = None
    max_usd: Annotated[
        Annotated[float, Meta(ge=0.0)] | None,
        Meta(description="spend cap in US dollars, by `llm.prices`; the run stops there"),
    ] = None
    when_spent: Annotated[
        Literal["fallback", "stop"],
        Meta(description="at a cap: stop, or take fallbacks"),
    ] = "stop"
    tape: Annotated[
        Literal["off", "record", "replay"],
        Meta(description="`record` keeps every answer; `replay` answers from the tape and asks no server"),
    ] = "off"
    tape_path: Annotated[str | None, Meta(description="file of the tape; none: tape.sqlite in the run's directory")] = (
        None
    )
    queue_size: Annotated[int, Meta(ge=1, le=10**7, description="most questions in the oracle's queue")] = 10_000
    sharing: SharingConfig = SharingConfig()
    choice: ChoiceConfig = ChoiceConfig()

    @property
    def unshared(self) -> Self:
        """These settings, with each question asked by itself: without sharing, and all that needs it."""
        return msgspec.structs.replace(self, sharing=msgspec.structs.replace(self.sharing, by="none", archetype={}))


class PricesConfig(Section, frozen=True, kw_only=True):
    """The prices of the model, in US dollars for a million tokens. With them a run counts what it costs."""

    input: Annotated[Price | None, Meta(description="tokens of the prompt; none is unknown")] = None
    output: Annotated[Price | None, Meta(description="tokens of the answer; none is unknown")] = None
    cached: Annotated[
        Price | None, Meta(description="tokens of the prompt from the server's cache; none: as `input`")
    ] = None


class RequestConfig(Section, frozen=True, kw_only=True):
    """The user's own part of every request to the model's server: docs/language-models.md."""

    path: Annotated[
        str | None,
        Meta(description="path of requests after the host; none: /v1/chat/completions"),
    ] = None
    headers: Annotated[
        dict[str, str],
        Meta(description="headers of every request; $NAME is an environment variable"),
    ] = msgspec.field(default_factory=dict)
    query: Annotated[dict[str, str], Meta(description="parameters after the path; $NAME as in headers")] = (
        msgspec.field(default_factory=dict)
    )
    extra_body: Annotated[dict[str, Any], Meta(description="fields added to every question; null removes one")] = (
        msgspec.field(default_factory=dict)
    )

    @classmethod
    def taken(cls, name: str, value: object) -> Any:
        return super().taken(name, as_texts(name, value))

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        refusal = refusal_of(name, value)
        if refusal is not None:
            yield refusal.place, refusal.problem


class ModelsConfig(Section, frozen=True, kw_only=True):
    """The models of different people, on the same servers. See docs/language-models.md."""

    attribute: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="attribute, text, that chooses the model; none: llm.model for everybody"),
    ] = None
    models: Annotated[
        dict[str, Annotated[str, Meta(min_length=1)]],
        Meta(description="`{value: model}`; other values: llm.model"),
    ] = msgspec.field(default_factory=dict)

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        for key, text in value.items() if name == "models" else ():
            problem = (
                text_problem("model", text) if text.strip() else f"expected the name of a model, got {found(text)}"
            )
            if problem is not None:
                yield join(name, key), problem

    def model_of(self, attributes: Mapping[str, Any]) -> str:
        """Return the name of the model for somebody with these attributes; empty for `llm.model`."""
        return "" if self.attribute is None else self.models.get(attributes.get(self.attribute, ""), "")


class LLMConfig(Section, frozen=True, kw_only=True):
    """The language model behind the oracle: its server and its sampling. See docs/language-models.md."""

    host: Annotated[
        str,
        Meta(min_length=1, description="address of the server, such as http://127.0.0.1:8000"),
    ] = "http://127.0.0.1:11434"
    hosts: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="addresses of several servers of one model, in place of llm.host"),
    ] = ()
    ca_file: Annotated[
        str | None,
        Meta(description="PEM file of certificates to trust besides the public ones"),
    ] = None
    model: Annotated[
        str,
        Meta(
            min_length=1,
            description="name of the model, as the server lists it",
        ),
    ] = "llama3.2"
    temperature: Annotated[
        float, Meta(ge=0.0, le=2.0, description="spread of the answers; at 0 equal questions share one answer")
    ] = 0.7
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description="the seeds of all calls follow from it")] = 0
    num_predict: Annotated[int, Meta(ge=1, le=131_072, description="most tokens of an answer")] = 64
    num_ctx: Annotated[int, Meta(ge=256, le=2**20, description="tokens of prompt and answer together, for ollama")] = (
        2048
    )
    keep_alive: Annotated[
        str, Meta(min_length=1, description="time that ollama keeps the model in memory: 30m, 24h, -1m")
    ] = "30m"
    timeout_s: Annotated[float, Meta(gt=0.0, le=3600.0, description="longest time of a call, to its last byte")] = 60.0
    api_key_env: Annotated[str, Meta(description="environment variable with the key")] = "PRISM_LLM_API_KEY"
    method: Annotated[
        Literal["auto", "probabilities", "json"],
        Meta(description="auto: probabilities of the options where they are sound, else JSON"),
    ] = "auto"
    writes: Annotated[
        bool,
        Meta(description="let the model write replies and comments, with a reason; such choices are asked as JSON"),
    ] = False
    memory: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="most lines of a prompt about what the person lately saw, did and got",
        ),
    ] = 0
    systemone: Annotated[
        Literal["auto", "off"],
        Meta(description="auto: use ollama's `/v1/systemone` for probabilities if it is there"),
    ] = "auto"
    by: ModelsConfig = ModelsConfig()
    prices: PricesConfig = PricesConfig()
    request: RequestConfig = RequestConfig()

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        for index, text in enumerate(value if isinstance(value, tuple) else (value,)) if name in TEXT_SETTINGS else ():
            problem = text_problem(name, text) if isinstance(text, str) else None
            if problem is not None:
                yield f"{name}[{index}]" if isinstance(value, tuple) else name, problem

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models that are asked, each once: `model` first."""
        return tuple(dict.fromkeys((self.model, *self.by.models.values())))

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all servers."""
        return self.hosts or (self.host,)

    @property
    def places(self) -> str:
        """The addresses of all servers, as part of a message."""
        return ", ".join(self.addresses)


class TaylorConfig(Section, frozen=True, kw_only=True):
    """The policy rule of the embedded adviser: Taylor (1993), who gave 2, 2, 0.5 and 0.5."""

    neutral_rate: Annotated[
        float, Meta(ge=-20.0, le=20.0, description="real interest rate in balance, percent (Taylor 1993: 2)")
    ] = 2.0
    inflation_target: Annotated[
        float, Meta(ge=-20.0, le=100.0, description="inflation aimed at, percent a year (Taylor 1993: 2)")
    ] = 2.0
    inflation_weight: Annotated[
        float,
        Meta(ge=-2.0, le=10.0, description="points for a point of excess inflation; unstable if <= 0 (Taylor: 0.5)"),
    ] = 0.5
    output_weight: Annotated[
        float, Meta(ge=0.0, le=10.0, description="points for a percent of output gap (Taylor 1993: 0.5)")
    ] = 0.5
    smoothing: Annotated[
        float,
        Meta(ge=0.0, lt=1.0, description="part of the old rate kept each quarter (Taylor: none)"),
    ] = 0.0
    rate_floor: Annotated[float, Meta(ge=-10.0, le=100.0, description="lowest interest rate, percent")] = 0.0
    rate_step: Annotated[
        float, Meta(ge=0.01, le=10.0, description="proposed changes are multiples of this many points")
    ] = 0.25
    rate_step_max: Annotated[
        float, Meta(ge=0.01, le=100.0, description="most points by which one proposal changes the rate")
    ] = 1.0
    rate_error: Annotated[
        float,
        Meta(ge=0.01, le=100.0, description="standard error of the rule's rate, in points"),
    ] = 1.7


class MacroConfig(Section, frozen=True, kw_only=True):
    """The response of the economy to the interest rate, one quarter a tick. Equations and limits: docs/economy.md."""

    neutral_rate: Annotated[
        float,
        Meta(
            ge=-20.0,
            le=20.0,
            description="real rate that leaves output unchanged, percent",
        ),
    ] = 2.0
    natural_unemployment: Annotated[
        float, Meta(ge=0.1, le=50.0, description="unemployment at a zero output gap, percent (US mean 1959-2009: 5.9)")
    ] = 5.9
    okun: Annotated[
        float,
        Meta(ge=0.1, le=10.0, description="percent of output lost for a point of unemployment (Okun 1962: 3; today 2)"),
    ] = 2.0
    trend_growth: Annotated[
        float, Meta(ge=-20.0, le=20.0, description="growth in balance, percent a year (US 1959-2009: 3.15)")
    ] = 3.15
    gap_lags: Annotated[
        tuple[Annotated[float, Meta(ge=-2.0, le=2.0)], ...],
        Meta(
            min_length=2,
            max_length=2,
            description="weights of this and the last quarter's gap in the next gap (Rudebusch & Svensson 1999)",
        ),
    ] = (1.16, -0.25)
    rate_effect: Annotated[
        float,
        Meta(ge=0.0, le=5.0, description="percent of gap for a point of real rate (Rudebusch & Svensson 1999: 0.10)"),
    ] = 0.1
    phillips_slope: Annotated[
        float,
        Meta(ge=0.0, le=5.0, description="points of inflation for a percent of gap (Rudebusch & Svensson 1999: 0.14)"),
    ] = 0.14
    inflation_lags: Annotated[
        tuple[Annotated[float, Meta(ge=-2.0, le=2.0)], ...],
        Meta(
            min_length=4,
            max_length=4,
            description="weights of four quarters in expected inflation, latest first, sum 1 (Rudebusch & "
            "Svensson 1999)",
        ),
    ] = (0.7, -0.1, 0.28, 0.12)
    anchoring: Annotated[
        Share,
        Meta(description="weight of the anchor in expected inflation (US 1960-1983: 0.17 to 0.23)"),
    ] = 0.2
    anchor: Annotated[float, Meta(ge=-20.0, le=100.0, description="anchor of expected inflation, percent a year")] = 2.0
    okun_lag: Annotated[
        float,
        Meta(
            ge=0.0,
            lt=1.0,
            description="part of a change of unemployment left in the next quarter (US 1960-1983: 0.47)",
        ),
    ] = 0.47
    okun_impact: Annotated[
        float,
        Meta(
            ge=0.0,
            le=10.0,
            description="fall of unemployment, in points, for a percent of gap in the same quarter (US 1960-1983:"
            " 0.19)",
        ),
    ] = 0.19
    okun_pull: Annotated[
        Share,
        Meta(
            description="part of the distance to `okun`'s unemployment closed each quarter (US 1960-1983: 0.02, "
            "error 0.02)"
        ),
    ] = 0.02
    gap_shock: Annotated[
        float,
        Meta(ge=0.0, le=10.0, description="standard deviation of demand shocks, percent (1999 estimate: 0.82)"),
    ] = 0.0
    gap_shock_persistence: Annotated[
        float,
        Meta(ge=0.0, lt=1.0, description="part of a demand shock left a quarter later (US 1960-1983: none)"),
    ] = 0.0
    inflation_shock: Annotated[
        float,
        Meta(
            ge=0.0,
            le=10.0,
            description="standard deviation of price shocks, points at an annual rate (1999 estimate: 1.01; US "
            "1960-1983: 2.1)",
        ),
    ] = 0.0
    inflation_shock_persistence: Annotated[
        float,
        Meta(ge=0.0, lt=1.0, description="part of a price shock left a quarter later (US 1960-1983: none)"),
    ] = 0.0
    unemployment_shock: Annotated[
        float,
        Meta(ge=0.0, le=10.0, description="standard deviation of noise in unemployment, points (US 1960-1983: 0.24)"),
    ] = 0.0
    rate_shock: Annotated[
        float,
        Meta(
            ge=0.0,
            le=10.0,
            description="standard deviation of policy shocks in the rate, points (US 1960-1983: 1.0)",
        ),
    ] = 0.0

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        if name == "inflation_lags" and abs(math.fsum(value) - 1.0) > LAGS_TOLERANCE:
            yield name, f"expected weights that add up to 1, got {math.fsum(value):.10g}"
        if name == "gap_lags" and not _dies_out(*value):
            yield name, f"expected weights with which a gap dies out by itself, got {list(value)}"


def _dies_out(first: float, second: float) -> bool:
    """Return whether both roots of a second-order difference equation are inside the unit circle."""
    return abs(second) < 1.0 and abs(first) < 1.0 - second


class InitialConfig(Section, frozen=True, kw_only=True):
    """The state in which the economy starts: the indicators given here, or those of a quarter in a file."""

    interest_rate: Annotated[float, Meta(ge=-10.0, le=100.0, description="short-term rate, percent")] = 4.0
    inflation: Annotated[float, Meta(ge=-50.0, le=100.0, description="inflation, percent a year")] = 2.0
    gdp_growth: Annotated[float, Meta(ge=-50.0, le=50.0, description="growth of real GDP, percent a year")] = 3.15
    unemployment: Annotated[float, Meta(ge=0.0, le=100.0, description="unemployment, percent")] = 5.9
    total_economic_value: Annotated[float, Meta(gt=0.0, description="real GDP, in any unit")] = 1000.0
    path: Annotated[
        str | None,
        Meta(
            description="quarterly .csv or .tsv (also .gz) with year, quarter, realgdp, cpi, tbilrate, unemp, or "
            "FRED's names"
        ),
    ] = None
    quarter: Annotated[
        str | None, Meta(description="quarter of the file to start from, such as 1985q1; none: the last")
    ] = None


class BacktestConfig(Section, frozen=True, kw_only=True):
    """The comparison of the rule with history in `prism validate-world`."""

    lag_quarters: Annotated[int, Meta(ge=0, le=8, description="quarters by which the rule's figures are old")] = 1
    periods: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="periods with a score, as FIRST-LAST"),
    ] = ("1960q1-1979q2", "1979q3-1986q4", "1987q1-1992q3", "1987q1-2009q3")


class EconomyConfig(Section, frozen=True, kw_only=True):
    """The nations of an economy, and their weights."""

    nations: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1, description="names of the nations")
    ] = ("Arvendia", "Borland", "Castellon", "Dravia", "Estmark")
    strengths: Annotated[
        tuple[Annotated[float, Meta(ge=0.001, le=1e12)], ...],
        Meta(min_length=1, description="economic strength of each nation"),
    ] = (100.0, 80.0, 60.0, 40.0, 20.0)
    preference_spread: Annotated[
        float,
        Meta(
            ge=0.0,
            le=2.0,
            description="spread of the log of the rule's weights over nations; 0: all alike",
        ),
    ] = 0.3
    taylor: TaylorConfig = TaylorConfig()
    macro: MacroConfig = MacroConfig()
    initial: InitialConfig = InitialConfig()
    backtest: BacktestConfig = BacktestConfig()


class CalibrationConfig(Section, frozen=True, kw_only=True):
    """The data that the settings were fitted to, as `prism calibrate` writes it. No result depends on it."""

    data: Annotated[
        Annotated[str, Meta(max_length=500)] | None,
        Meta(description="data that the settings were fitted to; none: uncalibrated"),
    ] = None
    fit: Annotated[float | None, Meta(description="distance of the fit from the fitted data, in tolerances")] = None
    holdout: Annotated[float | None, Meta(description="distance of the fit from data that was not fitted")] = None
    doubts: Annotated[str, Meta(max_length=10_000, description="why the fit may be wrong")] = ""
    result: Annotated[
        Annotated[str, Meta(max_length=64)] | None, Meta(description="SHA-256 of the calibration.json of the fit")
    ] = None
    settings: Annotated[
        dict[str, Any],
        Meta(description="`{setting: value}` of the fit where it differs from the defaults"),
    ] = msgspec.field(default_factory=dict)


class RunConfig(Section, frozen=True, kw_only=True):
    """The execution of a run. These settings change no result, unless an agent crashes."""

    question: Annotated[
        str,
        Meta(
            max_length=2000,
            description="question of the run, for `prism report`",
        ),
    ] = ""
    activation: Annotated[
        Literal["resident", "compiled", "auto"],
        Meta(
            description="turns of agents: a task for each (`resident`), machine code (`compiled`), or `auto`: "
            "compiled from 10,000 agents on"
        ),
    ] = "resident"
    shards: Annotated[
        int,
        Meta(
            ge=1,
            le=1024,
            description="Ray processes among which agents are divided, with the same journal",
        ),
    ] = 1
    mailbox_capacity: Annotated[int, Meta(ge=1, le=10**7, description="most messages waiting in one mailbox")] = 1024
    tick_s: Annotated[
        float, Meta(ge=0.0, le=3600.0, description="least seconds between the beginnings of two ticks")
    ] = 0.0
    restart_intensity: Annotated[
        int, Meta(ge=0, description="crashes of one agent in the period before quarantine")
    ] = 3
    restart_period_ticks: Annotated[int, Meta(ge=1, description="ticks over which crashes are counted")] = 100
    checkpoint_every_ticks: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="0: only at the end; none: 1 for an economy, for feeds 500, or 10 to 500 from 20,000 people on"
        ),
    ] = None
    stop_within_s: Annotated[
        float,
        Meta(
            ge=0.0,
            le=86_400.0,
            description="processor seconds to finish the tick and write a checkpoint when told to stop; 0: no limit",
        ),
    ] = 4.0
    segment_mb: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1000.0,
            description="MB of ticks in journal.prism that are sealed in a segment; 0: never",
        ),
    ] = 8.0
    sync: Annotated[bool, Meta(description="sync each write; false is safe from a kill, not from a power cut")] = True
    record_feeds: Annotated[bool, Meta(description="record every feed shown; it changes the digest, but no result")] = (
        False
    )
    log_max_mb: Annotated[
        float,
        Meta(
            ge=0.01,
            le=10**6,
            description="MB of log.jsonl at which it is set aside as log.jsonl.1; 5 such logs are kept",
        ),
    ] = 100.0
    calibration: CalibrationConfig = CalibrationConfig()


class MetricsConfig(Section, frozen=True, kw_only=True):
    """The HTTP server for metrics and health: docs/operations.md. The result does not depend on these settings."""

    enabled: Annotated[
        bool,
        Meta(description="serve /metrics, /healthz and /readyz"),
    ] = False
    host: Annotated[str, Meta(min_length=1, description="address to listen on; 0.0.0.0: the whole network")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535, description="port to listen on; 0: any free one")] = 9464
    tls_cert: Annotated[str | None, Meta(description="PEM certificate with its chain; none: plain HTTP")] = None
    tls_key: Annotated[str | None, Meta(description="PEM key of the certificate")] = None
    username: Annotated[
        str | None, Meta(description="user of /metrics, password in $PRISM_METRICS_PASSWORD; none: no login")
    ] = None
    heartbeat_limit_s: Annotated[
        float,
        Meta(ge=1.0, le=3600.0, description="blocked time of the event loop after which /healthz answers 503"),
    ] = 10.0
    linger_s: Annotated[
        float,
        Meta(ge=0.0, le=3600.0, description="longest time that the endpoint stays after the end"),
    ] = 60.0
