"""The classes of commands: a lazy group, `--json` and `--help --json`; and the exit codes.

A command is declared with `@command()`. It computes one record and gives it to `actors.cli.render.show`, which prints
it for a person, or as JSON with `--json`. Nothing of this is repeated in the command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from actors.logs.output import output

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_CONFIG = 3
EXIT_SPENT = EXIT_THRESHOLD = 4
EXIT_ORACLE = 5

EXIT_CODES = {
    "0": "done",
    "1": "the run failed, or what was checked is not as it should be",
    "2": "wrong usage, or a directory, a file or an address that cannot be used; cells of an experiment have no result",
    "3": "a configuration or input file that cannot be run",
    "4": "stopped at the spend cap, or because too many choices are fallbacks; an experiment misses a threshold, or a "
    "calibration reports no fit",
    "5": "the oracle's backend cannot be used, or stayed away",
    "130": "stopped by SIGINT, 143 by SIGTERM, 129 by SIGHUP, after a whole tick",
}


F = TypeVar("F", bound=Callable[..., Any])
HELP = {"-h", "--help"}
KEPT = ("required", "multiple", "default", "envvar", "help")
"""The facts on a parameter that `--help --json` has, beside its names and its type."""


class Option(click.Option):
    """An option that needs some others, and cannot be given with some."""

    def __init__(self, *arguments: Any, needs: Sequence[str] = (), without: Sequence[str] = (), **given: Any) -> None:
        super().__init__(*arguments, **given)
        self.needs, self.without = tuple(needs), tuple(without)


def _choose(ctx: click.Context, chosen: click.Parameter, value: bool) -> None:
    """Note that the result is to be JSON, or one line at most."""
    if value:
        output.is_quiet = True
        output.as_json |= chosen.name == "as_json"
        ctx.call_on_close(output.show_results)


QUIET = Option(
    ["--quiet", "-q", "is_quiet"],
    is_flag=True,
    expose_value=False,
    callback=_choose,
    help="Show no progress, and of the result one line at most: a digest, a path.",
)
JSON = Option(
    ["--json", "as_json"],
    is_flag=True,
    expose_value=False,
    callback=_choose,
    help="Print the result as JSON, or with --help the help; show no progress.",
)


class Described(click.Command):
    """A command that describes itself as JSON, with `--help --json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = set(args)
        if "--json" in given and given & HELP and (given <= {"--json", *HELP} or not isinstance(self, click.Group)):
            told = {**description(self, ctx), "exit_codes": EXIT_CODES}
            from actors.display.console import echo  # noqa: PLC0415  # the help for people needs no rich

            echo(json.dumps(told, indent=1, default=str))
            ctx.exit()
        return super().parse_args(ctx, args)


class Command(Described):
    """A command with a result: it has `--quiet` and `--json`."""

    def __init__(self, *arguments: Any, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self.params += [QUIET, JSON]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        given = {
            name: each
            for each in self.params
            if each.name and ctx.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
            for name in each.opts
        }
        for name, each in given.items():
            if isinstance(each, Option):
                if [other for other in each.needs if other not in given]:
                    raise click.UsageError(f"{name} goes with {' and '.join(each.needs)}", ctx)
                for other in each.without:
                    if other in given:
                        raise click.UsageError(f"{name} and {other} cannot be used together", ctx)
        return rest


class Group(Described, click.Group):
    command_class = Command


command = partial(click.command, cls=Command)
option = partial(click.option, cls=Option)
flag = partial(option, is_flag=True)


def path_option(*names: str, metavar: str = "FILE", **given: Any) -> Callable[[F], F]:
    return option(*names, metavar=metavar, type=click.Path(path_type=Path), **given)


def count_option(
    *names: str, least: int = 1, most: int | None = None, metavar: str | None = "N", **given: Any
) -> Callable[[F], F]:
    return option(*names, metavar=metavar, type=click.IntRange(least, most), **given)


class LazyGroup(Group):
    """A group that knows the help line of each command, so that `--help` imports none of them.

    Args:
        sections: `{title: {name: its help line}}`, as the help lists them. The command NAME is `NAME_command`, or else
            `NAME`, in the module `actors.cli.NAME`, with `_` for `-`. A test compares its line with its own help.
        modules: `{name: the module of another name}`.
    """

    def __init__(self, *, sections: Mapping[str, Mapping[str, str]], modules: Mapping[str, str], **given: Any) -> None:
        self.sections, self.modules = sections, modules
        self.named = {name: line for commands in sections.values() for name, line in commands.items()}
        # Placeholders: click suggests their names for a name that does not exist.
        super().__init__(commands={name: click.Command(name) for name in self.named}, **given)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(self.named)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.named:
            return None
        word = cmd_name.replace("-", "_")
        found = vars(import_module(f"actors.cli.{self.modules.get(cmd_name, word)}"))
        result: click.Command = found.get(f"{word}_command") or found[word]
        return result

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except EOFError as error:  # Click would take it for the end of a person's input, as after an interruption
            raise RuntimeError("a file ended early") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, self.named))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Exit codes"):
            formatter.write_dl([*EXIT_CODES.items()])


def description(of: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Return everything that the help of a command says, and of a group that of all its commands, as a tree."""
    parameters: list[dict[str, Any]] = []
    for each in of.get_params(ctx):
        told = each.to_info_dict()
        is_option = isinstance(each, click.Option)
        name = {"option": each.opts} if is_option else {"argument": each.human_readable_name.strip("[]")}
        kind = {fact: told["type"][fact] for fact in ("choices", "min", "max") if told["type"].get(fact) is not None}
        typed = {"flag": True} if told.get("is_flag") else {"type": told["type"]["name"], **kind}
        many = {"many": True} if each.nargs == -1 else {}
        facts = {fact: told[fact] for fact in KEPT if told.get(fact) not in (None, False)}
        facts |= {fact: getattr(each, fact) for fact in ("needs", "without") if getattr(each, fact, ())}
        parameters.append({**name, **typed, **many, **facts})
    text = cleandoc(of.help or "").replace("\b\n", "")
    found: dict[str, Any] = {"command": ctx.command_path, "help": text, "parameters": parameters}
    if isinstance(of, click.Group):
        inner = ((name, of.get_command(ctx, name)) for name in of.list_commands(ctx))
        found["commands"] = {
            name: description(each, click.Context(each, parent=ctx, info_name=name)) for name, each in inner if each
        }
    return found
