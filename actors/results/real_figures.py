"""Real figures that runs are compared with: cascades, hours of the day, or quarters of an economy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from actors.factory.domains import show_of
from actors.factory.input_files import fitting_memory, read_input
from prism.config import Config
from prism.economy.moments import QUARTERS_MIN
from prism.economy.series import YEAR_QUARTERS, Figures
from prism.economy.series_file import EXPECTED, is_series, parse_series
from prism.errors import InputError
from prism.scorecard import Tree, parse_cascades
from prism.scorecard.real_data import CASCADE_COLUMNS, columns_in
from prism.social.people.hours import COLUMNS as HOUR_COLUMNS
from prism.social.people.hours import parse_accounts

KINDS = (
    f"cascades ({','.join(CASCADE_COLUMNS)}), hours ({HOUR_COLUMNS[0]} to {HOUR_COLUMNS[-1]}) or quarters ({EXPECTED})"
)


class Real(NamedTuple):
    """The real figures of the files."""

    cascades: tuple[Tree, ...] = ()
    hours: tuple[tuple[float, ...], ...] = ()
    quarters: tuple[Figures, ...] = ()
    source: str = ""


def read_real(files: Sequence[str], config: Config) -> Real:
    """Return the real figures of files, recognised by their columns; no figures without a file."""
    real, pictures = Real(), show_of(config).pictures
    for file in files:
        with fitting_memory(file):
            source = read_input(file)
            columns = columns_in(source.data, source.name)
            if set(CASCADE_COLUMNS) <= {*columns}:
                kind, real = "cascades", real._replace(cascades=parse_cascades(source.data, source.name))
            elif set(HOUR_COLUMNS) <= {*columns}:
                kind, real = "cascades", real._replace(hours=parse_accounts(source.data, source.name))
            elif is_series(columns):
                quarters = parse_series(source.data, source.name).quarters
                _check_length(quarters, source.name)
                kind, real = "quarters", real._replace(quarters=quarters, source=Path(source.name).name)
            else:
                raise InputError(source.name, f"expected the columns of {KINDS}, got {','.join(columns[:6])}", line=1)
        if kind not in pictures:
            problem = f"has figures for runs with {kind}, and these are {config.simulation.domain} runs"
            raise InputError(source.name, problem)
    return real


def _check_length(quarters: Sequence[Figures], source: str) -> None:
    """Refuse a series that is too short for moments, which begin after its first year."""
    least = YEAR_QUARTERS + QUARTERS_MIN
    if len(quarters) < least:
        raise InputError(source, f"expected at least {least} quarters, got {len(quarters)}")
