"""The options that commands share, the configuration that they read, and the question before unknown code is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from actors.cli.command import count_option, flag, option
from actors.core.errors import RunDirectoryError
from actors.core.machine import not_installed
from actors.display.console import echo
from actors.factory.shipped import FILE_NAME, STUDIES, examples
from actors.logs.output import FORMATS, LEVELS, output, protect_standard_output, say
from prism.quoting import printable


def set_option(example: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the --set option; `example` is a setting that the command lets change."""
    text = f"Override one setting, as in --set {example}. May be repeated; the last one wins."
    return option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help=text)


class Directory(click.Path):
    """The path of a directory. An empty text, such as an unset variable of a shell, is no path.

    Args:
        holds: what must be there, such as `run`; empty for a directory that may be made.
        packed: take a file of `prism pack`, too: it is unpacked in a temporary directory until the command ends.
    """

    def __init__(self, holds: str = "", *, packed: bool = False) -> None:
        super().__init__(path_type=Path, file_okay=False)  # by which the help and the errors of click name it
        self.file_okay, self._holds = packed, holds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("expected a directory, got an empty text", param, ctx)
        from actors.runs.pack import SUFFIX, is_pack, unpacked  # noqa: PLC0415  # it takes a third of a second to import

        if not self.file_okay and is_pack(Path(value)):
            self.fail(f"{value} is a packed run; make its directory first with: prism unpack {value}", param, ctx)
        kinds = {each: MARKS[each] for each in self._holds.split(" or ") if each in MARKS}
        if kinds and not self.file_okay and Path(value).is_file():
            owners = " or ".join("an experiment's" if each == "experiment" else f"a {each}'s" for each in kinds)
            self.fail(f"{value} is a file; expected {owners} directory", param, ctx)
        path: Any = super().convert(value, param, ctx)
        if self._holds and not path.exists():
            raise RunDirectoryError(f"{path}: no such {self._holds}{_near(path)}")
        if ctx is None or not (self.file_okay and path.is_file()):
            return path
        if path.suffix != SUFFIX:
            self.fail(f"{path} is a file; expected a run's directory, or a file of `prism pack`", param, ctx)
        from actors.runs.signals import ended_by_signals  # noqa: PLC0415

        ctx.with_resource(ended_by_signals())
        directory = ctx.with_resource(unpacked(path))
        _packed[directory] = path
        return directory


MARKS = {"run": "manifest.json", "experiment": "plans"}
"""`{what a directory holds: a file or directory by which it is known}`."""


def _near(path: Path) -> str:
    """Return the advice with the runs and experiments whose names are most like a wrong path's; empty without any."""
    places = dict.fromkeys((path.parent, Path("runs"), Path("experiments")))
    files = [file for place in places for mark in MARKS.values() for file in place.glob(f"*/{mark}")]
    known = {file.parent.name: file.parent for file in files}
    near = [str(known[name]) for name in get_close_matches(path.name, known)]
    return f"; there is {' and '.join(near)}" if near else ""


def shown(path: Path) -> Path:
    """Return a run's path as the user gave it: for a packed run, the path of its file."""
    return _packed.get(path, path)


def of_packs(problem: str) -> str:
    """Return an error with the names of packed runs in place of their temporary directories, which are gone by then."""
    for directory, pack in _packed.items():
        if str(directory) in problem:
            problem = f"{problem.replace(str(directory), str(pack))}; `prism unpack {pack}` makes a directory of it"
    return problem


_packed: dict[Path, Path] = {}
"""`{temporary directory: the packed run that is in it}`."""


