"""Configuration files: read with the environment's settings and overrides on top."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.factory.input_files import input_paths, locate_input, no_such_file, with_inputs_beside
from prism.config import LENGTH_MAX, Config
from prism.config.load import load_placed_config
from prism.errors import ConfigError, InputError


def read_config(
    path: str | os.PathLike[str],
    overrides: Sequence[str] | Mapping[str, object] = (),
    *,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Return the configuration in a YAML file, with the settings of the environment and the overrides on top.

    Input files that are not where it says, but beside it, are named with its directory in what is returned. A missing
    one is refused here, where it is known which line names it.

    Args:
        path: the file.
        overrides: `{"population.size": 100}`, or `population.size=100` each, as the command line has them.
        environment: variables such as PRISM_SIMULATION__SEED; by default those of this process.

    Raises:
        ConfigError: there is no such file, or a setting is wrong.
        InputError: a file that a setting names is missing.
    """
    file = Path(path)
    variables = os.environ if environment is None else environment
    placed = load_placed_config(_read(file), str(file), environment=variables, overrides=overrides)
    config = with_inputs_beside(placed.config, file.parent)
    for key, name in input_paths(config).items():
        leaf = placed.leaves.get(key)
        if leaf is not None and not locate_input(name).exists():
            raise InputError(leaf.source, f"{name}: {no_such_file(name)}", key=key, line=leaf.line)
    return config


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LENGTH_MAX + 1)  # a data file that is named by mistake is not read to its end
    except FileNotFoundError:
        raise ConfigError(str(path), "no such file; write one to start from with: prism init DIR") from None
    except IsADirectoryError:
        raise ConfigError(str(path), "is a directory; expected a YAML file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
