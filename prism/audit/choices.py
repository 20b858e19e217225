"""A small model of recorded choices, which answers in the futures of a run in place of the language model.

It is a multinomial logit on what is seen, fitted to all recorded answers; another way of asking tilts it until its
answers have the shifts that were found. Both are the same problem: the flattest probabilities with given moments.

Source: McFadden (1974); exponential tilting, Csiszar (1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from prism.columns import Floats, Ints

RIDGE: Final = 1e-3  # keeps coefficients finite where an option is never taken
TILTED: Final = 2  # the first features, by which a shift may differ: a constant, and what the embedded choice thinks


class ChoiceModel(NamedTuple):
    options: tuple[str, ...]
    middle: Floats  # shape (features,): of each feature, over the recorded questions
    width: Floats
    base: Floats  # shape (options, 1 + features): the coefficients; the first one is the constant
    tilt: Floats  # shape (options, TILTED or fewer): what another way of asking adds

    def probabilities(self, options: Sequence[str], features: Sequence[float]) -> list[float]:
        """Return the probabilities of some options, in their order; features are what was seen, as it was fitted."""
        row = np.append(1.0, (np.asarray(features, dtype=np.float64) - self.middle) / self.width)
        places = [self.options.index(option) for option in options]
        found: list[float] = _shares(self.base[places] @ row + self.tilt[places] @ row[: self.tilt.shape[1]]).tolist()
        return found


class Recorded(NamedTuple):
    options: tuple[str, ...]
    offered: Floats  # shape (questions, options): 0 for options of the question, -inf for others
    chosen: Ints  # the number of the option that was taken
    features: Floats  # shape (questions, features)
    weights: Floats  # shape (questions,): how often each counts; another number in a resample


def fitted(recorded: Recorded) -> ChoiceModel:
    middle, width = recorded.features.mean(axis=0), recorded.features.std(axis=0)
    width[width <= 0.0] = 1.0
    design = np.column_stack([np.ones(len(recorded.chosen)), (recorded.features - middle) / width])
    taken = np.eye(len(recorded.options))[recorded.chosen]
    parts = recorded.weights / recorded.weights.sum()
    base = _solved(recorded.offered, design, taken.T @ (parts[:, None] * design), parts)
    return ChoiceModel(recorded.options, middle, width, base, np.zeros((len(base), min(TILTED, design.shape[1]))))


def tilted(model: ChoiceModel, recorded: Recorded, rows: Ints, differences: Floats) -> ChoiceModel:
    """Return a model whose answers are shifted as those of a sample.

    Args:
        rows: the numbers of the sample's questions among the recorded ones.
        differences: shape (rows, options): the probabilities in the other way, less those in the way of the run.
    """
    design = np.column_stack([np.ones(len(recorded.chosen)), (recorded.features - model.middle) / model.width])
    values = recorded.offered + design @ model.base.T
    leading = design[:, : model.tilt.shape[1]]
    parts, own = recorded.weights / recorded.weights.sum(), recorded.weights[rows]
    shift = differences.T @ (own[:, None] * leading[rows]) / max(1.0, own.sum())
    target = _shares(values).T @ (parts[:, None] * leading) + shift
    # No option has less than nothing: what the sample says beyond that is its error.
    target[:, 0] = np.maximum(target[:, 0], 1e-4)
    return model._replace(tilt=_solved(values, leading, target / target[:, 0].sum(), parts))


def _shares(values: Floats) -> Floats:
    weights = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def _solved(values: Floats, design: Floats, target: Floats, parts: Floats) -> Floats:
    """Return the coefficients, shape (options, features), whose shares have these mean products with the features.

    `parts`, shape (questions,), are the weights in the means.
    """
    from scipy.optimize import minimize  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(target.shape)
        total = values + design @ theta.T
        highest = total.max(axis=1)
        weights = np.exp(total - highest[:, None])
        sums = weights.sum(axis=1)
        slope = (parts[:, None] * weights / sums[:, None]).T @ design - target + RIDGE * theta
        value = float(parts @ (highest + np.log(sums)) - (theta * target).sum() + RIDGE / 2.0 * (theta**2).sum())
        return value, slope.ravel()

    found: Floats = minimize(loss, np.zeros(target.size), jac=True, method="L-BFGS-B").x.reshape(target.shape)
    return found
