"""The numbers of a run that has ended, each by its place, and runs compared by them in sentences.

A place is in the summary, the rounds or the cascades, or among the people:

| place | is |
|---|---|
| `likes`, `behaviour.actions_per_person_day` | a number of the summary |
| `rounds.posts`, `rounds.sd.inflation` | the last value of a column of the rounds, or a statistic over them |
| `cascades.alone`, `cascades.at_least.5`, `cascades.depth.mean` | a share of the cascades, or a statistic over them |
| `by.party.left.likes`, `by.party.left.likes_per_person` | a total over the people who have a value of an attribute |
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path, PurePath
from statistics import fmean
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from actors.core.errors import NoMeasureError, RunDirectoryError
from actors.core.state import RoundsTable
from actors.factory.domains import build_domain
from actors.factory.oracle_backends import calibration_label
from actors.results.observed import shapes_of_posts
from actors.runs.compatibility import OWN_PACKAGE
from actors.store.course import Posts, read_course
from actors.store.manifest import CONFIG, read_manifest, read_summary
from actors.store.rounds import ROUNDS, read_rounds
from actors.store.run import read_resolved
from prism.answers import MadeOf, caveats, setting_in_words, words_of
from prism.columns import Ints
from prism.config.attributes import measure_name, unknown_measure
from prism.distribution import IN_WORDS, is_statistic, share_of_at_least, spread_out, statistic
from prism.domain import Domain
from prism.errors import PrismError
from prism.events import MADE
from prism.expectations import guess
from prism.experiment.answer import Answer, Side, condition_in_words, described_by
from prism.scorecard.cascades import Shapes

ROUNDS_PREFIX, CASCADES, BY = "rounds.", "cascades.", "by."
MEAN, GROWTH = "mean", "growth"
"""The words between the prefix and a column, for its mean over the rounds, or its mean change in a round."""
SHORT: Final = {
    "engagement": "behaviour.engagement_per_post_seen",
    "largest_cascade": "largest_cascade.size",
    "deepest_cascade": "largest_cascade.depth",
}
"""`{name: place}` of measures that stand deeper in the summary."""
SHAPES: Final = ("size", "depth", "breadth", "virality")
"""The numbers of each cascade: its posts, the steps to its farthest post, the most posts at one depth, and its
structural virality, which only cascades of two posts or more have."""
CASCADES_KNOWN: Final = [CASCADES + each for each in ("alone", "at_least.5", *(f"{shape}.mean" for shape in SHAPES))]
"""Places among the cascades, as messages suggest them."""
PEOPLE: Final = "people"
ACTS: Final = {"posts": "publish", "replies": "reply", "reshares": "reshare", "likes": "like"}
"""`{what people do: its kind}`: what makes a post, in the order of `MADE`, and likes."""
PER_PERSON: Final = "_per_person"
TOTALS: Final = (PEOPLE, *ACTS, *(f"{name}{PER_PERSON}" for name in ACTS))
"""The totals over the people who have a value of an attribute."""


def rounds_place(place: str) -> tuple[str, str]:
    """Return the column of a place that begins with `rounds.`, and its statistic: empty for the last value."""
    named = place.removeprefix(ROUNDS_PREFIX)
    first, _, rest = named.partition(".")
    return (rest, first) if rest and (is_statistic(first) or first == GROWTH) else (named, "")


def cascades_problem(place: str) -> str:
    """Return the problem of a place that begins with `cascades.`; empty if there is no problem."""
    name, _, rest = place.removeprefix(CASCADES).partition(".")
    if name == "alone" and not rest:
        return ""
    if name == "at_least":
        is_count = rest.isdecimal() and int(rest)
        return "" if is_count else f"expected posts from 1 on after {CASCADES}at_least., got {rest!r}"
    if name in SHAPES:
        return "" if is_statistic(rest) else f"expected {IN_WORDS} after {CASCADES}{name}., got {rest!r}"
    return f"no measure {place!r}: {guess(place, CASCADES_KNOWN)}"


def by_problem(place: str, attributes: Mapping[str, Any]) -> str:
    """Return the problem of a place that begins with `by.`; empty if there is no problem."""
    parts = place.split(".")
    if len(parts) < 4:
        return f"expected {BY}ATTRIBUTE.VALUE.TOTAL, such as {BY}party.left.likes, got {place!r}"
    if parts[1] not in attributes:
        known = f": {guess(parts[1], attributes)}" if attributes else ": population.attributes declares none"
        return f"no attribute {parts[1]!r}{known}"
    values = getattr(attributes[parts[1]], "values", ())
    value = ".".join(parts[2:-1])
    if values and value not in values:
        return f"no value {value!r} of {parts[1]}: {guess(value, values)}"
    return "" if parts[-1] in TOTALS else f"no total {parts[-1]!r}: expected one of {', '.join(TOTALS)}"


def numbers_of(path: Path) -> RunNumbers:
    return RunNumbers(read_summary(path), partial(read_rounds, path), path)


class Feed(NamedTuple):
    """The posts, the agent of each like, and the personas of the people."""

    posts: Posts
    likers: Ints
    people: Sequence[Any]


class RunNumbers:
    """The numbers of a run that has ended. Files are read when the first place that needs them is asked for.

    `path`: None for a run in memory, which has no journal. `feed`: of cascades and people; None to read the directory.
    """

    def __init__(
        self, summary: Mapping[str, Any], rounds: Callable[[], RoundsTable], path: Path | None, feed: Feed | None = None
    ) -> None:
        self._summary, self._read_rounds, self._path, self._feed = summary, rounds, path, feed
        self._name = "run in memory" if path is None else str(path)

    def value(self, place: str) -> float:
        """Return the number at a place.

        Raises:
            NoMeasureError: the run has no such number.
            JournalError, ConfigError: a file of it cannot be read, or its people cannot be made again.
        """
        if place.startswith(ROUNDS_PREFIX):
            found, (_, over) = self.over_rounds(place), rounds_place(place)
            if not found:
                return self.number(place, None)
            if over in (MEAN, GROWTH):
                return self.number(place, math.fsum(found) / len(found))
            return self.number(place, statistic(found, over) if over else found[-1])
        if place.startswith(CASCADES) and "cascade_sizes" in self._summary:
            # A share of the cascades, or a statistic of a number that each of them has; 0 without any.
            if problem := cascades_problem(place):
                raise self._none(problem)
            sizes = {int(size): count for size, count in self._summary["cascade_sizes"].items()}
            name, _, rest = place.removeprefix(CASCADES).partition(".")
            if name == "alone":
                return 1.0 - share_of_at_least(sizes, 2) if sizes else 0.0
            if name == "at_least":
                return share_of_at_least(sizes, int(rest))
            values: Any
            if name == "size":
                values = spread_out(sizes)
            elif name == "virality":
                values = self._shapes.virality[self._shapes.size > 1]
            else:
                values = getattr(self._shapes, name)
            return statistic(values.tolist(), rest) if len(values) else 0.0
        if place.startswith(BY) and "cascade_sizes" in self._summary:
            if self._feed is None:
                path = self._directory("totals by attribute")
                if problem := by_problem(place, read_resolved(path / CONFIG).population.attributes):
                    raise RunDirectoryError(f"{path}: {problem}")
            _, attribute, *value, total = place.split(".")
            return self.by(attribute).get(".".join(value), dict.fromkeys(TOTALS, 0.0))[total]
        return self.number(place, self._found(place))

    def number(self, place: str, value: Any) -> float:
        """Return a value as a number, or raise a NoMeasureError."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            inner = f" with {', '.join(value)}" if isinstance(value, Mapping) else f": {value!r}"
            raise self._none(f"the measure {place!r} is no number but {type(value).__name__}{inner}")
        return float(value)

    def _none(self, problem: str) -> NoMeasureError:
        return NoMeasureError(f"{self._name}: {problem}")

    def over_rounds(self, place: str) -> list[float]:
        """Return the column of a place, or raise a NoMeasureError; for `growth`, its changes from 0 on."""
        (column, over), rounds = rounds_place(place), self._rounds
        if column not in rounds:
            is_measure = "cascade_sizes" in self._summary and measure_name(column) is not None
            meant = unknown_measure(column, ()) if is_measure else guess(column, rounds)
            raise self._none(f"no column {column!r} in {ROUNDS}: {meant}")
        values = rounds[column]
        if over != GROWTH:
            return values
        return [after - before for before, after in zip([0.0, *values], values, strict=False)]

    @cached_property
    def _rounds(self) -> RoundsTable:
        return self._read_rounds()

    def _found(self, place: str) -> Any:
        value: Any = self._summary
        for part in SHORT.get(place, place).split("."):
            if not isinstance(value, Mapping):
                raise self._none(f"no measure {place!r}: there is nothing below {value!r}")
            if part not in value:
                others = (str, bool, list, type(None))
                known = [name for name, each in value.items() if not isinstance(each, others)]
                is_social = "cascade_sizes" in self._summary
                problem = unknown_measure(place, known) if is_social else f"no measure {place!r}: {guess(part, known)}"
                raise self._none(problem)
            value = value[part]
        return value

    @cached_property
    def _shapes(self) -> Shapes:
        return shapes_of_posts(self._posts_and_likers[0])

    @cached_property
    def _posts_and_likers(self) -> tuple[Posts, Ints]:
        if self._feed is not None:
            return self._feed.posts, self._feed.likers
        course = read_course(self._directory("cascades and people"), "posts", "likes")
        return course.posts, course.likers

    def _directory(self, what: str) -> Path:
        if self._path is None:
            problem = f"{what} are worked out of the journal, which a run in memory does not keep"
            raise RunDirectoryError(f"{problem}: name a directory, as in run(config, out='runs/mine')")
        return self._path

    def by(self, attribute: str) -> dict[str, dict[str, float]]:
        """Return `{value of an attribute: {total: number}}`, the values in order, or raise a RunDirectoryError."""
        people = self._people
        declared = list(people[0].attributes) if people else []
        if attribute not in declared:
            known = guess(attribute, declared) if declared else "population.attributes declares none"
            raise self._none(f"no attribute {attribute!r}: {known}")
        values, of_person = np.unique([_text(each.attributes[attribute]) for each in people], return_inverse=True)
        posts, likers = self._posts_and_likers
        actors = {PEOPLE: np.arange(len(people))}
        actors |= {name: posts.authors[posts.kinds == kind] for kind, name in enumerate([*ACTS][: len(MADE)])}
        actors["likes"] = likers
        counts = {name: np.bincount(of_person[each], minlength=len(values)) for name, each in actors.items()}
        found = {
            str(value): {name: float(each[at]) for name, each in counts.items()} for at, value in enumerate(values)
        }
        for totals in found.values():
            totals |= {f"{name}{PER_PERSON}": totals[name] / totals[PEOPLE] for name in ACTS}
        return found

    @cached_property
    def _people(self) -> Sequence[Any]:
        """The personas of the run's people, made again; none in another domain."""
        if self._feed is not None:
            return self._feed.people
        path = self._directory("totals by attribute")
        return personas_of(build_domain(read_resolved(path / CONFIG)).domain)


