"""The kind of a file by its content, for the error of a file that was given in the place of another kind."""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from actors.core.files import opened, read_descriptor
from actors.factory.graph_files import HEAD_BYTES, graph_format
from prism.config import Config
from prism.config.config import settings
from prism.errors import ConfigError, InputError
from prism.social.people.hours import COLUMNS as HOURS
from prism.social.people.margins import FIGURES
from prism.social.people.profiles import DESCRIBING
from prism.social.posts.post_file import TEXT
from prism.social.ties.edges import named_ends
from prism.text_files import SEPARATORS, binary_kind

RUN: Final = "`prism run` takes it, and the key `base` of an experiment"
EXPERIMENT: Final = "`prism experiment` takes it"
CALIBRATION: Final = "`prism calibrate` takes it"
REPLICATION: Final = "`prism replicate` takes it"
PREDICTIONS: Final = "`prism experiment seal` takes it"
QUESTIONNAIRE: Final = "`prism ask` takes it"
CHART: Final = "statechart.file takes it"
GRAPH: Final = "population.graph.path takes it"
PEOPLE: Final = "population.profiles takes it"
POSTS: Final = "population.posts.file takes it"
SHARES: Final = "population.margins takes it"
HOURLY: Final = "population.activity.hours takes it, and --against of a report"
FIGURES_OF_QUARTERS: Final = "economy.initial.path takes it, and --against of a report"
DESIGN: Final = "the key `design.file` of an experiment takes it"
_CASCADES: Final = "--against of a report takes it, and the key `data` of a calibration"

_KEYS: Final[tuple[tuple[frozenset[str], str, str], ...]] = (
    (frozenset({"question", "design"}), "an experiment", EXPERIMENT),
    (frozenset({"question", "parameters"}), "a calibration", CALIBRATION),
    (frozenset({"claim", "figures"}), "a replication", REPLICATION),
    (frozenset({"by", "predictions"}), "a file of predictions", PREDICTIONS),
    (frozenset({"questions"}), "a questionnaire", QUESTIONNAIRE),
    (frozenset({"initial", "states"}), "a chart", CHART),
)
"""`(keys at the top of a YAML file, the kind of file in words, the place that takes it)`."""
BRACKETS_MAX: Final = 20
"""The most objects of JSON around or before the first one that describes something."""


@contextmanager
def telling_kind(name: str | Path, wanted: str, path: Path | None = None) -> Iterator[None]:
    """Replace an error about a file by the kind of the file, if it is not of the wanted one; columns only add a hint.

    Args:
        name: the file as errors call it; `path`: the place of it, if that is another.
        wanted: the place that takes files of the wanted kind.

    Raises:
        InputError: the file is of another kind.
    """
    try:
        yield
    except ConfigError as error:
        if error.source != str(name):
            raise
        try:
            with opened(path or Path(name)) as descriptor:
                data = read_descriptor(descriptor, HEAD_BYTES)
            if data.startswith(b"\x1f\x8b"):
                data = zlib.decompressobj(31).decompress(data, HEAD_BYTES)
        except (OSError, zlib.error):
            raise error from None
        if data.startswith(b"PAR1"):
            raise
        kinds = [*_kinds(data)]
        is_sure = bool(kinds)
        kinds = kinds or [*_kinds_of_rows(data.decode("utf-8-sig", errors="replace"))]
        if not kinds or any(place == wanted for _, place in kinds) or error.problem.startswith(f"is {kinds[0][0]}"):
            raise
        kind, place = kinds[0]
        if is_sure:
            raise InputError(str(name), f"is {kind}: {place}") from error
        problem = f"{error.problem}; it looks like {kind}: {place}"
        raise InputError(str(name), problem, key=error.key, line=error.line) from error


def _kinds(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the kinds of a file with this beginning, each with the place that takes it."""
    if (kind := binary_kind(data)) is not None:
        yield kind, "expected text"
        return
    try:
        form = graph_format(data, "")
    except InputError:
        form = "table"
    if form != "table":
        yield f"a graph ({form})", GRAPH
        return
    text = data.decode("utf-8-sig", errors="replace")
    keys = {*re.findall(r"^([A-Za-z_]\w*):(?=\s)", text, re.MULTILINE)}
    for marks, kind, place in _KEYS:
        if marks <= keys:
            yield kind, place
    if keys and keys <= {*Config.__struct_fields__}:
        yield "the configuration of a run", RUN


def _kinds_of_rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield the likely kinds of a file whose columns, or keys of objects, are those of a text."""
    from prism.economy.series import is_series  # noqa: PLC0415  # most runs need neither
    from prism.scorecard.cascades import CASCADE_COLUMNS  # noqa: PLC0415

    columns = _columns(text)
    if {*HOURS} <= {*columns}:
        yield "a table of counts by hour", HOURLY
    if {*CASCADE_COLUMNS} <= {*columns}:
        yield "a table of cascades", _CASCADES
    if is_series(columns):
        yield "a table of quarterly figures", FIGURES_OF_QUARTERS
    if named_ends(columns) or re.match(r"(?:[#%].*\n)*(?:-?[0-9]+[ \t,;]+-?[0-9]+\s*\n){3}", text):
        yield "a table of ties", GRAPH
    if {each.path for each in settings()} & {*columns}:
        yield "a table of conditions", DESIGN
    if TEXT in columns:
        yield "a file of posts", POSTS
    if {*DESCRIBING} & {*columns}:
        yield "a list of people", PEOPLE
    if {*FIGURES} & {*columns}:
        yield "a table of shares", SHARES


def _columns(text: str) -> list[str]:
    """Return the names of the columns of a table, or the keys of the first object of JSON, in lower case."""
    if re.match(r"\s*[\[{]", text):
        first: dict[str, Any] = {}
        for bracket in islice(re.finditer(r"\{", text), BRACKETS_MAX):
            try:
                first, _ = json.JSONDecoder().raw_decode(text, bracket.start())
            except (ValueError, RecursionError):
                continue
            if not any(isinstance(value, list) and value and isinstance(value[0], dict) for value in first.values()):
                break
        return [name.strip().lower() for name in first]
    header = found[0] if (found := re.search(r"\S[^\r\n]*", text)) else ""
    rows = (next(csv.reader([header], delimiter=separator), []) for separator in SEPARATORS)
    return [name.strip().lower() for name in max(rows, key=len)]
