"""Parquet files of the results of experiments: the tidy table with types, for notebooks and databases, by pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from actors.core.files import write_file
from actors.studies.experiments.plan import Plan
from prism.experiment import Condition

PARQUET = "results.parquet"
COLUMNS: Mapping[str, str] = {
    "condition": "string",
    "seed": "int64",
    "measure": "string",
    "value": "double",
    "cell": "string",
}
"""`{column: its type}` of the columns that every experiment has; those of factors stand after `condition`."""
INT_BITS = 63


def write_parquet(out: Path, plan: Plan, values: Mapping[tuple[str, int], Mapping[str, float]]) -> bool:
    """Write the table, whole or not at all, and return whether it was written: not without pyarrow.

    Raises:
        RunDirectoryError: it cannot be written.
    """
    if find_spec("pyarrow") is None:
        return False
    import pyarrow as pa  # noqa: PLC0415  # an extra, and slow to import
    from pyarrow import parquet  # noqa: PLC0415

    names = factors_of(plan)
    kinds = {name: factor_type([levels_of(each).get(name) for each in plan.experiment.conditions]) for name in names}
    types = {"condition": COLUMNS["condition"], **kinds, **COLUMNS}
    columns: dict[str, list[Any]] = {name: [] for name in types}
    for row in _rows(plan, values, kinds):
        for name, value in zip(types, row, strict=True):
            columns[name].append(value)
    schema = pa.schema(
        [(name, pa.type_for_alias(kind)) for name, kind in types.items()],
        metadata={"question": plan.experiment.question, "plan": plan.hash},
    )
    file = io.BytesIO()
    parquet.write_table(pa.table(columns, schema=schema), file, compression="zstd")
    write_file(out / PARQUET, file.getvalue())
    return True


def factors_of(plan: Plan) -> list[str]:
    """Return the factors of the design, in its order; of a list, the settings that its conditions give."""
    return list(dict.fromkeys(name for each in plan.experiment.conditions for name in levels_of(each)))


def levels_of(condition: Condition) -> dict[str, Any]:
    """Return the level of each factor of a condition; in a list, each setting that it gives."""
    return condition.factors or condition.settings


def factor_type(levels: Sequence[Any]) -> str:
    """Return the type of a factor's column: of whole numbers, numbers, yes and no, or texts; other levels are JSON."""
    given = [level for level in levels if level is not None]
    if given and all(isinstance(level, bool) for level in given):
        return "bool"
    if any(isinstance(level, bool) or not isinstance(level, int | float) for level in given) or not given:
        return "string"
    are_whole = all(isinstance(level, int) and level.bit_length() <= INT_BITS for level in given)
    return "int64" if are_whole else "double"


def _rows(
    plan: Plan, values: Mapping[tuple[str, int], Mapping[str, float]], kinds: Mapping[str, str]
) -> Iterator[list[Any]]:
    keys = {(cell.condition, cell.seed): cell.key for cell in plan.cells}
    for condition in plan.experiment.conditions:
        levels = [_level(levels_of(condition).get(name), kind) for name, kind in kinds.items()]
        for seed in plan.experiment.seeds:
            found = values.get((condition.name, seed))
            for measure in plan.experiment.measures if found is not None else ():
                value = found[measure] if found else None
                yield [condition.name, *levels, seed, measure, value, keys[condition.name, seed]]


def _level(level: Any, kind: str) -> Any:
    if level is None or kind != "string":
        return float(level) if kind == "double" and level is not None else level
    return level if isinstance(level, str) else msgspec.json.encode(level).decode()
