"""The limits of results in sentences: worlds without data behind them, fallbacks, missing cells; and their origin."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from prism.answers.measure_words import figure
from prism.wording import counted


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
        one = [f"{labels[0]}"] if len(labels) == 1 else [f"{name} {label}" for name, label in said.items()]
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
    """The program and the files that results follow from.

    Args:
        prism: the versions of PRISM.
        inputs: `{name of an input file: SHA-256}`.
    """

    prism: list[str]
    inputs: dict[str, str]

    def __str__(self) -> str:
        files = ", ".join(f"{name} {digest[:12]}" for name, digest in self.inputs.items())
        version = ", ".join(self.prism) or "of an unknown version"
        return f"PRISM {version}; {f'inputs: {files}' if files else 'no input files'}."
