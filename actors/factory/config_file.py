"""Configuration files: read with the environment's settings and overrides on top."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from actors.core.files import NotRegularError, opened, read_descriptor
from actors.factory.domains import entrust, is_own, located
from actors.factory.file_kinds import RUN, telling_kind
from actors.factory.input_files import GZIP, kept_inputs, missing_inputs, note_places, with_inputs_beside
from actors.factory.own_code import find_own_domain
from prism.config import LENGTH_MAX, Config
from prism.config.load import PlacedConfig, load_interventions, load_placed_config, placed_error
from prism.errors import ConfigError, together
from prism.sharing.archetypes import declared_groupings
from prism.social.vocabulary import question_fields
from prism.text_files import decode_text

CONFIG_BYTES_MAX = 4 * LENGTH_MAX
"""The most bytes that are read of a configuration: a character takes 4 at most."""
_MANIFEST = "manifest.json"
_OWN_DESCRIPTOR = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/([0-9]{1,9})")


def read_config(
    path: str | os.PathLike[str],
    overrides: Sequence[str] | Mapping[str, object] = (),
    *,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Return the configuration in a YAML file, with the settings of the environment and the overrides on top.

    If the configuration has its own domain, the domain's module is imported, which runs its code: a user who names a
    configuration allows that. The configuration in a run's directory may come from anybody, so it is no such
    permission. If an input file is not at its path but lies beside the configuration, the returned path has that
    directory.

    Args:
        overrides: `{"population.size": 100}`, or `population.size=100` each, as the command line has them.
        environment: variables such as PRISM_SIMULATION__SEED; by default those of this process.

    Raises:
        ConfigError: there is no such file, or a setting is wrong, or a field of an archetype of people's questions,
            which a run would refuse later without the line.
        InputError: a file that a setting names is missing; here the line that names it is known.
        UntrustedCodeError: it is the configuration of a run, and names code that its user has not allowed.
    """
    file = Path(path)
    with telling_kind(file, RUN):
        variables = os.environ if environment is None else environment
        placed = _load(read_text(file), str(file), variables, overrides, file.parent)
    config = with_inputs_beside(placed.config, file.parent)
    wrong, sharing = list[ConfigError](), placed.config.oracle.sharing
    if sharing.by == "archetype" and placed.config.simulation.domain == "social":  # others must be built for that
        try:
            declared_groupings(sharing.archetype, question_fields(placed.config))
        except ConfigError as error:
            wrong.append(placed_error(error, placed.places, str(file)))
    wrong += missing_inputs(placed, config)
    if wrong:
        raise together(wrong)
    if not _is_of_run(file.parent):
        entrust(config, file.parent)
    return config


def read_settings(overrides: Sequence[str] = ()) -> Config:
    """Return the configuration without a file: the defaults, with the environment's settings and overrides on top."""
    return _load(None, "defaults", os.environ, overrides, None).config


@contextmanager
def placing(path: Path, overrides: Sequence[str]) -> Iterator[None]:
    """Name the file and the line in errors of the block that know only the key of one of these settings."""
    try:
        yield
    except ConfigError as error:
        if error.source != "configuration":
            raise
        places = _load(read_text(path), str(path), os.environ, overrides, path.parent).places
        raise placed_error(error, places, str(path)) from error.__cause__


def with_interventions(config: Config, path: Path, tick: int) -> Config:
    """Return a configuration with the interventions of a YAML file besides its own, which may happen from `tick` on."""
    return load_interventions(config, read_text(path, "expected a YAML file with interventions"), str(path), tick)


def _load(
    text: str | None,
    source: str,
    environment: Mapping[str, str],
    overrides: Sequence[str] | Mapping[str, object],
    beside: Path | None,
) -> PlacedConfig:
    """Return a configuration with the places of its settings; those of a domain of its own are checked by its type."""
    load = partial(load_placed_config, text, source, environment=environment, overrides=overrides)
    placed = load()
    if beside is not None:
        note_places(kept_inputs(placed.config), beside)
    if not is_own(placed.config):
        return placed
    if beside is None or not _is_of_run(beside):
        entrust(placed.config, beside)
    try:
        own = find_own_domain(placed.config.simulation, beside)
    except ConfigError as error:
        raise placed_error(error, placed.places, error.source) from error.__cause__
    placed = load(own=own.settings)
    return replace(placed, config=located(placed.config, own))


def _is_of_run(directory: Path) -> bool:
    """Return whether a directory is a run's, whose configuration may come from anybody."""
    return (directory / _MANIFEST).exists()


def read_text(path: Path, hint: str = "write one to start from with: prism init DIR") -> str:
    """Return the text of a file, up to the greatest length of a configuration; no more is read."""
    try:
        # A descriptor of this process may be a pipe: `prism run /dev/stdin`, or `prism run <(sed ...)` in a shell. To
        # open its path again would wait for the writer of a named pipe.
        if (own := _OWN_DESCRIPTOR.fullmatch(str(path))) is not None:
            data = read_descriptor(int(own[1] or 0), CONFIG_BYTES_MAX)
        else:
            with opened(path) as descriptor:
                data = read_descriptor(descriptor, CONFIG_BYTES_MAX)
    except FileNotFoundError:
        raise ConfigError(str(path), f"no such file; {hint}") from None
    except (NotRegularError, IsADirectoryError) as error:
        told = f"is a {error.kind if isinstance(error, NotRegularError) else 'directory'}; expected a YAML file"
        if _is_of_run(path):
            told = f"is the directory of a run: `prism resume {path}` goes on with it; {path}/config.yaml is its file"
        raise ConfigError(str(path), told) from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
    if len(data) > CONFIG_BYTES_MAX:
        raise ConfigError(str(path), f"is longer than the {LENGTH_MAX:,} characters that a configuration may have")
    if data.startswith(GZIP):
        raise ConfigError(str(path), "is packed with gzip; expected a YAML file")
    return decode_text(data, str(path))
