"""The interventions of a run: what is done to it from outside while it goes on, and when. docs/behaviour.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from prism.checked import field_types
from prism.config.model import ActivityConfig, FeedConfig, InitialConfig, MacroConfig, PopulationConfig, RelevanceConfig
from prism.config.section import Section, Text, setting
from prism.errors import ConfigError, SettingError
from prism.expectations import found, join

PLACE: Final = "interventions"
"""The key of the list in a configuration."""
PUBLISHED_AT_ONCE: Final = 8
"""The most posts that interventions publish in an author's name in a tick: each needs draws of its own."""

KINDS: Final = ("publish", "set", "follow", "unfollow", "silence", "shock")
"""The things that an intervention can do. Each does exactly one of them."""

KINDS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "social": ("publish", "set", "follow", "unfollow", "silence"),
    "economy": ("set", "silence", "shock"),
}
"""`{domain that comes with PRISM: what an intervention can do there}`."""

_FEED: Final = (
    *("algorithm", "size", "out_of_network", "fill", "memory", "pool", "recent", "per_author", "per_topic"),
    *("attention", "hot_rounds", "popularity_weight", "reshare_credit"),
)
_MACRO: Final = (
    *("neutral_rate", "trend_growth", "gap_lags", "rate_effect", "phillips_slope"),
    *("inflation_lags", "anchoring", "anchor", "okun_lag", "okun_impact", "okun_pull"),
    *("gap_shock", "gap_shock_persistence", "inflation_shock", "inflation_shock_persistence", "unemployment_shock"),
    "rate_shock",
)
# The others make the people, the chart and the advisers before tick 0, or bound what has been forgotten already.
CHANGEABLE: Final[Mapping[str, Mapping[str, tuple[type[Section], str]]]] = {
    "social": {
        **{f"feed.{name}": (FeedConfig, name) for name in _FEED},
        "population.posts_per_session": (PopulationConfig, "posts_per_session"),
        "population.activity.arrival": (ActivityConfig, "arrival"),
        "population.relevance.popularity_half": (RelevanceConfig, "popularity_half"),
    },
    "economy": {f"economy.macro.{name}": (MacroConfig, name) for name in _MACRO},
}
"""`{domain: {dotted path of a setting that may change while a run goes on: its section and name}}`."""

INDICATORS: Final = ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value")
"""The indicators of an economy that a shock can move."""

Agent = Annotated[int, Meta(ge=0, le=10**7 - 1)] | Text
"""A person or a nation, by number or by name."""

T = TypeVar("T", bound=Section)


class PublishConfig(Section, omit_defaults=True):
    """A post that is published from outside.

    Raises:
        SettingError: a value cannot be held.
    """

    author: Annotated[Agent, Meta(description="author, by number or name; required")]
    text: str | None = setting(None, "text of the post; required without `post`", min_length=1, max_length=10_000)
    post: int | None = setting(
        None, "number of a post of population.posts.file from 1 on, in place of text and topics", ge=1, le=10**6
    )
    topics: tuple[Text, ...] = setting((), "topics of the post; none match nobody's interests")
    quality: float = setting(0.0, "least appeal of the post and its cascade", ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.text is None) == (self.post is None):
            raise self.refused("text", f"expected either text or post, got {'none' if self.post is None else 'both'}")
        if self.text is not None and not self.text.strip():
            raise self.refused("text", f"expected a text that is not blank, got {found(self.text)}")
        if self.post is not None and self.topics:
            raise self.refused("topics", "expected none beside post: the file gives the topics")


