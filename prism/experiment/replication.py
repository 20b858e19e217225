"""The file of a replication: a published study, the experiment that does it again, and the published figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prism.config.places import read_as
from prism.errors import SettingError
from prism.experiment.experiment_file import Experiment

PUBLISHED = ("value", "range", "direction", "computed")  # the keys with what was published; each figure has one of them

Ends = tuple[float, float]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published figure, and the number of the experiment that answers to it.

    Args:
        source: the table, figure or page that it is from.
        measure: a measure of the experiment, or one over its worlds.
        condition: the condition whose mean answers to it.
        contrast: two conditions instead: the difference is the first one minus the second.
        value: the published number.
        range: two ends between which it lies: where it was rounded, or read off a picture.
        direction: the sign of the mean or of the difference, where the study claims a sign and no number.
        computed: `module:function`, which computes from the data the number, or the number and its standard error.
        se: its standard error.
        interval: its 95% interval, instead of a standard error.
        worlds: the number of runs that it summarises, where no noise was published.
        fitted: whether the experiment was fitted to it; otherwise it is a prediction.
    """

    source: Text
    measure: str
    condition: str | None = None
    contrast: tuple[str, str] | None = None
    value: float | None = None
    range: Ends | None = None
    direction: Literal["greater", "less"] | None = None
    computed: str | None = None
    se: Annotated[float, Meta(ge=0.0)] | None = None
    interval: Ends | None = None
    worlds: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    fitted: bool = False


class Replication(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a replication's file.

    Args:
        claim: what the study found, in a sentence.
        study: the study: authors, year, title, journal.
        experiment: the file of the experiment, beside this one.
        differs: what is not as in the study, a sentence each.
        data: a file that is not part of PRISM; `data_from`: where it is found.
        over_worlds: `{measure: module:function}` of numbers that are worked out from all runs of a condition.
        figures: `{the figure in words: what was published}`.
        remarks: remarks on the results, such as the reason for a miss; a sentence each.
    """

    claim: Text
    study: Text
    experiment: Text
    differs: list[Text] = []
    data: Text | None = None
    data_from: str = ""
    over_worlds: dict[str, str] = {}
    figures: Annotated[dict[str, Published], Meta(min_length=1)]
    remarks: list[Text] = []


def read_replication(text: str, source: str) -> Replication:
    """Return the replication that a YAML text describes."""
    return read_as(text, source, Replication, _checked)[0]


def check_answers(replication: Replication, experiment: Experiment) -> None:
    """Refuse a figure for which the experiment has no number."""
    conditions = [each.name for each in experiment.conditions]
    measures = [*experiment.measures, *replication.over_worlds]
    if twice := [name for name in replication.over_worlds if name in experiment.measures]:
        raise _wrong(f"over_worlds.{twice[0]}", "is the name of a measure of the experiment, too")
    for name, figure in replication.figures.items():
        if figure.measure not in measures:
            problem = f"expected one of the measures: {', '.join(measures)}, got {figure.measure!r}"
            raise _wrong(f"figures.{name}.measure", problem)
        key = "condition" if figure.contrast is None else "contrast"
        for condition in figure.contrast or (figure.condition,):
            if condition not in conditions:
                problem = f"expected one of the conditions: {', '.join(conditions)}, got {condition!r}"
                raise _wrong(f"figures.{name}.{key}", problem)


def _checked(replication: Replication) -> Replication:
    for name, figure in replication.figures.items():
        _check_figure(figure, f"figures.{name}", has_data=replication.data is not None)
    return replication


def _check_figure(figure: Published, key: str, *, has_data: bool) -> None:
    _check_one_of(figure, ("condition", "contrast"), key)
    _check_one_of(figure, PUBLISHED, key)
    if figure.contrast is not None and figure.contrast[0] == figure.contrast[1]:
        raise _wrong(f"{key}.contrast", "expected two different conditions")
    if figure.computed is not None and not has_data:
        raise _wrong(f"{key}.computed", "is computed from the file at the key data, which is not given")
    noise = [name for name in ("se", "interval") if getattr(figure, name) is not None]
    if len(noise) > 1 or (noise and (figure.direction or figure.computed)):
        raise _wrong(f"{key}.{noise[0]}", "expected se or interval, and neither with direction or computed")
    if figure.worlds > 1 and (noise or figure.direction):
        raise _wrong(f"{key}.worlds", "is for a number without published noise: no se, interval or direction")
    _check_numbers(figure, key)


def _check_numbers(figure: Published, key: str) -> None:
    for name in ("range", "interval"):
        ends: Ends | None = getattr(figure, name)
        if ends is not None and not -math.inf < ends[0] < ends[1] < math.inf:
            raise _wrong(f"{key}.{name}", f"expected two finite numbers, the lower one first, got {list(ends)}")
    for name in ("value", "se"):
        number: float | None = getattr(figure, name)
        if number is not None and not math.isfinite(number):
            raise _wrong(f"{key}.{name}", f"expected a finite number, got {number}")


def _check_one_of(figure: Published, names: Sequence[str], key: str) -> None:
    given = [name for name in names if getattr(figure, name) is not None]
    if len(given) != 1:
        said = f"got {' and '.join(given)}" if given else "got none of them"
        raise _wrong(key, f"expected {', '.join(names[:-1])} or {names[-1]}, {said}")


def _wrong(key: str, problem: str) -> SettingError:
    return SettingError("replication", problem, keys=[key])
