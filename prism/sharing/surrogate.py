"""A surrogate of a model: a multinomial logit over the fields of questions, fitted to the judgements so far.

    P(j) = exp(a_j + sum over columns of b_jc x_c) / sum over options

Numbers are columns (large counts by their logarithm), in standard deviations from their mean; truth values are 1 or 0;
each value of a text with few values is a column. The fields of the archetypes are those that are thought to matter, so
their columns are also multiplied with each other: a model may judge by two of them together. Coefficients are rounded
to six decimals, which is less than what they are known to, so that the last bits of a library's arithmetic decide
nothing.

Source: McFadden, "Conditional logit analysis of qualitative choice behavior" (1974); fitted by scikit-learn with its
usual penalty of half the squared coefficients.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.sharing.fields import Fields, Value
from prism.sharing.records import Judged

VALUES_MAX: Final = 12
"""The most values of a text that has columns."""
FEWEST_OF_VALUE: Final = 3
"""The fewest judgements of a value that has a column."""
LARGE: Final = 20.0
"""The value from which on a number counts by its logarithm."""
MULTIPLIED_MAX: Final = 12
"""The most columns that are multiplied with each other."""
FOLDS: Final = 10
"""The parts of the judgements; each is left out once, to see how far away the logit of the others is."""
_DIGITS: Final = 6
_LEAST: Final = 1e-4
"""The weight of an option that no judgement has: its coefficients must be finite."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a surrogate.

    Args:
        field: the field; `place`: its number among the fields of a judgement.
        kind: `number`, `log`, or `value`: 1 where the field has the value `value`, otherwise 0.
        mean, scale: of a number: what is taken off it, and what it is divided by.
        low, high: of a number: the ends of what the judgements had. One outside counts as the end: nothing is known of
            what a model says there, and a straight line would soon be far off.
    """

    field: str
    place: int
    kind: Literal["number", "log", "value"]
    value: Value = ""
    mean: float = 0.0
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    def read(self, values: Sequence[Value]) -> float:
        """Return the column of a question with these values."""
        value = values[self.place]
        if self.kind == "value":
            return 1.0 if value == self.value else 0.0
        number = float(value) if isinstance(value, int | float) else 0.0  # a question without a context has no number
        number = min(max(_logarithm(number) if self.kind == "log" else number, self.low), self.high)
        return (number - self.mean) / self.scale


class Surrogate(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted logit.

    Args:
        options: of the questions, in order.
        columns: the columns; `products`: pairs of columns, by their numbers, that are multiplied.
        coefficients: of each option, one for each column and then for each product.
        constants: of each option.
        judgements: from which it was fitted.
    """

    options: tuple[str, ...]
    columns: tuple[Column, ...]
    products: tuple[tuple[int, int], ...] = ()
    coefficients: tuple[tuple[float, ...], ...]
    constants: tuple[float, ...]
    judgements: int

    def predict(self, values: Sequence[Value]) -> tuple[float, ...]:
        """Return the probability of each option of a question with these values."""
        row = [column.read(values) for column in self.columns]
        row += [row[one] * row[other] for one, other in self.products]
        utilities = [
            constant + math.fsum(weight * x for weight, x in zip(weights, row, strict=True))
            for constant, weights in zip(self.constants, self.coefficients, strict=True)
        ]
        highest = max(utilities)
        weights = [math.exp(utility - highest) for utility in utilities]
        total = math.fsum(weights)
        return tuple(weight / total for weight in weights)


def fit_surrogate(records: Sequence[Judged], fields: Fields, options: Sequence[str]) -> Surrogate:
    """Return the logit that is fitted to judgements with these options.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    regression, threads = library()
    columns = _columns(records, fields)
    products = _products(columns, fields.multiplied)
    rows = np.zeros((len(records), max(1, len(columns) + len(products))))
    for number, column in enumerate(columns):
        rows[:, number] = [column.read(record.values) for record in records]
    for number, (one, other) in enumerate(products, start=len(columns)):
        rows[:, number] = rows[:, one] * rows[:, other]
    shares = np.array([record.probabilities for record in records], dtype=np.float64) + _LEAST
    # An option for each row, weighted by its probability: so a judgement counts as one answer that is divided.
    fitted: Any = regression(max_iter=500, tol=1e-8)
    with threads.limit(limits=1):  # on small matrices several take six times as long
        fitted.fit(
            np.repeat(rows, len(options), axis=0),
            np.tile(np.arange(len(options)), len(records)),
            sample_weight=shares.ravel() / (1.0 + len(options) * _LEAST),
        )
    weights, constants = _of_each_option(fitted.coef_, fitted.intercept_, len(options))
    return Surrogate(
        options=tuple(options),
        columns=tuple(columns),
        products=tuple(products),
        coefficients=tuple(tuple(_rounded(row[: len(columns) + len(products)])) for row in weights),
        constants=tuple(_rounded(constants)),
        judgements=len(records),
    )


@cache
def library() -> tuple[Any, Any]:
    """Return scikit-learn's logistic regression, and what limits its threads.

    To import them takes a second. A run does it before its first tick, since it would hold up calls that are open.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # see above
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  # it comes with scikit-learn

    return LogisticRegression, ThreadpoolController()


def folds_held_out(
    records: Sequence[Judged], fields: Fields, options: Sequence[str]
) -> Iterator[dict[int, tuple[float, ...]]]:
    """Yield, one part of a cross-validation after the other, `{place of a judgement: what a surrogate says of it}`.

    The surrogate of a part was fitted to the judgements of all others.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    for fold in range(FOLDS):
        fitted = fit_surrogate([each for place, each in enumerate(records) if place % FOLDS != fold], fields, options)
        yield {place: fitted.predict(records[place].values) for place in range(fold, len(records), FOLDS)}


def held_out(records: Sequence[Judged], fields: Fields, options: Sequence[str]) -> list[tuple[float, ...]]:
    """Return what a surrogate says of each judgement that was fitted to the others, by cross-validation.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    said = dict(chain.from_iterable(fold.items() for fold in folds_held_out(records, fields, options)))
    return [said[place] for place in range(len(records))]


def _of_each_option(
    weights: NDArray[np.float64], constants: NDArray[np.float64], options: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients for each option: of two options the library gives those of the second alone."""
    if len(weights) == options:
        return weights, constants
    return np.vstack([np.zeros_like(weights), weights]), np.concatenate([[0.0], constants])


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


def _columns(records: Sequence[Judged], fields: Fields) -> list[Column]:
    columns: list[Column] = []
    for place, name in enumerate(fields.names):
        if name not in fields.stated:
            continue
        values = [record.values[place] for record in records]
        if any(isinstance(value, str | bool) for value in values):
            counts = Counter(values)
            common = [value for value, count in counts.items() if count >= FEWEST_OF_VALUE]
            if len(common) > VALUES_MAX:
                continue
            # Without the most common value, which is what the constants stand for.
            others = sorted(common, key=lambda value: (-counts[value], str(value)))[1:]
            columns += [Column(field=name, place=place, kind="value", value=value) for value in others]
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
            columns.append(Column(field=name, place=place, kind=kind, mean=mean, scale=scale, low=low, high=high))
    return columns


def _logarithm(number: float) -> float:
    """Return the logarithm of 1 plus the size of a number, with the number's sign."""
    return math.copysign(math.log1p(abs(number)), number)
