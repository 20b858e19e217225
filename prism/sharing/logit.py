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
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

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


class Column(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a logit, with its coefficient of each option."""

    field: str  # the field that it reads
    # `number`, `log`, or `value`: 1 where the field has the value `value`, otherwise 0
    kind: Literal["number", "log", "value"]
    coefficients: list[float] = []  # one for each option; only their differences mean something
    value: Value = ""
    # mean, scale: of a number: the value that is subtracted from it, and its divisor
    mean: float = 0.0
    scale: float = 1.0
    # low, high: of a number: its range in the judgements. A value outside counts as the nearer end: nothing is known
    # about a model's judgements there, and a straight line would soon be far off.
    low: float | None = None
    high: float | None = None

    def read(self, value: Value) -> float:
        """Return the column of a question in which the field has this value."""
        if self.kind == "value":
            return 1.0 if value == self.value else 0.0
        number = float(value) if isinstance(value, int | float) else 0.0  # a question without a context has no number
        number = _logarithm(number) if self.kind == "log" else number
        number = number if self.low is None else max(number, self.low)
        return ((number if self.high is None else min(number, self.high)) - self.mean) / self.scale


class Product(msgspec.Struct, frozen=True, kw_only=True):
    columns: tuple[int, int]
    coefficients: list[float] = []


class Logit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted logit: its options, columns, products of columns, and the constant of each option."""

    options: list[str]
    constants: list[float]
    columns: list[Column]
    products: list[Product] = []

    def predictor(self, names: Sequence[str]) -> Predictor:
        places = [names.index(column.field) for column in self.columns]
        rows = self._terms
        by_option = [(constant, [row[number] for row in rows]) for number, constant in enumerate(self.constants)]

        def predict(values: Sequence[Value]) -> tuple[float, ...]:
            read = [column.read(values[place]) for column, place in zip(self.columns, places, strict=True)]
            read += [read[one] * read[other] for one, other in (product.columns for product in self.products)]
            utilities = [constant + math.fsum(map(math.prod, zip(of, read, strict=True))) for constant, of in by_option]
            highest = max(utilities)
            weights = [math.exp(utility - highest) for utility in utilities]
            total = math.fsum(weights)
            return tuple(weight / total for weight in weights)

        return predict

    @property
    def _terms(self) -> list[list[float]]:
        return [each.coefficients for each in self.columns] + [each.coefficients for each in self.products]


def fit_logit(records: Sequence[Judged], fields: Fields, options: Sequence[str]) -> Logit:
    """Return the logit that is fitted to judgements with these options."""
    columns = list(_columns(records, fields))
    products = _products(columns, fields.multiplied)
    places = [fields.names.index(column.field) for column in columns]
    read = [
        [column.read(each.values[place]) for each in records] for column, place in zip(columns, places, strict=True)
    ]
    rows = np.ones((len(records), len(columns) + len(products) + 1))  # the last column is that of the constants
    for number, column_of_all in enumerate(read):
        rows[:, number] = column_of_all
    for number, (one, other) in enumerate(products, start=len(columns)):
        rows[:, number] = rows[:, one] * rows[:, other]
    shares = np.array([record.probabilities for record in records], dtype=np.float64) + _LEAST
    found = [_rounded(row) for row in _minimised(rows, shares / shares.sum(axis=1, keepdims=True)).T]
    return Logit(
        options=list(options),
        constants=found[-1],
        columns=[msgspec.structs.replace(column, coefficients=of) for column, of in zip(columns, found, strict=False)],
        products=[
            Product(columns=pair, coefficients=of) for pair, of in zip(products, found[len(columns) : -1], strict=True)
        ],
    )


def _minimised(rows: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _loss(
    rows: NDArray[np.float64], shares: NDArray[np.float64], penalty: NDArray[np.float64], found: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the loss that is minimised, and the probability of each option for each judgement."""
    utilities = rows @ found.T
    utilities -= utilities.max(axis=1, keepdims=True)
    logarithms = utilities - np.log(np.exp(utilities).sum(axis=1, keepdims=True))
    return float(0.5 * (penalty * found**2).sum() - (shares * logarithms).sum()), np.exp(logarithms)


def _rounded(numbers: NDArray[np.float64]) -> list[float]:
    return [round(number, _DIGITS) + 0.0 for number in numbers.tolist()]


def _products(columns: Sequence[Column], multiplied: Collection[str]) -> list[tuple[int, int]]:
    """Return the pairs of columns of these fields, a number also with itself; none if there would be very many."""
    places = [place for place, column in enumerate(columns) if column.field in multiplied]
    if len(places) > MULTIPLIED_MAX:
        return []
    return [
        (one, other)
        for number, one in enumerate(places)
        for other in places[number:]
        if columns[one].field != columns[other].field or columns[one].kind != "value"
    ]


def _columns(records: Sequence[Judged], fields: Fields) -> Iterator[Column]:
    for place, name in enumerate(fields.names):
        if name not in fields.stated:
            continue
        values = [record.values[place] for record in records]
        if any(isinstance(value, str | bool) for value in values):
            counts = Counter(values)
            common = [value for value, count in counts.items() if count >= FEWEST_OF_VALUE]
            if len(common) <= VALUES_MAX:
                # Without the most common value, which is what the constants stand for.
                others = sorted(common, key=lambda value: (-counts[value], str(value)))[1:]
                yield from (Column(field=name, kind="value", value=value) for value in others)
            continue
        numbers = [float(value) for value in values]
        kind: Literal["number", "log"] = "log" if max(map(abs, numbers)) >= LARGE else "number"
        if kind == "log":
            numbers = [_logarithm(number) for number in numbers]
        mean = math.fsum(numbers) / len(numbers)
        scale = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / len(numbers))
        if scale > 0.0:
            mean, scale = round(mean, _DIGITS), round(scale, _DIGITS) or 10.0**-_DIGITS
            low, high = round(min(numbers), _DIGITS), round(max(numbers), _DIGITS)
            yield Column(field=name, kind=kind, mean=mean, scale=scale, low=low, high=high)


def _logarithm(number: float) -> float:
    """Return the logarithm of 1 plus the size of a number, with the number's sign."""
    return math.copysign(math.log1p(abs(number)), number)
