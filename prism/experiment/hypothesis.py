"""Hypotheses: comparisons of two conditions that are planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prism.errors import SettingError
from prism.experiment.design import check_contrast

Test = Literal["wilcoxon", "t", "equivalence", "mann_whitney"]
Alternative = Literal["two-sided", "less", "greater"]
UNPAIRED = ("mann_whitney",)  # the tests that take no notice of equal seeds


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comparison of two conditions that was planned.

    Args:
        measure: the measure that is compared, by its name.
        contrast: two conditions; the difference is the first one minus the second.
        test: `wilcoxon` signed ranks, paired `t`, `equivalence` by two one-sided t tests, and `mann_whitney` without
            pairs.
        alternative: of the difference; `equivalence` has none.
        margin: the differences up to which the conditions count as equal; for `equivalence` alone.
    """

    measure: str
    contrast: tuple[str, str]
    test: Test = "wilcoxon"
    alternative: Alternative = "two-sided"
    margin: Annotated[float, Meta(gt=0.0)] | None = None

    @property
    def with_test(self) -> str:
        """The hypothesis in words, with its test: two hypotheses may differ by that alone."""
        return f"{self} ({self.test})"

    def __str__(self) -> str:
        first, second = self.contrast
        relation = {"two-sided": "differs from", "less": "is less than", "greater": "is greater than"}[self.alternative]
        if self.test == "equivalence":
            return f"{self.measure}: {first} equals {second} within {self.margin:g}"
        return f"{self.measure}: {first} {relation} {second}"


def check_hypothesis(hypothesis: Hypothesis, conditions: Sequence[str], key: str) -> None:
    """Refuse a hypothesis whose parts do not go together."""
    check_contrast(hypothesis.contrast, conditions, f"{key}.contrast")
    if hypothesis.alternative != "two-sided" and hypothesis.test == "equivalence":
        raise SettingError("hypotheses", "equivalence has no alternative", keys=[f"{key}.alternative"])
    if (hypothesis.margin is not None) != (hypothesis.test == "equivalence"):
        problem = "expected a margin for the test equivalence, and for no other"
        raise SettingError("hypotheses", problem, keys=[f"{key}.margin" if hypothesis.margin else key])
