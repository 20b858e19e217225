"""A distilled oracle: the logit of a model, fitted to the judgements of a run, as a file and with its error."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import yaml

from prism.errors import InputError
from prism.sharing.audit import BITS, Estimate, divergence_from, mean_with_interval
from prism.sharing.fields import Fields
from prism.sharing.records import Judged
from prism.sharing.summary import rounded
from prism.sharing.surrogate import FOLDS, Column, Surrogate, fit_surrogate, held_out

FORMAT: Final = 1
FEWEST: Final = 2 * FOLDS
"""The fewest judgements of one kind of question that a logit is fitted to."""


class FittedColumn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A column of a logit, with its coefficient of each option.

    Args:
        field: the field that it reads.
        kind: `number`, `log` or `value`, as in `prism.sharing.surrogate.Column`.
        coefficients: one for each option; only their differences mean something.
        low, high: the ends of a number: one outside counts as the end.
    """

    field: str
    kind: str
    coefficients: list[float]
    value: float | int | bool | str = ""
    mean: float = 0.0
    scale: float = 1.0
    low: float | None = None
    high: float | None = None


class FittedProduct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A product of two columns of a logit, by their numbers, with its coefficient of each option."""

    columns: tuple[int, int]
    coefficients: list[float]


class DistilledQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The logit of the questions of one state and trigger with the same options.

    Args:
        judgements: from which it was fitted.
        divergence: of the logit from judgements that it does not know, in bits: ten-fold cross-validation.
    """

    state: str
    trigger: str
    options: list[str]
    judgements: int
    divergence: Estimate
    constants: list[float]
    columns: list[FittedColumn]
    products: list[FittedProduct] = []

    def surrogate(self, names: Sequence[str]) -> Surrogate:
        """Return the logit for questions whose fields are these.

        Raises:
            ValueError: a column has no such field, or not a coefficient for each option.
        """
        for each in self.columns:
            if each.field not in names:
                raise ValueError(f"{each.field}: no such field in this configuration")
        for product in self.products:
            if not all(0 <= number < len(self.columns) for number in product.columns):
                raise ValueError(f"products: expected two columns from 0 to {len(self.columns) - 1}")
        terms = [each.coefficients for each in self.columns] + [each.coefficients for each in self.products]
        rows = [self.constants, *terms]
        if any(len(row) != len(self.options) for row in rows):
            raise ValueError(f"expected {len(self.options)} constants and coefficients, one for each option")
        if not all(math.isfinite(number) for row in rows for number in row):
            raise ValueError("expected finite coefficients")
        return Surrogate(
            options=tuple(self.options),
            columns=tuple(_column(each, names.index(each.field)) for each in self.columns),
            products=tuple(product.columns for product in self.products),
            coefficients=tuple(tuple(row[number] for row in terms) for number in range(len(self.options))),
            constants=tuple(self.constants),
            judgements=self.judgements,
        )


class Distilled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a distilled oracle.

    Args:
        format: of the file; `model`: the oracle whose judgements it stands for.
        digest: of the run that they come from.
    """

    format: int
    model: str
    digest: str
    questions: list[DistilledQuestion]

    def to_yaml(self) -> str:
        """Return the content of the file."""
        text: str = yaml.safe_dump(msgspec.to_builtins(self), sort_keys=False, width=120, default_flow_style=None)
        return text


def _column(each: FittedColumn, place: int) -> Column:
    if each.kind not in ("number", "log", "value"):
        raise ValueError(f"{each.field}: expected the kind number, log or value, got {each.kind}")
    if not (math.isfinite(each.mean) and math.isfinite(each.scale) and each.scale > 0.0):
        raise ValueError(f"{each.field}: expected a finite mean and a scale above 0, got {each.mean} and {each.scale}")
    kind: Any = each.kind
    low, high = -math.inf if each.low is None else each.low, math.inf if each.high is None else each.high
    if not low <= high:
        raise ValueError(f"{each.field}: expected low up to high, got {low} and {high}")
    return Column(
        field=each.field,
        place=place,
        kind=kind,
        value=each.value,
        mean=each.mean,
        scale=each.scale,
        low=low,
        high=high,
    )


def read_distilled(text: str, name: str) -> Distilled:
    """Return what a file holds; `name` is its name, for messages.

    Raises:
        InputError: it is no distilled oracle, or one of a newer version.
    """
    try:
        found = msgspec.convert(yaml.safe_load(text), Distilled)
    except yaml.YAMLError as error:
        raise InputError(name, f"expected YAML, as `prism distil` writes it: {' '.join(str(error).split())}") from None
    except msgspec.ValidationError as error:
        raise InputError(name, f"expected a distilled oracle, as `prism distil` writes it: {error}") from None
    if found.format != FORMAT:
        raise InputError(name, f"is a distilled oracle of format {found.format}; this version reads {FORMAT}")
    return found


def distil(judged: Iterable[Judged], fields: Fields, model: str, digest: str) -> Distilled:
    """Return the logits that are fitted to the judgements of a run, for each kind of question that has enough.

    Args:
        model: the oracle's name; `digest`: of the run.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    groups: dict[tuple[Any, ...], list[Judged]] = defaultdict(list)
    for each in judged:
        groups[each.kind].append(each)
    questions = []
    for kind in sorted(groups, key=str):
        state, trigger, *options = kind
        own = groups[kind]
        if len(own) < FEWEST:
            continue
        ordered = sorted(own, key=lambda each: each.name)
        fitted = fit_surrogate(ordered, fields, options)
        questions.append(_question((state, trigger), fitted, _cross_validated(ordered, fields, options)))
    return Distilled(format=FORMAT, model=model, digest=digest, questions=questions)


def _question(of: tuple[str, str], fitted: Surrogate, divergence: Estimate) -> DistilledQuestion:
    """Return a logit as the file has it, for the questions of a state and trigger."""
    by_column = [list(each) for each in zip(*fitted.coefficients, strict=True)]
    columns = [
        FittedColumn(
            field=column.field,
            kind=column.kind,
            value=column.value,
            mean=column.mean,
            scale=column.scale,
            low=column.low if math.isfinite(column.low) else None,
            high=column.high if math.isfinite(column.high) else None,
            coefficients=coefficients,
        )
        for column, coefficients in zip(fitted.columns, by_column, strict=False)
    ]
    products = [
        FittedProduct(columns=pair, coefficients=coefficients)
        for pair, coefficients in zip(fitted.products, by_column[len(columns) :], strict=True)
    ]
    return DistilledQuestion(
        state=of[0],
        trigger=of[1],
        options=list(fitted.options),
        judgements=fitted.judgements,
        divergence=divergence,
        constants=list(fitted.constants),
        columns=columns,
        products=products,
    )


def _cross_validated(judged: Sequence[Judged], fields: Fields, options: Sequence[str]) -> Estimate:
    """Return the divergence of logits from judgements that they were not fitted to.

    Audits are a random sample, and stand for the questions that they were drawn from. Without any, all count.
    """
    said = held_out(judged, fields, options)
    found = [(each, divergence_from(each, of_it)) for each, of_it in zip(judged, said, strict=True)]
    audits = [(each, bits) for each, bits in found if each.is_audit] or found
    weights = [1.0 / each.chance for each, _ in audits]
    return rounded(mean_with_interval([bits for _, bits in audits], weights, BITS), floor=0.0)