def personas_of(domain: Domain) -> Sequence[Any]:
    """Return the personas of a domain's people as they are at the start; empty in a domain without people."""
    return getattr(getattr(domain, "population", None), "personas", ())


def _text(value: object) -> str:
    """Return the value of an attribute as it stands in a place: a text, a number, or `true`."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


# Runs compared in sentences, and the context of their measures: cascades, fallbacks, origin

LEVELS = ("inflation", "interest_rate", "unemployment", "gdp_growth")
"""Columns of `rounds.csv` that are levels: their course may lie above their last value."""


class Beside(NamedTuple):
    """The context of the measures of a run."""

    values: Mapping[str, float] = {}  # `{place: value}` of the measures that are compared
    fallback_share: float = 0.0  # the share of the oracle's decisions that are fallbacks, 0 to 1
    # the data that its settings are calibrated on, in words; None if they are not calibrated
    calibration: str | None = None
    prism: str = ""  # the version of PRISM that began it; empty if it is not known
    inputs: Mapping[str, str] = {}  # `{name of an input file: SHA-256}`
    seed: int = -1  # of the run; -1 if it is not known


def read_beside(path: Path, places: Iterable[str], *, with_origin: bool = True) -> Beside:
    """Return the context of the measures of a run; parts that cannot be read are left out."""
    summary, numbers, values = read_summary(path), numbers_of(path), {}
    for place in places if summary else ():  # numbers of a run under way are not comparable
        try:
            values[place] = numbers.value(place)
        except PrismError:
            continue
    found = Beside(values=values, fallback_share=summary.get("fallback_share", 0.0))
    if not with_origin:
        return found
    try:
        manifest, config = read_manifest(path), read_resolved(path / CONFIG)
    except (PrismError, OSError, msgspec.MsgspecError):
        return found
    return found._replace(
        calibration=calibration_label(config),
        prism=manifest.packages.get(OWN_PACKAGE, ""),
        inputs={PurePath(name).name: digest for name, digest in manifest.inputs.items()},
        seed=manifest.seed,
    )


def made_of(runs: Iterable[Beside]) -> MadeOf:
    prism, inputs = dict[str, None](), dict[str, str]()
    for run in runs:
        if run.prism:
            prism[run.prism] = None
        inputs |= run.inputs
    return MadeOf(prism=list(prism), inputs=inputs)


SETTINGS_SAID = 2  # the most settings by which a side is named in a sentence


def side_in_words(name: str, settings: Mapping[str, str]) -> str:
    """Return a side as it stands in a sentence, or by its name if the settings that differ are many or no words."""
    if list(settings) == ["feed.algorithm"] or not 0 < len(settings) <= SETTINGS_SAID:
        return condition_in_words(name, settings) if settings else f"in {name}"
    if any(not value or value[0] in "[{" for value in settings.values()):
        return f"in {name}"
    return f"with {' and '.join(f'{setting_in_words(key)} {value}' for key, value in settings.items())}"


def compared_runs(places: Sequence[str], sides: Mapping[str, Sequence[Path]]) -> tuple[list[Answer], str]:
    """Return at least a sentence for each measure, and their limits, versions and inputs; none without measures.

    `sides`: `{side, as it stands in a sentence: the directories of its runs}`; runs that have not ended are left
    out. Of two sides the first is the base, from which the second differs. Runs of equal seeds are matched.
    """
    found = {said: [read_beside(path, places) for path in paths] for said, paths in sides.items()}
    ended = {said: [run for run in runs if run.values] for said, runs in found.items()}
    if not places or not all(ended.values()):
        return [], ""
    shared = set.intersection(*({run.seed for run in runs} for runs in ended.values()))
    if shared:
        by_seed = {said: {run.seed: run for run in runs} for said, runs in ended.items()}
        ended = {said: [found[seed] for seed in sorted(shared)] for said, found in by_seed.items()}
    answers = []
    for place in places:
        if all(place in run.values for runs in ended.values() for run in runs):
            told = [Side(said, [run.values[place] for run in runs]) for said, runs in ended.items()]
            ordered = told[::-1] if len(told) == 2 else told  # a description tells the difference of its first side
            answers.append(described_by(words_of(place, place), ordered, is_matched=bool(shared)))
    runs = [run for each in ended.values() for run in each]
    calibrations = {said: each[0].calibration for said, each in ended.items()}
    fallbacks = {said: fmean(run.fallback_share for run in each) for said, each in ended.items()}
    return answers, " ".join([*caveats(calibrations, fallbacks, 0, 0), str(made_of(runs))])
