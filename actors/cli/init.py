"""`prism init`: a configuration to start from."""

from __future__ import annotations

from pathlib import Path

import click

from actors.errors import RunDirectoryError
from prism.config import starter_yaml

FILE_NAME = "prism.yaml"


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
def init(directory: Path) -> None:
    """Write DIR/prism.yaml: every setting with its default, its range and what it means.

    An existing file is left alone.
    """
    path = directory / FILE_NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(starter_yaml())
    except FileExistsError:
        taken = path if path.exists() else directory
        raise RunDirectoryError(f"{taken}: exists already and was left as it is") from None
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be written: {error.strerror}") from None
    click.echo(f"wrote {path}\nnext: prism run {path}")
