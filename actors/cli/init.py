"""`prism init`: a configuration to start from."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.templates import TEMPLATES
from actors.core.errors import RunDirectoryError
from actors.factory.shipped import FILE_NAME, Example, examples


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--domain",
    type=click.Choice(list(TEMPLATES)),
    help=f"What is simulated. {'; '.join(f'{name}: {template.about}' for name, template in TEMPLATES.items())}."
    f"  [default: {next(iter(TEMPLATES))}]",
)
@click.option("--example", metavar="NAME", help="Write a configuration that comes with PRISM, and its data files.")
@click.option("--list", "lists", is_flag=True, help="List the configurations that come with PRISM, and write nothing.")
def init(directory: Path | None, domain: str | None, example: str | None, *, lists: bool) -> None:
    """Write DIR/prism.yaml: every setting with its value, its range and what it means.

    It runs as it is, without a server. With --example it is a short configuration that comes with PRISM instead, beside
    the data files it needs. DIR is the name of the example or the domain if it is not given. Existing files are left
    alone.
    """
    if lists:
        click.echo(_list())
        return
    if domain is not None and example is not None:
        raise click.UsageError("--domain and --example exclude each other: an example has its domain")
    name = example or domain or next(iter(TEMPLATES))
    target = directory or Path(name)
    if example is None:
        files = {target / FILE_NAME: TEMPLATES[name].text().encode()}
    else:
        files = _example(example).files(target)
    _write(target, files)
    click.echo("\n".join(f"wrote {path}" for path in files))
    click.echo(f"next: prism run {target / FILE_NAME}")


def _example(name: str) -> Example:
    """Return the example of this name.

    Raises:
        click.UsageError: there is none; the message lists all examples.
    """
    chosen = examples().get(name)
    if chosen is None:
        raise click.UsageError(f"no example is called {name!r}; there are:\n{_list()}")
    return chosen


def _list() -> str:
    """Return a line for each example."""
    listed = examples()
    width = max(map(len, listed))
    return "\n".join(f"{name:{width}}  {example.about}" for name, example in listed.items())


def _write(directory: Path, files: dict[Path, bytes]) -> None:
    """Write all files, or none if one of them exists.

    Raises:
        RunDirectoryError: a file exists, or one cannot be written.
    """
    existing = [path for path in (directory, *files) if path.exists() and not (path == directory and path.is_dir())]
    if existing:
        raise RunDirectoryError(f"{existing[0]}: exists already and was left as it is")
    path = directory
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be written: {error.strerror}") from None
