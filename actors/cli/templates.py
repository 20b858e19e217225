"""Templates of configurations, one for each domain: its first settings, or all of them, explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter

import msgspec

from actors.factory.shipped import examples
from prism.config import FIRST_SETTINGS, load_config, settings, starter_yaml
from prism.config.describe import yaml_text

LINE = re.compile(r"( *)(\w+):(?: (.*))?")


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A template: the differences of a domain's file from the file with all settings at their defaults.

    Args:
        about: what is simulated, in words.
        first: the settings that a first study changes, besides those in `values`.
        head: the comment at the top of a file with these, and `head_of_all`: that of a file with all settings.
        values: `{setting: (its value, the reason for it)}`.
        without: sections that have no meaning in this domain.
    """

    about: str
    first: frozenset[str]
    head: str
    head_of_all: str
    values: dict[str, tuple[str, str]] = {}
    without: frozenset[str] = frozenset()

    def text(self, *, has_all: bool) -> str:
        """Return the file's text, with all settings or the first ones."""
        only = None if has_all else self.first | self.values.keys()
        head, *sections = starter_yaml(only, self.head_of_all if has_all else self.head).rstrip("\n").split("\n\n")
        return "\n\n".join([head, *self._kept(sections)]) + "\n"

    def _kept(self, sections: list[str]) -> Iterator[str]:
        path: list[str] = []
        for section in sections:
            lines = section.split("\n")
            header = next(match for line in lines if (match := LINE.fullmatch(line)))
            path = [*path[: len(header[1]) // 2], header[2]]
            if not any(".".join(path[:depth]) in self.without for depth in range(1, len(path) + 1)):
                yield "\n".join(self._set(line, ".".join(path)) for line in lines)

    def _set(self, line: str, section: str) -> str:
        setting = LINE.fullmatch(line)
        if setting is None or (chosen := self.values.get(f"{section}.{setting[2]}")) is None:
            return line
        (indent, name, default), (value, why) = setting.groups(), chosen
        return f"{indent}# not the default, {default}: {why}\n{indent}{name}: {value}"


_PEOPLE = """\
2,000 people on a feed: the default world, and the settings that a first study changes. There are more settings:
`prism init --all DIR` writes them all, and docs/settings.md lists them. An absent key keeps its default. Why the
default world is as it is: `prism init --example default DIR`."""

_ALL_PEOPLE = """\
2,000 people on a feed: the default world, and every setting that there is. Delete what you do not change, unless it
says that it is not the default: an absent key keeps its default. `null` is how YAML writes none."""


def _default_world() -> dict[str, tuple[str, str]]:
    """Return the settings of the default world that differ from their defaults."""
    world = load_config(examples()["default"].path.read_text(encoding="utf-8"))
    found = {setting.path: (setting.default, yaml_text(attrgetter(setting.path)(world))) for setting in settings()}
    return {path: (value, "of the default world") for path, (default, value) in found.items() if value != default}


_ECONOMY = """\
An economy: five nations that set one interest rate together, a quarter a tick, for ten years. It needs no server:
with `--set oracle.backend=ollama` a language model plays the nations. Equations and sources: docs/economy.md."""

TEMPLATES = {
    "social": Template(
        about="2,000 people on a feed",
        first=frozenset(FIRST_SETTINGS),
        head=_PEOPLE,
        head_of_all=_ALL_PEOPLE,
        values=_default_world(),
    ),
    "economy": Template(
        about="five nations that set an interest rate together, for forty quarters",
        first=frozenset(
            {
                "simulation.seed",
                "oracle.backend",
                "llm.model",
                "economy.nations",
                "economy.strengths",
                "economy.taylor.inflation_target",
                "run.question",
            }
        ),
        head=f"""\
{_ECONOMY}

The settings that a first study changes. There are more: `prism init --domain economy --all DIR` writes them all, and
docs/settings.md lists them. An absent key keeps its default.""",
        head_of_all=f"""\
{_ECONOMY}

Every setting that an economy has. Delete what you do not change, unless it says that it is not the default: an absent
key keeps its default. `null` is how YAML writes none.""",
        values={
            "simulation.domain": ("economy", "nations, not people"),
            "simulation.rounds": ("40", "forty quarters"),
            "simulation.ticks_per_round": ("1", "a quarter is one tick"),
            "simulation.tick_seconds": ("7889400.0", "a quarter of 365.25 days"),
            "oracle.deadline_s": ("600.0", "no answer of a model within this ends the run, to be resumed"),
            "llm.num_ctx": ("4096", "a question with a proposal and its reasons, and an answer with its own"),
            "economy.taylor.smoothing": ("0.8", "as much as central banks keep of the old rate"),
            "economy.macro.gap_shock": ("0.82", "as large as in history; 0 is a calm economy"),
            "economy.macro.inflation_shock": ("2.1", "as large as in history; 0 is a calm economy"),
            "economy.macro.unemployment_shock": ("0.24", "as large as in history; 0 ties work to output"),
        },
        without=frozenset({"population", "feed", "statechart", "oracle.choice"}),
    ),
}
"""`{domain: its template}`."""
