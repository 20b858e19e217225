"""The file of an experiment: a question, a base, a design, seeds, measures, hypotheses and thresholds."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from prism.config.yaml_text import read_as
from prism.experiment.design import Condition, Design, ReadTable, check_design, check_known, conditions_of, refusal
from prism.experiment.hypothesis_tests import Hypothesis, check_hypothesis

SEED_KEY = "simulation.seed"
SEEDS_MIN = 2
CELLS_MAX = 200_000

EVERYWHERE = frozenset({"0.0.0.0", "::", "[::]", "*"})  # noqa: S104  # they are refused


class SharedOracle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `oracle` of an experiment's file. Without a value the largest of the cells' own limits counts.

    Args:
        max_concurrency: calls under way at once, over all cells and servers.
        rate_per_s: calls started a second.
        max_calls, max_tokens, max_usd: the budget, over all runs of the experiment in one directory.
        ask_once: whether requests that are the same in two cells are asked once.
        address: the address on which cells reach the gateway; another than loopback for workers on other machines.
    """

    max_concurrency: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    rate_per_s: Annotated[float, Meta(ge=0.001, le=100_000.0)] | None = None
    max_calls: Annotated[int, Meta(ge=0)] | None = None
    max_tokens: Annotated[int, Meta(ge=0)] | None = None
    max_usd: Annotated[float, Meta(ge=0.0)] | None = None
    ask_once: bool = False
    address: Annotated[str, Meta(min_length=1, max_length=255)] = "127.0.0.1"

    def __post_init__(self) -> None:
        """Refuse an address that means all of a machine: a node would take it for itself."""
        if self.address in EVERYWHERE:
            raise ValueError(f"expected the one address of this machine that all nodes reach, got {self.address}")


class Threshold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A limit for the mean of a measure over the seeds.

    Args:
        condition: its name; None for every condition.
        least, most: the limits; at least one of them.
    """

    measure: str
    condition: str | None = None
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        parts = [] if self.least is None else [f"at least {self.least:g}"]
        parts += [] if self.most is None else [f"at most {self.most:g}"]
        where = "" if self.condition is None else f" of {self.condition}"
        return f"{self.measure}{where} {' and '.join(parts)}"


class _File(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1, max_length=1000)]
    base: str
    set: dict[str, Any] = {}
    design: Design
    seeds: Annotated[int, Meta(ge=SEEDS_MIN, le=100_000)] | list[Annotated[int, Meta(ge=0, le=2**63 - 1)]]
    measures: dict[str, str]
    hypotheses: tuple[Hypothesis, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    alpha: Annotated[float, Meta(gt=0.0, le=0.5)] = 0.05
    oracle: SharedOracle = SharedOracle()


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    source: str  # the file, for errors
    question: str  # the question that it answers
    base: str  # the configuration that all conditions start from, as the file names it
    settings: dict[str, Any]  # `{dotted path: value}` for all conditions
    design: Design
    conditions: tuple[Condition, ...]  # what is compared
    seeds: tuple[int, ...]  # under which each condition is run; equal seeds are a matched pair
    measures: dict[str, str]  # `{name: where the value is found}`
    hypotheses: tuple[Hypothesis, ...]
    thresholds: tuple[Threshold, ...]
    alpha: float  # the share of false alarms that is accepted over all hypotheses together
    oracle: SharedOracle = SharedOracle()  # the limits on what all cells ask of a model together


def read_experiment(text: str, source: str, read_table: ReadTable | None = None) -> Experiment:
    """Return the experiment that a YAML text describes."""

    def checked(file: _File) -> tuple[_File, tuple[Condition, ...], tuple[int, ...]]:
        check_design(file.design)
        conditions = conditions_of(file.design, read_table)
        seeds = tuple(file.seeds) if isinstance(file.seeds, list) else tuple(range(1, file.seeds + 1))
        # Refuse contradictions between keys.
        names = [condition.name for condition in conditions]
        if len(set(seeds)) < max(SEEDS_MIN, len(seeds)):
            raise refusal("seeds", f"expected {SEEDS_MIN} different seeds or more, got {len(set(seeds)):,}")
        if (cells := len(conditions) * len(seeds)) > CELLS_MAX:
            product = f"{len(conditions):,} conditions, {len(seeds):,} seeds"
            raise refusal("seeds", f"expected at most {CELLS_MAX:,} cells, got {cells:,}: {product}")
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise refusal("design", f"two conditions have the name {twice[0]}")
        if not file.measures:
            raise refusal("measures", "expected one measure or more")
        given = next((each for each in conditions if SEED_KEY in each.settings), None)
        if given is not None or SEED_KEY in file.set:
            key = f"set.{SEED_KEY}" if given is None else key_of_setting(file.design, given, SEED_KEY)
            raise refusal(key, "is given by the key seeds")
        for place, hypothesis in enumerate(file.hypotheses):
            check_known(hypothesis.measure, list(file.measures), "measures", f"hypotheses[{place}].measure")
            check_hypothesis(hypothesis, names, f"hypotheses[{place}]")
        for place, threshold in enumerate(file.thresholds):
            key, least, most = f"thresholds[{place}]", threshold.least, threshold.most
            check_known(threshold.measure, list(file.measures), "measures", f"{key}.measure")
            if threshold.condition is not None:
                check_known(threshold.condition, names, "conditions", f"{key}.condition")
            if least is None and most is None:
                raise refusal(key, "expected least, most or both")
            if least is not None and most is not None and least > most:
                problem = f"expected least <= most, got {least:g} and {most:g}: no mean can meet both"
                raise refusal(f"{key}.least", problem)
        return file, conditions, seeds

    (file, conditions, seeds), _ = read_as(text, source, _File, checked)
    given = {name: getattr(file, name) for name in _File.__struct_fields__}
    given |= {"source": source, "settings": given.pop("set"), "conditions": conditions, "seeds": seeds}
    return Experiment(**given)


def key_of_setting(design: Design, condition: Condition, setting: str) -> str:
    """Return the key at which the file gives a condition a setting, such as `design.conditions.hot.feed.algorithm`."""
    if not any(f"{setting}.".startswith(f"{name}.") or name.startswith(f"{setting}.") for name in condition.settings):
        return f"set.{setting}"
    return f"design.conditions.{condition.name}.{setting}" if design.kind == "list" else f"design.factors.{setting}"
