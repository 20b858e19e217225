"""`prism init`: writes a configuration to start from, or a package with the user's own domain."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

import click

from actors.cli.templates import TEMPLATES
from actors.core.errors import RunDirectoryError
from actors.display.console import echo
from actors.factory.shipped import (
    FILE_NAME,
    TEMPLATE_CONFIG,
    TEMPLATE_PACKAGE,
    Example,
    examples,
    studies,
    template_files,
)


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--domain",
    type=click.Choice(list(TEMPLATES)),
    help=f"What is simulated. {'; '.join(f'{name}: {template.about}' for name, template in TEMPLATES.items())}."
    f"  [default: {next(iter(TEMPLATES))}]",
)
@click.option("--all", "has_all", is_flag=True, help="Write every setting, by section, not only the first ones.")
@click.option(
    "--example", metavar="NAME", help="Write a configuration or a study that comes with PRISM, with its files."
)
@click.option(
    "--template",
    type=click.Choice(["domain"]),
    help="Write a package instead: a domain of your own, with a chart, a world, an oracle, tests, a notebook.",
)
@click.option(
    "--list", "lists", is_flag=True, help="List the configurations and studies that come with PRISM, and write nothing."
)
def init(  # one for each option
    directory: Path | None, domain: str | None, example: str | None, template: str | None, *, has_all: bool, lists: bool
) -> None:
    """Write a configuration to start from: DIR/prism.yaml.

    It has the settings that a first study changes, each with its meaning, range and default. It runs as it is, without
    a server. With --all it has every setting. Existing files are left alone.

    \b
      prism init my-study                             people on a feed
      prism init my-rates --domain economy            nations that set an interest rate
      prism init my-study --example ollama            a short configuration that comes with PRISM
      prism init my-study --example experiments/feed  an experiment that comes with PRISM
      prism init my_lights --template domain          a package with a domain of your own

    Examples come with their data files. DIR is the name of the example, the domain or the package if it is not given.
    """
    if lists:
        echo(_list())
        return
    if sum(chosen is not None for chosen in (domain, example, template)) > 1:
        raise click.UsageError("--domain, --example and --template exclude each other: each has its own domain")
    if has_all and (example or template):
        raise click.UsageError("--all writes every setting of a domain; an example or a package is written as it is")
    if template is not None:
        target = directory or Path(TEMPLATE_PACKAGE)
        _write_files(target, template_files(target, _package_name(target)), target / TEMPLATE_CONFIG)
        return
    name = example or domain or next(iter(TEMPLATES))
    target = directory or Path(Path(name).name)
    if example is None:
        _write_files(target, {target / FILE_NAME: TEMPLATES[name].text(has_all=has_all).encode()}, target / FILE_NAME)
        return
    chosen = _example(example)
    files = chosen.files(target)
    _write_files(target, files, next(iter(files)), chosen.command)


def _write_files(target: Path, files: dict[Path, bytes], config: Path, command: str = "run") -> None:
    _write(target, files)
    echo("\n".join(f"wrote {path}" for path in files))
    name = f"./{config}" if str(config).startswith("-") else str(config)
    echo(f"next: prism {command} {shlex.quote(name)}")


def _package_name(directory: Path) -> str:
    """Return the name of a package for a directory.

    Raises:
        click.UsageError: it is no valid name of a package, or another module has it.
    """
    name = directory.resolve().name.lower().replace("-", "_")
    if not name.isidentifier() or not name.isascii() or iskeyword(name):
        raise click.UsageError(f"DIR names the package: expected letters, digits, - and _, got {directory.name!r}")
    if name in sys.stdlib_module_names or (name != TEMPLATE_PACKAGE and find_spec(name) is not None):
        raise click.UsageError(f"DIR names the package: there is a module {name!r} already")
    return name


def _example(name: str) -> Example:
    """Return the example of this name.

    Raises:
        click.UsageError: there is none; the message lists all examples.
    """
    chosen = {**examples(), **studies()}.get(name)
    if chosen is None:
        raise click.UsageError(f"no example is called {name!r}; there are:\n{_list()}")
    return chosen


def _list() -> str:
    """Return a line for each example."""
    listed: dict[str, Example] = {**examples(), **studies()}
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