def out_option(text: str, default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the --out option; `default` is the directory without it, as the help shows it."""
    return option("--out", type=Directory(), metavar="DIR", help=f"{text}  [default: {default}]")


NEW_RUN = "Write the run's files here; must be empty or new."


def require(packages: Sequence[str], use: str, extra: str = "experiments") -> None:
    """Raise an error if a package of an extra of PRISM is not installed; `use` says what needs it."""
    if any(find_spec(name) is None for name in packages):
        raise click.ClickException(not_installed(use, extra))


SET = set_option("population.size=100")
DETAILS = flag("--details", help="Print everything that was counted at the end of the run.")
TICKS = count_option(
    "--ticks", help="Run until N ticks are done, whole rounds or not; the same as --set simulation.ticks=N."
)
RUN = click.argument("path", metavar="RUN", type=Directory("run"))
PACKED = Directory("run", packed=True)
PACKED_RUN = click.argument("path", metavar="RUN", type=PACKED)
PACKED_RUNS = click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=PACKED)
CONFIG = click.argument("config", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    return CONFIG(SET(command))


def with_log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that runs simulations, with the options of its log added; a closed stream does not end it."""
    return LOG_LEVEL(LOG_FORMAT(command))


def _choose_output(_: click.Context, chosen: click.Parameter, value: Any) -> None:
    if chosen.name == "log_level":
        output.level = LEVELS[value]
    else:
        output.format = value
        protect_standard_output()


# Eager, so that an error in the other arguments has the format, too.
_output_option = partial(option, show_envvar=True, is_eager=True, expose_value=False, callback=_choose_output)
LOG_LEVEL = _output_option(
    "--log-level",
    type=click.Choice(list(LEVELS)),
    default="info",
    envvar="PRISM_LOG_LEVEL",
    help="The least level of what is logged, on standard error and in log.jsonl.",
)
LOG_FORMAT = _output_option(
    "--log-format",
    type=click.Choice(FORMATS),
    default="text",
    envvar="PRISM_LOG_FORMAT",
    help="Everything on standard error as lines of text or as JSON objects, one a line.",
)


def choose_config(config: Path | None, doing: str) -> Path:
    """Return the named file, or else `prism.yaml` of this directory, or else a shipped configuration."""
    if config is not None:
        return config
    local = Path(FILE_NAME)
    if local.is_file():
        chosen, description = local, FILE_NAME
    else:
        example = examples()["default"]
        chosen, description = example.path, f"the shipped default configuration (default.yaml: {example.about})"
    say(f"no CONFIG given: {doing} {description}")
    return chosen


def run_name(config: Path) -> str:
    """Return the name for runs of this file: the file's, or its directory's for a name that `prism init` writes."""
    given = {FILE_NAME, *(f"{command}.yaml" for command in STUDIES.values())}
    return config.resolve().parent.name or config.stem if config.name in given else config.stem


def _choose_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from actors.factory.own_code import known_code  # noqa: PLC0415  # it takes a quarter of a second to import

        known_code.trusts = True
        context.call_on_close(lambda: setattr(known_code, "trusts", False))


TRUST = flag(
    "--trust",
    expose_value=False,
    callback=_choose_trust,
    help="Run the code of the run's chart or domain, also if you have not run it here before: read it first.",
)


def ask_to_run_code(path: Path, overrides: Sequence[str] = ()) -> None:
    """Ensure that the code which a run names may be run: it is known, or --trust or the user's answer allows it."""
    from actors.factory.own_code import allow, known_code, untrusted  # noqa: PLC0415  # as above
    from actors.runs.compatibility import unknown_code_of  # noqa: PLC0415

    unknown = unknown_code_of(path, overrides)
    if not unknown:
        return
    sources = {file: sha256 for code in unknown for file, sha256 in code.sources.items()}
    files = [f"{printable(str(file))} (sha256 {sha256})" for file, sha256 in sources.items()]
    if known_code.trusts:
        say(f"{path}: runs code as --trust says: {', '.join(files)}", level="warning")
    elif can_ask():
        told = f"{printable(str(path))}: this command runs Python code that you have not run here before:"
        echo("\n  ".join([told, *files]), err=True)
        echo("It could do anything that you can do on this machine. Read it first.", err=True)
    if not known_code.trusts and not (can_ask() and click.confirm("Run it?", default=False, err=True)):
        raise untrusted(unknown)
    allow(unknown)


def can_ask() -> bool:
    """Return whether a question would be seen and answered: on a terminal, beside no log lines in JSON."""
    return not output.is_json and sys.stdin.isatty() and sys.stderr.isatty()
