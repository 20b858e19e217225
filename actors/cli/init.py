"""`prism init`: writes a configuration to start from, or a package with the user's own domain."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

import click

from actors.cli.command import command, flag, option
from actors.cli.render import show
from actors.core.errors import RunDirectoryError
from actors.factory.shipped import TEMPLATE_CONFIG, TEMPLATE_PACKAGE, Example, examples, studies, template_files
from prism.config import settings


@command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@option("--example", metavar="NAME", help="Write a configuration or a study that comes with PRISM, with its files.")
@option(
    "--template",
    type=click.Choice(["domain"]),
    help="Write a package instead: a domain of your own, with a chart, a world, an oracle, tests, a notebook.",
)
@flag("--list", "lists", help="List the configurations and studies that come with PRISM, and write nothing.")
@option(
    "--settings",
    "word",
    metavar="WORD",
    help="List the settings with WORD in their names, with their defaults and meanings, and write nothing.",
)
def init(directory: Path | None, example: str | None, template: str | None, word: str | None, *, lists: bool) -> None:
    """Write a configuration to start from: DIR/prism.yaml.

    It has the dozen settings that a first study changes, each with its meaning and its default. It runs as it is,
    without a server. Existing files are left alone.

    \b
      prism init my-study                             people on a feed
      prism init my-study --example ollama            people on a feed, with a language model
      prism init my_lights --template domain          a package with a domain of your own
    """
    if directory is not None and (lists or word is not None):
        raise click.UsageError(f"--list and --settings write nothing, so they take no DIR, got {str(directory)!r}")
    shipped: dict[str, Example] = {**examples(), **studies()}
    listed = [f"{name:{max(map(len, shipped))}}  {each.about}" for name, each in shipped.items()]
    if lists:
        show([{"name": name, "about": each.about} for name, each in shipped.items()], lambda: listed)
        return
    if word is not None:
        named = [each for each in settings() if word.lower() in each.path]
        if not named:
            raise click.UsageError(f"no setting has {word!r} in its name")
        show(named, lambda: (f"{each.path}: {each.default} ({each.type})\n    {each.description}" for each in named))
        return
    if example is not None and template is not None:
        raise click.UsageError("--example and --template exclude each other: each has its own domain")
    if template is not None:
        target = directory or Path(TEMPLATE_PACKAGE)
        files, config, does = template_files(target, _package_name(target)), target / TEMPLATE_CONFIG, "run"
    else:
        chosen = shipped.get(example or "default")
        if chosen is None:
            raise click.UsageError("\n".join([f"no example is called {example!r}; there are:", *listed]))
        target = directory or Path(Path(chosen.name).name)
        files, does = chosen.files(target), chosen.command
        config = next(iter(files))
    # Write all files, or none if one of them exists.
    existing = [path for path in (target, *files) if path.exists() and not (path == target and path.is_dir())]
    if existing:
        raise RunDirectoryError(f"{existing[0]}: exists already and was left as it is")
    path = target
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be written: {error.strerror}") from None
    name = f"./{config}" if str(config).startswith("-") else str(config)
    going_on = f"prism {does} {shlex.quote(name)}"
    show({"written": [*files], "next": going_on}, lambda: [*(f"wrote {path}" for path in files), f"next: {going_on}"])


def _package_name(directory: Path) -> str:
    name = directory.resolve().name.lower().replace("-", "_")
    if not name.isidentifier() or not name.isascii() or iskeyword(name):
        raise click.UsageError(f"DIR names the package: expected letters, digits, - and _, got {directory.name!r}")
    if name in sys.stdlib_module_names or (name != TEMPLATE_PACKAGE and find_spec(name) is not None):
        raise click.UsageError(f"DIR names the package: there is a module {name!r} already")
    return name
