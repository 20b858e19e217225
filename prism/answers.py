"""Results in sentences: the words for measures and their differences, for a run, and for what limits a result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from prism.distribution import STATISTICS
from prism.wording import counted

_MOMENTS: Final[Mapping[str, str]] = {
    "okun_correlation": "growth and change of unemployment, correlation",
    "okun_slope": "unemployment for a percent of growth, points",
    "rate_inflation_correlation": "interest rate and inflation, correlation",
    "rate_inflation_before_correlation": "interest rate and inflation a year before, correlation",
    "rate_inflation_after_correlation": "interest rate and inflation a year later, correlation",
    "rate_change_autocorrelation": "change of the interest rate, correlation with the quarter before",
    "gdp_growth_kurtosis": "growth of output, heaviness of the tails",
    "unemployment_skew": "unemployment, skewness",
    "big_move_share": "share of quarters in which the rate moves by a point or more",
    "zero_rate_share": "share of quarters with a rate near zero",
    "deflation_share": "share of quarters with falling prices",
    "deflation_trap": "deflation trap at the end, 1 or 0",
}
_STATISTICS: Final[Mapping[str, str]] = {
    "mean": "mean",
    "sd": "standard deviation",
    "autocorrelation": "correlation with the quarter before",
}


def moment_in_words(moment: str) -> str:
    """Return what people call a moment of `prism.economy.moments`."""
    column, _, statistic = moment.rpartition("_")
    if column in INDICATORS and statistic in _STATISTICS:
        return f"{INDICATORS[column].name}, {_STATISTICS[statistic]}"
    return _MOMENTS.get(moment, moment.replace("_", " "))


def setting_in_words(key: str) -> str:
    """Return what people call a setting: `inflation weight`; a single word with its section before it: `feed size`."""
    *before, last = key.split(".")
    return " ".join([*before[-1:], last] if "_" not in last else [last]).replace("_", " ")


class Degrees(NamedTuple):
    """The words for less, more, and a multiple: `smaller`, `larger`, `as large`."""

    less: str
    more: str
    times: str


SIZE, NUMBER = Degrees("smaller", "larger", "as large"), Degrees("fewer", "more", "as many")
LEVEL, DEPTH = Degrees("lower", "higher", "as high"), Degrees("shallower", "deeper", "as deep")
PERCENT, SHARE, POINTS = "percent", "share", "percentage points"
"""Units beside nouns: a number in percent, a number from 0 to 1 that is said in percent, and a spread of percents."""
EQUAL: Final = "the same"
SAME: Final = 0.0005  # the relative difference below which two numbers are said to be the same


class MeasureWords(msgspec.Struct, frozen=True, kw_only=True):
    """The names of a measure: on an axis or in a table, and in a sentence."""

    subject: str  # the subject of its sentence: `the largest cascade`
    scale: str = ""  # its unit behind its name, as axes and tables have it: `% a year`; empty for a count
    verb: str = "was"  # in the past tense: `had`, `was`
    unit: str = ""  # a noun for one, `PERCENT`, `SHARE`, `POINTS`, or nothing
    units: str = ""  # the noun for several; by default `unit` with an s
    degrees: Degrees = LEVEL  # the words for a difference

    @property
    def name(self) -> str:
        """Its name on an axis or in a table: `largest cascade`."""
        return self.subject.removeprefix("the ")

    def __str__(self) -> str:
        return f"{self.name}, {self.scale}" if self.scale else self.name

    def amount(self, value: float, *, bare: bool = False) -> str:
        """Return a value with its unit; `bare` leaves out a noun that was said before."""
        if self.unit == SHARE:
            return f"{figure(100 * value)}%"
        if self.unit == PERCENT:
            return f"{figure(value)}%"
        if not self.unit or bare:
            return figure(value)
        noun = POINTS if self.unit == POINTS else self.unit if value == 1 else self.units or f"{self.unit}s"
        return f"{figure(value)} {noun}"

    def change(self, first: float, second: float) -> str:
        """Return the difference of the first from the second in words: `78% smaller`, `0.4 percentage points lower`."""
        difference = first - second
        if abs(difference) <= SAME * max(abs(first), abs(second)):
            return EQUAL
        word = self.degrees.more if difference > 0 else self.degrees.less
        if self.unit in (PERCENT, SHARE):
            return f"{figure(abs(difference) * (100 if self.unit == SHARE else 1))} {POINTS} {word}"
        if first < 0 or second <= 0:
            return f"{self.amount(abs(difference), bare=True)} {word}"
        if first >= 3 * second:
            return f"{figure(first / second, 2)} times {self.degrees.times}"
        return f"{figure(100 * abs(difference) / second, 2)}% {word}"


def figure(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits and no zeros at its end; whole from 100 on."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.4f}".rstrip("0").rstrip(".") if "e" in text and abs(value) >= 1e-4 else text


_ACTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "posts": ("wrote", "post", "posts"),
    "replies": ("wrote", "reply", "replies"),
    "reshares": ("made", "reshare", "reshares"),
    "likes": ("gave", "like", "likes"),
}
"""`{what people do: (verb, noun for one, noun for several)}`."""
_RATE: Final = "% a year"
_ECONOMY: Final[dict[str, MeasureWords]] = {
    "interest_rate": MeasureWords(subject="the interest rate", unit=PERCENT, scale=_RATE),
    "inflation": MeasureWords(subject="inflation", unit=PERCENT, scale="% over the year"),
    "gdp_growth": MeasureWords(subject="growth of output", unit=PERCENT, scale=_RATE),
    "unemployment": MeasureWords(subject="unemployment", unit=PERCENT, scale="% of the labour force"),
    "total_economic_value": MeasureWords(subject="total economic value", scale="units of account"),
    "proposed": MeasureWords(subject="proposals", verb="were", degrees=NUMBER),
    "accepted": MeasureWords(subject="accepted proposals", verb="were", degrees=NUMBER),
    "rejected": MeasureWords(subject="rejected proposals", verb="were", degrees=NUMBER),
    "applied": MeasureWords(subject="applied proposals", verb="were", degrees=NUMBER),
}
_LARGEST = MeasureWords(subject="the largest cascade", verb="had", unit="post", scale="posts", degrees=SIZE)
_DEEPEST = MeasureWords(subject="the deepest cascade", verb="had", unit="step", scale="steps", degrees=DEPTH)
_MEAN = MeasureWords(subject="the mean cascade", verb="had", unit="post", degrees=SIZE)
_ALONE = MeasureWords(subject="the share of posts without a reply or reshare", unit=SHARE)
_NAMED: Final[Sequence[tuple[MeasureWords, tuple[str, ...]]]] = (
    (_LARGEST, ("largest_cascade", "largest_cascade.size", "cascades.size.max")),
    (_DEEPEST, ("deepest_cascade", "cascades.depth.max")),
    (msgspec.structs.replace(_DEEPEST, subject="the largest cascade"), ("largest_cascade.depth",)),
    (_ALONE, ("cascades.alone", "cascades_alone")),
    (_MEAN, ("cascades.size.mean", "cascade_size_mean")),
    (
        msgspec.structs.replace(_MEAN, subject="the median cascade"),
        ("cascades.size.median", "cascade_size_median"),
    ),
    (MeasureWords(subject="engagement per post seen"), ("engagement", "behaviour.engagement_per_post_seen")),
    (MeasureWords(subject="the share of fallbacks among choices", unit=SHARE), ("fallback_share",)),
)
MEASURES: Final[Mapping[str, MeasureWords]] = {place: words for words, places in _NAMED for place in places} | _ECONOMY
"""`{place of a measure or column of rounds.csv: its words}`, for sentences, tables, axes and notebooks alike."""
INDICATORS: Final = {name: each for name, each in _ECONOMY.items() if each.scale}
"""The indicators of an economy, by their columns of `rounds.csv`."""
RATES: Final = tuple(name for name, each in INDICATORS.items() if each.unit == PERCENT)
"""The indicators in percent."""
_UNITS: Final = {"size": ("post", SIZE), "depth": ("step", DEPTH), "breadth": ("post", SIZE), "virality": ("", LEVEL)}
"""`{number of a cascade: (its unit, the words for a difference)}`."""


def named(column: str, among: Collection[str] = ()) -> MeasureWords:
    """Return what people call a column of `rounds.csv` or a total; its own words if it has no other name.

    Args:
        among: all columns or totals beside it. Those of an economy are known by its rates: another world may have an
            `unemployment` that is no percentage.
    """
    if column in MEASURES and (column not in _ECONOMY or all(name in among for name in RATES)):
        return MEASURES[column]
    return _plain(column)


def _plain(name: str) -> MeasureWords:
    return MeasureWords(subject=name.replace("_", " "))


def words_of(name: str, place: str) -> MeasureWords:
    """Return the words for a measure.

    Args:
        name: the measure's own name, which stands for it where nothing better is known.
        place: where it is found.
    """
    if place.startswith("rounds."):
        rest = place.removeprefix("rounds.")
        over, _, column = rest.partition(".")
        if not column:
            return words_of(rest, rest)
        words = _of_summary(column, column)
        plain = words.subject.removeprefix("the ") if words.unit == PERCENT else column.replace("_", " ")
        if over == "growth":
            return MeasureWords(subject=f"the growth of {plain} in a round", degrees=words.degrees)
        if over == "sd":
            unit = POINTS if words.unit == PERCENT else ""
            return MeasureWords(subject=f"the standard deviation of {plain} over the rounds", unit=unit)
        unit = PERCENT if words.unit == PERCENT else ""
        return MeasureWords(subject=f"{statistic_in_words(over)} {plain} over the rounds", unit=unit)
    words = _of_summary(name, place)
    return msgspec.structs.replace(words, subject=f"{words.subject} at the end") if words.unit == PERCENT else words


def _of_summary(name: str, place: str) -> MeasureWords:
    if place in MEASURES:
        return MEASURES[place]
    if place in _ACTS:
        verb, one, several = _ACTS[place]
        return MeasureWords(subject="people", verb=verb, unit=one, units=several, degrees=NUMBER)
    first, _, rest = place.partition(".")
    if first == "cascades" and rest:
        shape, _, over = rest.partition(".")
        if shape == "at_least":
            return MeasureWords(subject=f"the share of cascades of at least {over} posts", unit=SHARE)
        if shape not in _UNITS:
            return _plain(name)
        unit, degrees = _UNITS[shape]
        return MeasureWords(subject=f"{statistic_in_words(over)} {shape} of cascades", unit=unit, degrees=degrees)
    if first == "by" and rest:
        attribute, *value, total = rest.split(".")
        per_person = total.endswith("_per_person")
        act = _ACTS.get(total.removesuffix("_per_person"))
        if act is None:
            return _plain(name)
        whose = f"people of {attribute} {'.'.join(value)}"
        subject = f"each of the {whose}" if per_person else whose
        return MeasureWords(subject=subject, verb=act[0], unit=act[1], units=act[2], degrees=NUMBER)
    return _plain(name)


def statistic_in_words(name: str) -> str:
    """Return a statistic as it stands before a noun: `the median`, `the 90% quantile of the`."""
    if name in STATISTICS:
        return STATISTICS[name]
    return f"the {int(name.removeprefix('q'))}% quantile of the" if name[1:].isdecimal() else name


MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0
_ONE_RUN = "This is one run under one seed: another seed gives other numbers."


def run_in_words(  # what happened, and what limits it
    world: Mapping[str, Any],
    *,
    agents: int,
    rounds: int,
    ticks_beyond: int = 0,
    simulated_s: float,
    calibration: str | None,
    fallbacks: float,
    own: str = "",
) -> list[str]:
    """Return what happened in a run, and what limits it, a sentence each; empty for a domain without words.

    Args:
        world: the totals of its world.
        rounds: whole rounds that were run; `ticks_beyond`: the ticks after them.
        simulated_s: the simulated time of the run.
        calibration: what it is calibrated on, in words; None if it is not.
        fallbacks: the share of its choices that were made without the oracle, 0 to 1.
        own: the domain's own sentence on its run, by `prism.domain.HasWords`; empty if it has none.
    """
    if own:
        told = [own]
    elif "cascade_sizes" in world:
        lengths = [counted(rounds, "round") if rounds else "", counted(ticks_beyond, "tick") if ticks_beyond else ""]
        length = " and ".join(filter(None, lengths)) or "0 rounds"
        told = list(_people(world, agents, f"{length} ({_time(simulated_s)})"))
    elif all(name in world for name in RATES):
        told = list(_economy(world, rounds))
    else:
        return []
    share = f"{figure(100 * fallbacks, 2)}% of the choices are fallbacks, made without the oracle."
    first = [share] if fallbacks else []
    return [*first, *told, _ONE_RUN, *caveats({"": calibration}, {}, 0, 0)]


def _people(world: Mapping[str, Any], agents: int, length: str) -> Iterator[str]:
    people = counted(agents, "person", "people")
    wrote = f"{counted(world['posts'], 'post')} and {counted(world['replies'], 'reply', 'replies')}"
    made = f"made {counted(world['reshares'], 'reshare')} and gave {counted(world['likes'], 'like')}"
    yield f"In {length} {people} wrote {wrote}, {made}."
    if world["posts"]:
        largest, alone = world["largest_cascade"]["size"], world["cascades_alone"]
        if largest < 2:
            yield "Nobody answered or reshared a post."
            return
        yield (
            f"The largest cascade had {counted(largest, 'post')}, the median cascade "
            f"{figure(world['cascade_size_median'])}; {figure(100 * alone, 2)}% of the posts got no reply or reshare."
        )


def _economy(world: Mapping[str, Any], rounds: int) -> Iterator[str]:
    values = [f"{MEASURES[name].subject} was {figure(world[name])}%" for name in RATES]
    yield f"After {counted(rounds, 'quarter')} {', '.join(values[:-1])} and {values[-1]}."
    proposed, applied = world.get("proposed", 0), world.get("applied", 0)
    if proposed:
        yield f"Of {counted(proposed, 'proposal')}, {applied:,} {'was' if applied == 1 else 'were'} applied."


def _time(seconds: float) -> str:
    """Return simulated time in words, in the largest unit of which there are two or more; else in seconds."""
    for size, unit in ((DAY_S, "days"), (HOUR_S, "hours"), (MINUTE_S, "minutes")):
        if seconds >= 2 * size:
            return f"{figure(seconds / size)} {unit}"
    return f"{figure(seconds)} seconds"


def caveats(
    calibrations: Mapping[str, str | None], fallbacks: Mapping[str, float], missing: int, exploratory: int
) -> list[str]:
    """Return what limits every answer of an experiment or a comparison, a sentence each.

    Args:
        calibrations: `{condition as it stands in a sentence: what its world is calibrated on, or None}`.
        fallbacks: `{condition as it stands in a sentence: the share of choices made without the oracle}`.
        missing: cells without a result.
        exploratory: hypotheses that were made after the first result.
    """
    labels = list(dict.fromkeys(calibrations.values()))
    found = []
    if labels == [None]:
        found.append("The world is not calibrated on data: it shows directions, and not the sizes of a real world.")
    elif labels:
        said = {name: label or "not calibrated" for name, label in calibrations.items()}
        one = [str(labels[0])] if len(labels) == 1 else [f"{name} {label}" for name, label in said.items()]
        found.append(f"The world is {'; '.join(one)}.")
    if any(fallbacks.values()):
        said_of = ", ".join(f"{figure(100 * share, 2)}% {name}" for name, share in fallbacks.items())
        found.append(f"Some choices were made without the oracle, by a fallback: {said_of}.")
    if missing:
        have = "has" if missing == 1 else "have"
        found.append(f"{counted(missing, 'cell')} {have} no result, so the means may be of unlike runs.")
    if exploratory:
        were, need = ("was", "needs") if exploratory == 1 else ("were", "need")
        noun = counted(exploratory, "comparison")
        found.append(f"{noun} {were} not planned before the first result, and {need} new seeds to count.")
    return found


class MadeOf(msgspec.Struct, frozen=True, kw_only=True):
    prism: list[str]  # the versions of PRISM
    inputs: dict[str, str]  # `{name of an input file: SHA-256}`

    def __str__(self) -> str:
        files = ", ".join(self.inputs)
        version = ", ".join(self.prism) or "of an unknown version"
        return f"PRISM {version}; {f'inputs: {files}' if files else 'no input files'}."
