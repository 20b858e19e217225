"""Hypotheses: comparisons of conditions that are planned, and the conditions that each of them is about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from prism.errors import SettingError
from prism.experiment.design import Condition, Design
from prism.quoting import as_text

Test = Literal["wilcoxon", "permutation", "t", "equivalence", "mann_whitney", "kruskal_wallis", "friedman"]
Alternative = Literal["two-sided", "less", "greater"]
OF_SEVERAL = ("kruskal_wallis", "friedman")  # the tests of several conditions at once; all others compare two
UNPAIRED = ("mann_whitney", "kruskal_wallis")  # the tests that take no notice of equal seeds
FRIEDMAN_LEAST = 3
LEVELS_MAX = 50  # the most levels of a factor that are compared: one with more is a range, not a list of levels


class HasFactors(Protocol):
    """A condition, or what a report keeps of one."""

    @property
    def factors(self) -> Mapping[str, Any]: ...


C = TypeVar("C", bound=HasFactors)


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comparison of conditions that was planned. It has a contrast, or conditions, or a factor.

    Args:
        measure: the measure that is compared, by its name.
        contrast: two conditions; the difference is the first one minus the second.
        conditions: several conditions.
        factor: a factor of the design, whose levels are compared.
        test: `wilcoxon` signed ranks, `permutation` of signs, paired `t`, `equivalence` by two one-sided t tests, and
            `mann_whitney` for two conditions; `kruskal_wallis` and `friedman` for several.
        alternative: of the difference; only two conditions have one, and `equivalence` has none.
        margin: the differences up to which the conditions count as equal; for `equivalence` alone.
    """

    measure: str
    contrast: tuple[str, str] | None = None
    conditions: tuple[str, ...] = ()
    factor: str | None = None
    test: Test = "wilcoxon"
    alternative: Alternative = "two-sided"
    margin: Annotated[float, Meta(gt=0.0)] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The conditions that it names: two of a contrast, several, or none for a factor."""
        return self.conditions if self.contrast is None else self.contrast

    @property
    def with_test(self) -> str:
        """The hypothesis in words, with its test: two hypotheses may differ by that alone."""
        return f"{self} ({self.test})"

    def __str__(self) -> str:
        if self.contrast is None:
            among = f"depends on {self.factor}" if self.factor else f"differs among {', '.join(self.conditions)}"
            return f"{self.measure}: {among}"
        first, second = self.contrast
        relation = {"two-sided": "differs from", "less": "is less than", "greater": "is greater than"}[self.alternative]
        if self.test == "equivalence":
            return f"{self.measure}: {first} equals {second} within {self.margin:g}"
        return f"{self.measure}: {first} {relation} {second}"


def check_hypothesis(hypothesis: Hypothesis, design: Design, conditions: Sequence[Condition], key: str) -> None:
    """Refuse a hypothesis whose parts do not go together."""
    given = [name for name in ("contrast", "conditions", "factor") if getattr(hypothesis, name)]
    if len(given) != 1:
        said = f"got {' and '.join(given)}" if given else "got none of them"
        raise SettingError("hypotheses", f"expected contrast, conditions or factor, {said}", keys=[key])
    is_several = hypothesis.contrast is None
    if is_several != (hypothesis.test in OF_SEVERAL):
        tests = " or ".join(OF_SEVERAL)
        problem = f"expected the test {tests} for {given[0]}" if is_several else f"{hypothesis.test} has no contrast"
        raise SettingError("hypotheses", problem, keys=[f"{key}.test" if hypothesis.test in OF_SEVERAL else key])
    if hypothesis.alternative != "two-sided" and (is_several or hypothesis.test == "equivalence"):
        raise SettingError("hypotheses", f"{hypothesis.test} has no alternative", keys=[f"{key}.alternative"])
    if hypothesis.factor is None:
        _check_names(hypothesis.names, conditions, f"{key}.{given[0]}")
    else:
        _check_factor(hypothesis.factor, design, conditions, f"{key}.factor")
    count = len(groups_of(hypothesis, design, conditions))
    if hypothesis.test == "friedman" and count < FRIEDMAN_LEAST:
        problem = f"friedman needs {FRIEDMAN_LEAST} conditions or more, got {count}: wilcoxon compares two"
        raise SettingError("hypotheses", problem, keys=[f"{key}.test"])
    if (hypothesis.margin is not None) != (hypothesis.test == "equivalence"):
        problem = "expected a margin for the test equivalence, and for no other"
        raise SettingError("hypotheses", problem, keys=[f"{key}.margin" if hypothesis.margin else key])
    if hypothesis.margin is not None and not math.isfinite(hypothesis.margin):
        raise SettingError("hypotheses", f"expected a finite number, got {hypothesis.margin}", keys=[f"{key}.margin"])


def groups_of(hypothesis: Hypothesis, design: Design, conditions: Sequence[Condition]) -> Mapping[str, tuple[str, ...]]:
    """Return `{group: the names of its conditions}`: the two of a contrast, the several, or the levels of a factor.

    The group of a level is all conditions that have it. Their mean under a seed is one value: so the other factors are
    averaged, and no seed counts twice. In a design of one factor at a time, the other factors are at their first
    levels.
    """
    if hypothesis.contrast is not None:
        return {name: (name,) for name in hypothesis.contrast}
    if hypothesis.factor is None:
        return {name: (name,) for name in hypothesis.conditions}
    return levels_of(hypothesis.factor, design, conditions)


def levels_of(factor: str, design: Design, conditions: Sequence[Condition]) -> dict[str, tuple[str, ...]]:
    """Return `{level: the names of its conditions}` of a factor, in the order of the design."""
    found: dict[str, list[str]] = {}
    for each in conditions_for(factor, design.kind, conditions):
        found.setdefault(as_text(each.factors[factor]), []).append(each.name)
    return {level: tuple(names) for level, names in found.items()}


def conditions_for(factor: str, kind: str, conditions: Sequence[C]) -> list[C]:
    """Return the conditions for a factor; in a one-at-a-time design, those with the others at first levels."""
    first = conditions[0].factors if kind == "one_at_a_time" else {}
    return [
        each
        for each in conditions
        if all(each.factors.get(name) == level for name, level in first.items() if name != factor)
    ]


def _check_names(names: Sequence[str], conditions: Sequence[Condition], key: str) -> None:
    known = [each.name for each in conditions]
    for name in names:
        if name not in known:
            listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            raise SettingError("conditions", f"expected one of the conditions: {listed}, got {name!r}", keys=[key])
    if len(set(names)) < max(2, len(names)):
        number = "two" if len(names) == 2 else "two or more"
        raise SettingError("hypotheses", f"expected {number} different conditions", keys=[key])


def _check_factor(factor: str, design: Design, conditions: Sequence[Condition], key: str) -> None:
    known = list(dict.fromkeys(name for each in conditions for name in each.factors))
    if factor not in known:
        said = (
            f"expected one of the factors: {', '.join(known)}" if known else f"a design of kind {design.kind} has none"
        )
        raise SettingError("hypotheses", f"{said}, got {factor!r}", keys=[key])
    levels = levels_of(factor, design, conditions)
    if not 2 <= len(levels) <= LEVELS_MAX:
        problem = f"expected a factor with 2 to {LEVELS_MAX} levels, got {len(levels):,}: its effect is in the outcome"
        raise SettingError("hypotheses", problem, keys=[key])
