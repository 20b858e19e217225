"""`prism init`: a configuration to start from."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.templates import TEMPLATES
from actors.core.errors import RunDirectoryError

FILE_NAME = "prism.yaml"


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--domain",
    type=click.Choice(list(TEMPLATES)),
    default=next(iter(TEMPLATES)),
    show_default=True,
    help=f"What is simulated. {'; '.join(f'{name}: {each.about}' for name, each in TEMPLATES.items())}.",
)
def init(directory: Path, domain: str) -> None:
    """Write DIR/prism.yaml: every setting with its value, its range and what it means.

    It runs as it is, without a server. An existing file is left alone.
    """
    path = directory / FILE_NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATES[domain].text())
    except FileExistsError:
        taken = path if path.exists() else directory
        raise RunDirectoryError(f"{taken}: exists already and was left as it is") from None
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be written: {error.strerror}") from None
    click.echo(f"wrote {path}\nnext: prism run {path}")
