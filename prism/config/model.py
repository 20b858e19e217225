"""Every setting of a run: type, range, default and meaning. `docs/configuration.md` and `prism init` are made from it.

Floats from 0 to 1 are probabilities or shares. Times are in ticks, or in seconds where a name ends in `_s`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import Meta

from prism.config.section import Section

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class SimulationConfig(Section, frozen=True, kw_only=True):
    """What is simulated, for how long, from which seed."""

    domain: Annotated[Literal["social", "economy"], Meta(description="which world is simulated")] = "social"
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="every random draw follows from it")] = 42
    rounds: Annotated[int, Meta(ge=1, le=10**9, description="how many rounds to run")] = 50
    ticks_per_round: Annotated[
        int,
        Meta(ge=1, le=10**6, description="length of a round: at least 4 for people, who get one trigger a tick"),
    ] = 24
    ticks: Annotated[
        Annotated[int, Meta(ge=1, le=10**12)] | None,
        Meta(description="length of the run in ticks, whole rounds or not; none: rounds * ticks_per_round"),
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
    """How often people come online: log-normal over people, so a few are there always and most are there rarely."""

    mean: Annotated[float, Meta(gt=0.0, le=1.0, description="mean probability of being online in a round")] = 0.35
    sigma: Annotated[float, Meta(ge=0.0, le=3.0, description="spread of log activity; 0 makes all people alike")] = 0.9


class GraphConfig(Section, frozen=True, kw_only=True):
    """Who follows whom: generated, read from a file, or as the profiles say."""

    kind: Annotated[
        Literal["barabasi_albert", "stochastic_block", "watts_strogatz", "profiles"],
        Meta(description="generator, or `profiles` for the follow lists in the profile file; a path overrides it"),
    ] = "barabasi_albert"
    path: Annotated[
        str | None, Meta(description="edge list (.txt .csv .tsv) or .graphml, each also .gz; it brings its own people")
    ] = None
    directed: Annotated[
        bool, Meta(description="in a file: `a b` means a follows b; otherwise they follow each other")
    ] = False
    degree: Annotated[int, Meta(ge=1, description="people each one follows on average (even for watts_strogatz)")] = 10
    blocks: Annotated[int, Meta(ge=1, description="stochastic_block: number of equal communities")] = 5
    mixing: Annotated[Share, Meta(description="stochastic_block: share of ties that leave the community")] = 0.1
    rewiring: Annotated[Share, Meta(description="watts_strogatz: share of ties rewired at random")] = 0.1


class PopulationConfig(Section, frozen=True, kw_only=True):
    """The people: how many, who they are and what moves them."""

    size: Annotated[
        int, Meta(ge=1, le=10**7, description="people in a generated graph; a graph file brings its own")
    ] = 1000
    profiles: Annotated[
        str | None, Meta(description="OASIS profiles, .json or .csv, dealt out by seed; none makes synthetic people")
    ] = None
    topics: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(min_length=1, description="what synthetic people are interested in and post about"),
    ] = ("politics", "business", "technology", "culture", "sport", "science", "food", "travel")
    interests_per_person: Annotated[int, Meta(ge=1, description="topics a synthetic person cares about")] = 3
    engagement_threshold: Annotated[Share, Meta(description="mean relevance at which a person engages")] = 0.5
    threshold_spread: Annotated[
        Share, Meta(description="standard deviation of the engagement threshold over people")
    ] = 0.08
    ambiguity: Annotated[
        Share, Meta(description="width of the band around the threshold in which the oracle is asked")
    ] = 0.1
    posts_per_session: Annotated[
        Share, Meta(description="probability that a person who comes online posts something of their own")
    ] = 0.12
    activity: ActivityConfig = ActivityConfig()
    graph: GraphConfig = GraphConfig()


class FeedConfig(Section, frozen=True, kw_only=True):
    """What people are shown. Formulas and sources: docs/feeds.md."""

    algorithm: Annotated[
        Literal["chronological", "hot", "interest", "random"], Meta(description="how candidates are ranked")
    ] = "interest"
    size: Annotated[int, Meta(ge=1, le=1000, description="posts shown in one session")] = 5
    out_of_network: Annotated[Share, Meta(description="share of the feed from people one does not follow")] = 0.2
    memory: Annotated[
        int, Meta(ge=1, le=10_000, description="in-network candidates kept for each person, newest first out last")
    ] = 50
    pool: Annotated[int, Meta(ge=1, le=1000, description="out-of-network candidates sampled for one feed")] = 20
    attention: Annotated[
        Share, Meta(description="probability that a noticed post is considered, to the power of its place in the feed")
    ] = 0.9
    horizon_rounds: Annotated[int, Meta(ge=2, description="rounds after which a post is shown no more")] = 10


class StatechartConfig(Section, frozen=True, kw_only=True):
    """How people move between states."""

    default_timeout_ticks: Annotated[
        int, Meta(ge=1, description="ticks after which an idle scroller rests and a stuck person recovers")
    ] = 5
    rest_ticks: Annotated[int, Meta(ge=1, description="ticks a person rests after an action")] = 2
    max_history_depth: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="transitions each person remembers; none: 50, or 0 for more than 10,000 people"),
    ] = None
    oracle_enabled: Annotated[
        bool, Meta(description="false: an ambiguous choice takes the chart's first row and nobody is asked")
    ] = True


class ChoiceConfig(Section, frozen=True, kw_only=True):
    """Coefficients of the embedded oracle, a multinomial logit. UNCALIBRATED: fit them before you publish."""

    scale: Annotated[
        float, Meta(ge=0.001, le=100.0, description="noise s in P(j) ~ exp(V_j / s); small is decided")
    ] = 0.5
    like: Annotated[float, Meta(ge=-100.0, le=100.0, description="constant of liking; scrolling on is 0")] = -1.2
    reshare: Annotated[float, Meta(ge=-100.0, le=100.0, description="constant of resharing")] = -1.9
    compose: Annotated[float, Meta(ge=-100.0, le=100.0, description="constant of writing a reply")] = -1.7
    topic: Annotated[float, Meta(ge=-100.0, le=100.0, description="weight of the topic match")] = 1.0
    tie: Annotated[float, Meta(ge=-100.0, le=100.0, description="weight of following the author")] = 0.4
    activity: Annotated[float, Meta(ge=-100.0, le=100.0, description="weight of the person's activity")] = 0.4
    popularity: Annotated[
        float, Meta(ge=-100.0, le=100.0, description="weight of the post's popularity, for liking and resharing")
    ] = 0.5
    fatigue: Annotated[
        float, Meta(ge=-100.0, le=100.0, description="weight of the share of the feed already seen; it counts against")
    ] = 0.6


class OracleConfig(Section, frozen=True, kw_only=True):
    """Who answers ambiguous choices, how often they may be asked and how long they may take."""

    backend: Annotated[
        Literal["choice", "ollama", "openai"],
        Meta(description="`choice`: embedded, no server; the others ask the model in `llm`"),
    ] = "choice"
    mode: Annotated[
        Literal["pace", "realtime"],
        Meta(description="`pace`: the clock waits for late answers; `realtime`: it does not, they are fallbacks"),
    ] = "pace"
    lookahead_ticks: Annotated[
        int, Meta(ge=0, le=1000, description="ticks a person deliberates; 0 waits for the answer in the same tick")
    ] = 4
    deadline_s: Annotated[float, Meta(gt=0.0, description="an answer later than this is a recorded fallback")] = 30.0
    rate_per_s: Annotated[
        Annotated[float, Meta(ge=0.001, le=100_000.0)] | None,
        Meta(description="most calls started a second; none is no limit"),
    ] = None
    concurrency: Annotated[
        Literal["fixed", "adaptive"],
        Meta(description="`adaptive`: climb while more calls at once bring more answers a second"),
    ] = "fixed"
    max_concurrency: Annotated[int, Meta(ge=1, le=100_000, description="most calls under way at once")] = 64
    max_calls: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="spend cap: calls in the whole run; none is no cap")
    ] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="spend cap: tokens in and out; checked before each call")
    ] = None
    when_spent: Annotated[
        Literal["fallback", "stop"], Meta(description="past the cap: recorded fallbacks, or the run stops")
    ] = "fallback"
    tape: Annotated[
        Literal["off", "record", "replay"],
        Meta(description="`record` keeps every answer; `replay` answers from there and asks nobody"),
    ] = "off"
    tape_path: Annotated[
        str | None, Meta(description="the tape's file; none records to tape.sqlite in the run's directory")
    ] = None
    queue_size: Annotated[
        int, Meta(ge=1, le=10**7, description="most questions waiting; beyond it the engine holds them")
    ] = 10_000
    choice: ChoiceConfig = ChoiceConfig()