class InterventionConfig(Section, omit_defaults=True):
    """One intervention: exactly one of `round` and `tick`, and exactly one thing that is done.

    Raises:
        SettingError: a value cannot be held, or the keys contradict each other.
    """

    round: int | None = setting(None, "round at whose beginning it happens, from 1 on", ge=1, le=10**9)
    tick: int | None = setting(None, "tick at whose beginning it happens", ge=0, le=10**12)
    publish: PublishConfig | None = setting(None, "social: a post appears")
    set: dict[str, Any] | None = setting(None, "new values of settings, as in {feed.algorithm: chronological}")
    follow: tuple[tuple[Agent, ...], ...] | None = setting(None, "social: new ties, each [follower, followee]")
    unfollow: tuple[tuple[Agent, ...], ...] | None = setting(None, "social: ties that end, each [follower, followee]")
    silence: tuple[Agent, ...] | None = setting(None, "people or nations that get no triggers any more")
    until_round: int | None = setting(
        None, "round at whose beginning silenced agents get triggers again; none: never", ge=2, le=10**9
    )
    shock: dict[str, Annotated[float, Meta(ge=-1000.0, le=1000.0)]] | None = setting(
        None, "economy: points added to indicators; for total_economic_value percent"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        empty = next((kind for kind in given if not getattr(self, kind)), None)
        if (self.round is None) == (self.tick is None):
            got = "none" if self.round is None else "both"
            wrong = "tick" if self.round is not None else "", f"expected exactly one of round and tick, got {got}"
        elif len(given) != 1:
            problem = f"expected exactly one of {', '.join(KINDS)}, got {', '.join(given) or 'none'}"
            wrong = given[-1] if given else "", problem
        elif empty is not None:
            wrong = empty, f"expected at least one entry, got {found(getattr(self, empty))}"
        elif self.until_round is not None and self.silence is None:
            wrong = "until_round", "belongs to silence: expected none without it"
        elif self.until_round is not None and self.round is not None and self.until_round <= self.round:
            wrong = "until_round", f"expected a round after {self.round}, got {self.until_round}"
        else:
            return
        raise SettingError(type(self).__name__, wrong[1], keys=(wrong[0],))

    @classmethod
    def taken(cls, name: str, value: object) -> Any:
        held = super().taken(name, value)
        if name != "set" or held is None:
            return held
        # Convert each value as the section of its setting does; the values of unknown settings stay.
        known = {path: where for paths in CHANGEABLE.values() for path, where in paths.items()}
        for path, given in held.items():
            section, setting = known.get(path, (None, ""))
            try:
                held[path] = given if section is None else section.taken(setting, given)
            except SettingError as error:
                raise SettingError(cls.__name__, error.problem, keys=[f"set.{key}" for key in error.keys]) from None
        return held

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:
        for index, tie in enumerate(value or () if name in {"follow", "unfollow"} else ()):
            if len(tie) != 2 or tie[0] == tie[1]:
                yield f"{name}[{index}]", f"expected two different people, [follower, followee], got {found(tie)}"
        for indicator in value or () if name == "shock" else ():
            if indicator not in INDICATORS:
                yield join(name, indicator), f"expected one of the indicators: {', '.join(INDICATORS)}"

    @property
    def kind(self) -> str:
        """The thing that is done: one of `KINDS`."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def when(self) -> str:
        """The key that says when it happens."""
        return "tick" if self.round is None else "round"

    def at(self, ticks_per_round: int) -> int:
        """Return the tick at whose beginning it happens."""
        return (self.tick or 0) if self.round is None else (self.round - 1) * ticks_per_round


class Planned(NamedTuple):
    """An intervention, and the tick at whose beginning it happens."""

    tick: int
    intervention: InterventionConfig


def planned(interventions: Sequence[InterventionConfig], ticks_per_round: int) -> list[Planned]:
    """Return interventions in the order in which they happen: by tick, those of one tick as they are listed."""
    return sorted([Planned(each.at(ticks_per_round), each) for each in interventions], key=lambda each: each.tick)


def placed_agents(interventions: Sequence[InterventionConfig]) -> Iterator[tuple[str, int | str]]:
    """Yield the place in a configuration of every agent that interventions name, and its number or name."""
    for number, each in enumerate(interventions):
        place = f"{PLACE}[{number}]"
        if each.publish is not None:
            yield f"{place}.publish.author", each.publish.author
        for kind in ("follow", "unfollow"):
            for index, tie in enumerate(getattr(each, kind) or ()):
                yield from ((f"{place}.{kind}[{index}][{end}]", agent) for end, agent in enumerate(tie))
        yield from ((f"{place}.silence[{index}]", agent) for index, agent in enumerate(each.silence or ()))


def check_agents(interventions: Sequence[InterventionConfig], number_of: Callable[[int | str], int]) -> None:
    """Refuse interventions on agents that do not exist."""
    for place, agent in placed_agents(interventions):
        try:
            number_of(agent)
        except LookupError as error:
            raise ConfigError("configuration", str(error.args[0]), key=place) from None


def check_posts(
    interventions: Sequence[InterventionConfig], owners: Sequence[int], number_of: Callable[[int | str], int]
) -> None:
    """Refuse interventions with posts that the file of posts does not have, or that their author may not publish.

    Args:
        owners: the person who alone may publish each post; below 0 if any person may.
    """
    for index, each in enumerate(interventions):
        if each.publish is None or (number := each.publish.post) is None:
            continue
        problem = ""
        if number > len(owners):
            problem = f"expected the number of one of {len(owners):,} posts of population.posts.file, got {number}"
        elif owners[number - 1] not in {number_of(each.publish.author), -1}:
            problem = f"expected a post that {each.publish.author} may publish, got {number}, which is somebody else's"
        if problem:
            raise ConfigError("configuration", problem, key=f"{PLACE}[{index}].publish.post")


def numbered(agent: int, size: int, what: str) -> int:
    """Return the number of an agent, if an agent has it."""
    if agent < size:
        return agent
    raise LookupError(not_numbered(agent, size, what))


def not_numbered(agent: int, size: int, what: str) -> str:
    """Return the message about a number that no agent has."""
    return f"expected the number of one of {size:,} {what}, 0 to {size - 1}, got {agent}"


def numbered_nation(nation: int | str, names: Sequence[str]) -> int:
    """Return the number of a nation, by number or by name."""
    if isinstance(nation, int):
        return numbered(nation, len(names), "nations")
    if nation not in names:
        raise LookupError(f"expected one of the nations {', '.join(names)}, got {found(nation)}")
    return names.index(nation)


def shocked(name: str, value: float, shock: float) -> float:
    """Return an indicator of an economy after a shock, within the range that it may start in."""
    moved = value * (1.0 + shock / 100.0) if name == "total_economic_value" else value + shock
    kind = msgspec.inspect.type_info(field_types(InitialConfig)[name])
    bare = kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind
    low, high = getattr(bare, "ge", None), getattr(bare, "le", None)
    at_least = max(moved, low or 0.0)  # the value of an economy is the one that has no `ge`: it is > 0
    return float(at_least if high is None else min(at_least, high))


def with_settings(section: T, settings: Mapping[str, Any]) -> T:
    """Return a section with other values of settings in it, by their dotted paths."""
    for path, value in settings.items():
        name, _, rest = path.partition(".")
        inner = with_settings(getattr(section, name), {rest: value}) if rest else value
        section = msgspec.structs.replace(section, **{name: inner})
    return section
