"""The interventions of a run: what is done to it from outside while it goes on, and when. docs/behaviour.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from prism.checked import converted, field_types
from prism.config.model import ActivityConfig, FeedConfig, MacroConfig, PopulationConfig, RelevanceConfig
from prism.config.section import Section, Text, setting
from prism.errors import SettingError
from prism.expectations import found

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

# The others make the people, the chart and the advisers before tick 0, or bound what has been forgotten already.
CHANGEABLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "social": {
        f"feed.{name}": kind
        for name, kind in field_types(FeedConfig).items()
        if name not in ("horizon_rounds", "across", "exposure")
    }
    | {
        "population.posts_per_session": field_types(PopulationConfig)["posts_per_session"],
        "population.activity.arrival": field_types(ActivityConfig)["arrival"],
        "population.relevance.popularity_half": field_types(RelevanceConfig)["popularity_half"],
    },
    "economy": {
        f"economy.macro.{name}": kind
        for name, kind in field_types(MacroConfig).items()
        if name not in ("natural_unemployment", "okun")
    },
}
"""`{domain: {dotted path of a setting that may change while a run goes on: its type}}`."""

INDICATORS: Final = ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value")
"""The indicators of an economy that a shock can move."""

Agent = Annotated[int, Meta(ge=0, le=10**7 - 1)] | Text
"""A person or a nation, by number or by name."""
Ties = tuple[tuple[Agent, ...], ...]

T = TypeVar("T", bound=Section)


def _are_ties(ties: Ties) -> Iterator[tuple[str, str]]:
    for index, tie in enumerate(ties):
        if len(tie) != 2 or tie[0] == tie[1]:
            yield f"[{index}]", f"expected two different people, [follower, followee], got {found(tie)}"


def _are_indicators(shock: dict[str, float]) -> Iterator[tuple[str, str]]:
    for name in shock:
        if name not in INDICATORS:
            yield f".{name}", f"expected one of the indicators: {', '.join(INDICATORS)}"


def _is_not_blank(text: str) -> None:
    if not text.strip():
        raise ValueError(f"expected a text that is not blank, got {found(text)}")


def _are_settings(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Convert each value as its setting does; the values of unknown settings stay."""
    known = {path: kind for kinds in CHANGEABLE.values() for path, kind in kinds.items()}
    for path, given in settings.items():
        try:
            settings[path] = converted(known.get(path, Any), given)
        except SettingError as error:
            yield f".{path}{error.keys[0]}", error.problem


class PublishConfig(Section, omit_defaults=True):
    """A post that is published from outside.

    Raises:
        SettingError: a value cannot be held.
    """

    author: Annotated[Agent, Meta(description="author, by number or name; required")]
    text: str | None = setting(None, "text of the post; required without `post`", _is_not_blank, max_length=10_000)
    post: int | None = setting(
        None, "number of a post of population.posts.file from 1 on, in place of text and topics", ge=1, le=10**6
    )
    topics: tuple[Text, ...] = setting((), "topics of the post; none match nobody's interests")
    quality: float = setting(0.0, "least appeal of the post and its cascade", ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.text is None) == (self.post is None):
            raise self.refused("text", f"expected either text or post, got {'none' if self.post is None else 'both'}")
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
    set: dict[str, Any] | None = setting(
        None, "new values of settings, as in {feed.algorithm: chronological}", _are_settings
    )
    follow: Ties | None = setting(None, "social: new ties, each [follower, followee]", _are_ties)
    unfollow: Ties | None = setting(None, "social: ties that end, each [follower, followee]", _are_ties)
    silence: tuple[Agent, ...] | None = setting(None, "people or nations that get no triggers any more")
    until_round: int | None = setting(
        None, "round at whose beginning silenced agents get triggers again; none: never", ge=2, le=10**9
    )
    shock: dict[str, Annotated[float, Meta(ge=-1000.0, le=1000.0)]] | None = setting(
        None, "economy: points added to indicators; for total_economic_value percent", _are_indicators
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        empty = [kind for kind in given if not getattr(self, kind)]
        if (self.round is None) == (self.tick is None):
            got = "none" if self.round is None else "both"
            raise self.refused("" if got == "none" else "tick", f"expected exactly one of round and tick, got {got}")
        if len(given) != 1:
            problem = f"expected exactly one of {', '.join(KINDS)}, got {', '.join(given) or 'none'}"
            raise self.refused(given[-1] if given else "", problem)
        if empty:
            raise self.refused(empty[0], f"expected at least one entry, got {found(getattr(self, empty[0]))}")
        if self.until_round is not None and self.silence is None:
            raise self.refused("until_round", "belongs to silence: expected none without it")
        if self.until_round is not None and self.round is not None and self.until_round <= self.round:
            raise self.refused("until_round", f"expected a round after {self.round}, got {self.until_round}")

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def when(self) -> str:
        return "tick" if self.round is None else "round"

    def at(self, ticks_per_round: int) -> int:
        return (self.tick or 0) if self.round is None else (self.round - 1) * ticks_per_round


def planned(interventions: Sequence[InterventionConfig], ticks_per_round: int) -> list[tuple[int, InterventionConfig]]:
    """Return interventions, each with its tick, in the order in which they happen; those of one tick as listed."""
    return sorted([(each.at(ticks_per_round), each) for each in interventions], key=lambda planned: planned[0])


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


def numbered(agent: int, size: int, what: str) -> int:
    """Return the number of an agent, if an agent has it."""
    if agent < size:
        return agent
    raise LookupError(f"expected the number of one of {size:,} {what}, 0 to {size - 1}, got {agent}")


def numbered_nation(nation: int | str, names: Sequence[str]) -> int:
    """Return the number of a nation, by number or by name."""
    if isinstance(nation, int):
        return numbered(nation, len(names), "nations")
    if nation not in names:
        raise LookupError(f"expected one of the nations {', '.join(names)}, got {found(nation)}")
    return names.index(nation)


def with_settings(section: T, settings: Mapping[str, Any]) -> T:
    """Return a section with other values of settings in it, by their dotted paths."""
    for path, value in settings.items():
        name, _, rest = path.partition(".")
        inner = with_settings(getattr(section, name), {rest: value}) if rest else value
        section = msgspec.structs.replace(section, **{name: inner})
    return section
