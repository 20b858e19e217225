"""A multinomial logit over the fields of questions, fitted to judgements.

    P(j) = exp(a_j + sum over columns of b_jc x_c) / sum over options

Numbers are columns (large counts by their logarithm), in standard deviations from their mean; truth values are 1 or 0;
each value of a text with few values is a column. The fields of the archetypes are those that are thought to matter, so
their columns are also multiplied with each other: a model may judge by two of them together. Coefficients are rounded
to six decimals; their uncertainty is larger than that.

Source: McFadden, "Conditional logit analysis of qualitative choice behavior" (1974); fitted by Newton's method with
a penalty of half the squared coefficients.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from prism.columns import Floats
from prism.sharing.records import Fields, Judged, Value

VALUES_MAX: Final = 12  # the most values of a text that has columns
FEWEST_OF_VALUE: Final = 3  # the fewest judgements of a value that has a column
LARGE: Final = 20.0  # the value from which on a number counts by its logarithm
MULTIPLIED_MAX: Final = 12  # the most columns that are multiplied with each other
STEPS_MAX: Final = 100  # the most steps of a fit: a few are enough, because the loss has only one minimum
_DIGITS: Final = 6
_LEAST: Final = 1e-4  # the weight of an option that no judgement has: its coefficients must be finite

Predictor = Callable[[Sequence[Value]], tuple[float, ...]]
"""A function from the values of a question's fields to the probability of each option."""
Read = Callable[[Value], float]
"""A function from the value of a field to the value of a column."""


def fit_logit(records: Sequence[Judged], fields: Fields) -> Predictor:
    """Return the predictions of the logit that is fitted to judgements with the same options."""
    columns = list(_columns(records, fields))
    # The products of columns, a number's also with itself; none if there would be very many.
    multiplied = [at for at, (place, _, _) in enumerate(columns) if fields.names[place] in fields.multiplied]
    pairs = [
        (one, other)
        for number, one in enumerate(multiplied)
        for other in multiplied[number:]
        if columns[one][0] != columns[other][0] or columns[one][2]
    ]
    pairs = pairs if len(multiplied) <= MULTIPLIED_MAX else []

    def row_of(values: Sequence[Value]) -> list[float]:
        read = [column(values[place]) for place, column, _ in columns]
        return [*read, *(read[one] * read[other] for one, other in pairs), 1.0]

    shares = np.array([record.probabilities for record in records], dtype=np.float64) + _LEAST
    rows = np.array([row_of(record.values) for record in records])
    coefficients = np.round(_minimised(rows, shares / shares.sum(axis=1, keepdims=True)), _DIGITS).tolist()

    def predict(values: Sequence[Value]) -> tuple[float, ...]:
        row = row_of(values)
        utilities = [math.fsum(map(math.prod, zip(of_option, row, strict=True))) for of_option in coefficients]
        highest = max(utilities)
        weights = [math.exp(utility - highest) for utility in utilities]
        total = math.fsum(weights)
        return tuple(weight / total for weight in weights)

    return predict


def _minimised(rows: Floats, shares: Floats) -> Floats:
    """Return the coefficients with the largest likelihood of the shares of options, less the penalty.

    Args:
        rows: judgements by columns, the last of which is 1; `shares`: judgements by options.

    Returns:
        Options by columns.
    """
    options, width = shares.shape[1], rows.shape[1]
    # Constants have hardly a penalty: just enough that only one set of them is the best.
    penalty = np.append(np.ones(width - 1), 1e-6)
    found = np.zeros((options, width))
    loss, chances = _loss(rows, shares, penalty, found)
    for _ in range(STEPS_MAX):
        slope = (chances - shares).T @ rows + penalty * found
        curve = np.diag(np.tile(penalty, options))
        for one in range(options):
            for other in range(options):
                weights = chances[:, one] * ((one == other) - chances[:, other])
                block = np.s_[one * width : (one + 1) * width, other * width : (other + 1) * width]
                curve[block] += rows.T @ (rows * weights[:, None])
        step = np.linalg.solve(curve, slope.ravel()).reshape(found.shape)
        while (tried := _loss(rows, shares, penalty, found - step))[0] > loss and np.abs(step).max() > 1e-9:
            step /= 2.0
        found, (loss, chances) = found - step, tried
        if np.abs(step).max() < 1e-9:
            break
    return found


def _loss(rows: Floats, shares: Floats, penalty: Floats, found: Floats) -> tuple[float, Floats]:
    """Return the loss that is minimised, and the probability of each option for each judgement."""
    utilities = rows @ found.T
    utilities -= utilities.max(axis=1, keepdims=True)
    logarithms = utilities - np.log(np.exp(utilities).sum(axis=1, keepdims=True))
    return float(0.5 * (penalty * found**2).sum() - (shares * logarithms).sum()), np.exp(logarithms)


def _columns(records: Sequence[Judged], fields: Fields) -> Iterator[tuple[int, Read, bool]]:
    """Yield the columns: the place of a field, the reader of its value, and whether it is a number."""
    for place, name in enumerate(fields.names):
        if name not in fields.stated:
            continue
        values = [record.values[place] for record in records]
        if any(isinstance(value, str | bool) for value in values):
            counts = Counter(values)
            common = [value for value, count in counts.items() if count >= FEWEST_OF_VALUE]
            if len(common) <= VALUES_MAX:
                # Without the most common value, which is what the constants stand for.
                for value in sorted(common, key=lambda value: (-counts[value], str(value)))[1:]:
                    yield place, _is_value(value), False
            continue
        is_large = max(abs(float(value)) for value in values) >= LARGE
        numbers = np.array([_logarithm(float(value)) if is_large else float(value) for value in values])
        mean = math.fsum(numbers) / len(numbers)
        scale = math.sqrt(math.fsum((numbers - mean) ** 2) / len(numbers))
        if scale > 0.0:
            yield place, _number(mean, scale, float(numbers.min()), float(numbers.max()), is_large=is_large), True


def _is_value(wanted: Value) -> Read:
    return lambda value: 1.0 if value == wanted else 0.0


def _number(mean: float, scale: float, low: float, high: float, *, is_large: bool) -> Read:
    """Return the reader of a number, of which nothing is known outside of its range in the judgements.

    A value outside counts as the nearer end: a straight line would soon be far off.
    """
    mean, low, high = (round(each, _DIGITS) for each in (mean, low, high))
    scale = round(scale, _DIGITS) or 10.0**-_DIGITS

    def read(value: Value) -> float:
        number = float(value) if isinstance(value, int | float) else 0.0  # a question without a context has no number
        return (min(max(_logarithm(number) if is_large else number, low), high) - mean) / scale

    return read


def _logarithm(number: float) -> float:
    """Return the logarithm of 1 plus the size of a number, with the number's sign."""
    return math.copysign(math.log1p(abs(number)), number)
