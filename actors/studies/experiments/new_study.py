"""A new study, from six answers: who, how many, what they see, what changes, what is measured, and how many seeds.

Each answer is checked at once, together with the answers before it. In the file of the experiment a comment explains
each answer beside the lines that follow from it.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from actors.core.errors import RunDirectoryError
from actors.factory.config_file import read_config
from actors.factory.domains import build_domain, is_own
from actors.factory.shipped import FILE_NAME, examples
from actors.studies.experiments.known_measures import known_measures
from actors.studies.experiments.plan import settings_hash
from prism.answers import setting_in_words, words_of
from prism.config import Config, settings
from prism.config.describe import yaml_text
from prism.config.model import ALGORITHMS
from prism.config.yaml_text import read_value
from prism.errors import ConfigError
from prism.expectations import guess
from prism.experiment import Hypothesis, read_experiment, smallest_p
from prism.quoting import as_text

ALPHA = 0.05
SEEDS_TRIED = 1000
WIDTH = 120
AS_IT_IS = "as it is"
ANSWER = "answer"
"""The source that errors about an answer name; it is not shown."""


class Who(NamedTuple):
    """A world to start from: the name of its example, a description, and the default number of agents."""

    example: str
    about: str
    many: int


WHO: Mapping[str, Who] = {
    "people": Who("default", "people on a feed, in many figures like the real world", 1000),
    "friends": Who(
        "friends", "people on a feed who are all friends of some others: quick, and good for trying out", 300
    ),
    "nations": Who("economy", "nations that set one interest rate together, for forty quarters", 5),
}


class Kind(NamedTuple):
    """The questions of a domain.

    Args:
        many: the setting for the number of agents; see: the setting for what they see.
        seen: the meaning of `see`, in words.
        changes: the changes that are offered, as `(setting, value, meaning)`.
        measures: the measures that are offered, as `{measure: meaning}`.
        seeds: the default number of seeds.
    """

    many: str
    see: str
    seen: str
    changes: Sequence[tuple[str, Any, str]]
    measures: Mapping[str, str]
    seeds: int


PEOPLE = Kind(
    many="population.size",
    see="feed.algorithm",
    seen=f"the order of the posts in a feed: {', '.join(ALGORITHMS)}, or an expression (docs/feeds.md)",
    changes=(
        ("feed.algorithm", "chronological", "the newest posts first"),
        ("feed.algorithm", "interest", "the posts first that fit the reader best"),
        ("feed.size", 20, "more posts in a session"),
        ("feed.out_of_network", 0.5, "half of the posts from people whom the reader does not follow"),
        ("population.graph.degree", 40, "more people whom each person follows"),
    ),
    measures={
        "likes": "the likes that people give",
        "reshares": "the posts that they pass on",
        "largest_cascade": "the posts of the largest cascade",
        "engagement": "the likes, replies and reshares for each post seen",
        "cascades.alone": "the share of posts that nobody answers or passes on",
    },
    seeds=10,
)
NATIONS = Kind(
    many="economy.nations",
    see="economy.initial.quarter",
    seen="the figures of the quarter in which it starts, as in 1985q1; the United States from 1959q1 to 2009q3",
    changes=(
        ("economy.taylor.inflation_weight", 1.5, "a stronger answer of the interest rate to inflation"),
        ("economy.taylor.output_weight", 0.0, "no answer of the interest rate to output"),
        ("economy.taylor.smoothing", 0.0, "nothing of the old rate is kept"),
        ("economy.preference_spread", 0.0, "nations that want the same"),
        ("economy.macro.gap_shock", 0.0, "no shocks of demand"),
    ),
    measures={
        "rounds.sd.inflation": "how much inflation goes up and down",
        "rounds.mean.inflation": "inflation, on average",
        "rounds.mean.unemployment": "unemployment, on average",
        "rounds.sd.interest_rate": "how much the interest rate goes up and down",
        "unemployment": "unemployment at the end",
    },
    seeds=20,
)


class Offer(NamedTuple):
    """A question as the terminal shows it.

    Args:
        lines: the answers to choose from, and what they mean.
        default: the answer if none is given.
    """

    lines: list[str]
    default: str


class NewStudy:
    """A study that grows by its answers, which are given in the order of `QUESTIONS`.

    Args:
        directory: where its files will be; its name is that of the study.

    Raises:
        RunDirectoryError: the study would have the name of its base.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / f"{directory.resolve().name}.yaml"
        if self.path.name == FILE_NAME:
            raise RunDirectoryError(f"{directory}: {FILE_NAME} is the name of the base: expected another directory")
        self._who, self._base = "", Path()
        self._settings: dict[str, Any] = {}
        self._changed, self._levels = "", list[Any]()
        self._measures: dict[str, str] = {}
        self._seeds = 0

    def offer(self, question: str) -> Offer:
        """Return a question as the terminal shows it after the answers so far."""
        offers: Mapping[str, Callable[[], Offer]] = {
            "who": self._offer_who,
            "many": lambda: Offer([], str(self._count())),
            "see": lambda: Offer([self._kind.seen], str(self._now(self._kind.see) or AS_IT_IS)),
            "change": self._offer_changes,
            "measure": self._offer_measures,
            "seeds": lambda: Offer(
                ["equal seeds are matched pairs; more seeds find smaller differences"], self._pairs()
            ),
        }
        return offers[question]()

    def answer(self, question: str, text: str) -> None:
        """Take an answer.

        Raises:
            PrismError: it is wrong; the message says why.
        """
        takes: Mapping[str, Callable[[str], None]] = {
            "who": self._take_who,
            "many": self._take_many,
            "see": lambda text: self._set({} if text == AS_IT_IS else {self._kind.see: text}),
            "change": self._take_change,
            "measure": self._take_measures,
            "seeds": self._take_seeds,
        }
        takes[question](text.strip())

    def files(self) -> dict[Path, bytes]:
        """Return `{path: content}` of the experiment, and of its base unless that is the user's own."""
        base = examples()[WHO[self._who].example].files(self.directory) if self._who in WHO else {}
        return {self.path: self.text().encode(), **base}

    def text(self) -> str:
        """Return the file of the experiment."""
        made = "Made by `prism new` from six answers. Change what you like: docs/experiments.md has every key."
        parts = [(made, [""]), ("", [f"question: {yaml_text(self._question())}"]), *self._world(), *self._plan()]
        blocks = ["\n".join([*_comment(comment), *lines]).rstrip() for comment, lines in parts]
        return "\n\n".join(blocks) + "\n"

    def _world(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the parts of the file about the world, each with its comment."""
        is_shipped = self._who in WHO
        base = FILE_NAME if is_shipped else os.path.relpath(self._base, self.directory)
        about = WHO[self._who].about if is_shipped else "as in a configuration of your own"
        yield f"Who: {about}.", [f"base: {yaml_text(base)}"]
        seen, rounds = self._kind.seen.partition(":")[0].partition(",")[0], self._config().simulation.rounds
        fixed = [f"  {name}: {yaml_text(value)}" for name, value in self._settings.items() if name != self._changed]
        yield (
            (
                f"How many, and what they see: {seen}. All else is as in the base, such as the {rounds:,} rounds "
                "(`simulation.rounds`)."
            ),
            ["set:", *fixed],
        )
        conditions = [f"    {yaml_text(self._name(each))}: {yaml_text({self._changed: each})}" for each in self._levels]
        yield (
            (
                f"What changes: {self._changed} alone, so that a difference can have no other reason. The others are "
                f"compared with {self._name(self._levels[0])}."
            ),
            ["design:", "  conditions:", *conditions],
        )

    def _plan(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the parts of the file about seeds, measures and hypotheses, each with its comment."""
        corrected = f", corrected for {self._tests():,} hypotheses" if self._tests() > 1 else ""
        yield (
            (
                "How many seeds. A seed has the same draws in all conditions, so its runs are a matched pair. "
                f"The smallest p value of {self._seeds:,} pairs is {self._least(self._seeds):.2g}{corrected}."
            ),
            [f"seeds: {self._seeds}"],
        )
        measures = [f"  {name}: {yaml_text(place)}" for name, place in self._measures.items()]
        yield "What is measured, of each run.", ["measures:", *measures]
        control, *others = map(self._name, self._levels)
        contrasts = [yaml_text([other, control]) for other in others]
        tested = [f"  - {{measure: {name}, contrast: {each}}}" for name in self._measures for each in contrasts]
        yield (
            (
                "What is tested. If you expect a direction for a reason, write it before the first run (`alternative: "
                "less` or `greater`): then smaller differences are found in this direction, and none in the other one."
            ),
            ["hypotheses:", *tested],
        )

    @property
    def _kind(self) -> Kind:
        return NATIONS if self._config().simulation.domain == "economy" else PEOPLE

    def _config(self, more: Mapping[str, Any] | None = None) -> Config:
        return read_config(self._base, {**self._settings, **(more or {})})

    def _set(self, changed: Mapping[str, Any]) -> None:
        """Set settings, if the world with them can be built."""
        build_domain(self._config(changed))
        self._settings |= changed

    def _now(self, setting: str) -> Any:
        value = attrgetter(setting)(self._config())
        return list(value) if isinstance(value, tuple) else value

    def _offer_who(self) -> Offer:
        width = max(map(len, WHO))
        lines = [f"{name:{width}}  {each.about}" for name, each in WHO.items()]
        return Offer([*lines, "or the path of a configuration of your own"], next(iter(WHO)))

    def _take_who(self, text: str) -> None:
        path = examples()[WHO[text].example].path if text in WHO else Path(text)
        if text not in WHO and not path.is_file():
            raise ConfigError(ANSWER, f"expected one of {', '.join(WHO)}, or the path of a configuration, got {text!r}")
        config = read_config(path)
        if is_own(config):
            problem = "a domain of your own has its own words; write its experiment by hand: docs/experiments.md"
            raise ConfigError(ANSWER, problem)
        self._who, self._base = text, path

    def _count(self) -> int:
        if self._who in WHO:
            return WHO[self._who].many
        now = self._now(self._kind.many)
        return len(now) if isinstance(now, list) else int(now)

    def _take_many(self, text: str) -> None:
        count = _whole(text)
        if self._kind is PEOPLE:
            self._set({PEOPLE.many: count})
            return
        if not 1 <= count <= 1000:
            raise ConfigError(ANSWER, f"expected 1 to 1,000 nations, got {text}")
        names, strengths = self._now("economy.nations"), self._now("economy.strengths")
        names += [f"Nation {place}" for place in range(len(names) + 1, count + 1)]
        strengths += [strengths[-1]] * (count - len(strengths))
        self._set({"economy.nations": names[:count], "economy.strengths": strengths[:count]})

    def _offers(self) -> list[tuple[str, str]]:
        """Return the changes that are offered, with their meanings: those that change something here."""
        return [
            (f"{name}={as_text(value)}", about) for name, value, about in self._kind.changes if self._now(name) != value
        ]

    def _offer_changes(self) -> Offer:
        found = self._offers()
        lines = [f"{place}  {text}  {about}" for place, (text, about) in enumerate(_aligned(found), start=1)]
        other = "or SETTING=VALUE,VALUE of your own: docs/configuration.md has all settings"
        return Offer([*lines, other], found[0][0])

    def _take_change(self, text: str) -> None:
        name, _, value = _picked(text, [each for each, _ in self._offers()]).partition("=")
        known = [each.path for each in settings()]
        if not value:
            raise ConfigError(ANSWER, f"expected SETTING=VALUE, as in {self._offers()[0][0]}, got {text!r}")
        if name not in known:
            raise ConfigError(ANSWER, f"there is no setting {name}: {guess(name, known)}")
        given = read_value(f"[{value}]", ANSWER, name)
        levels = [self._now(name), *(given if isinstance(given, list) else [given])]
        hashes = []
        for level in levels:
            config = self._config({name: level})
            build_domain(config)
            hashes.append(settings_hash(config))
        if name == "simulation.seed" or len(set(hashes)) < len(hashes):
            is_now = name == "simulation.seed" or hashes[0] in hashes[1:]
            same = f"the same runs as {as_text(levels[0])}, the present value" if is_now else "the same runs twice"
            raise ConfigError(ANSWER, f"{value} gives {same}: expected another value")
        self._changed, self._levels = name, levels

    def _offer_measures(self) -> Offer:
        found = list(_aligned(list(self._kind.measures.items())))
        lines = [f"{place}  {name}  {about}" for place, (name, about) in enumerate(found, start=1)]
        return Offer(
            [*lines, "or another number of a run, or several: docs/experiments.md#measures"], found[0][0].strip()
        )

    def _take_measures(self, text: str) -> None:
        known = known_measures(self._config())
        measures = {}
        for each in text.split(","):
            place = _picked(each.strip(), list(self._kind.measures))
            problem = "" if known is None else known.problem(place)
            if ":" in place or not place:
                problem = f"expected a number of a run, got {place!r}; a measure of your own is written in the file"
            if problem:
                raise ConfigError(ANSWER, problem)
            measures[place.removeprefix("rounds.").replace(".", "_")] = place
        self._measures = measures

    def _tests(self) -> int:
        return len(self._measures) * (len(self._levels) - 1)

    def _least(self, seeds: int) -> float:
        """Return the smallest p value that so many seeds can have, corrected for all hypotheses."""
        return min(1.0, self._tests() * smallest_p(Hypothesis(measure="", contrast=("a", "b")), seeds))

    def _enough(self) -> int:
        return next(count for count in range(2, SEEDS_TRIED) if self._least(count) <= ALPHA)

    def _pairs(self) -> str:
        return str(max(self._kind.seeds, self._enough()))

    def _take_seeds(self, text: str) -> None:
        seeds = _whole(text)
        if seeds < self._enough():
            hypotheses = "hypothesis" if self._tests() == 1 else "hypotheses"
            problem = f"{seeds:,} seeds can never show a difference, with {self._tests():,} {hypotheses}"
            raise ConfigError(ANSWER, f"{problem}: expected at least {self._enough():,}")
        self._seeds = seeds
        read_experiment(self.text(), ANSWER)

    def _name(self, level: Any) -> str:
        text = as_text(level)
        is_word = isinstance(level, str) and text.replace("-", "_").isidentifier()
        return text if is_word else f"{self._changed.rpartition('.')[2]}={text}"

    def _question(self) -> str:
        control, *others = self._levels
        words = [words_of(name, place) for name, place in self._measures.items()]
        measured = " and ".join(f"the {each.units} of {each.subject}" if each.units else each.subject for each in words)
        values = " or ".join(as_text(each) for each in others)
        return f"Does the {setting_in_words(self._changed)} change {measured}: {values} in place of {as_text(control)}?"


def _aligned(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs with first texts of the same length."""
    width = max(len(first) for first, _ in pairs)
    return [(f"{first:{width}}", second) for first, second in pairs]


def _picked(text: str, offered: Sequence[str]) -> str:
    """Return the answer that a number picks, or else the text."""
    return offered[int(text) - 1] if text.isascii() and text.isdigit() and 1 <= int(text) <= len(offered) else text


def _whole(text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise ConfigError(ANSWER, f"expected a whole number, got {text!r}") from None


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, WIDTH - 2, break_long_words=False)]
