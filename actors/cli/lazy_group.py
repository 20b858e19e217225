"""A group of commands whose modules are imported when a command is called, not when the group is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows the help line of each command, so that `--help` imports none of them.

    Args:
        sections: `{title: {name: its help line}}`, as the help lists them. The command NAME is `NAME_command`, or else
            `NAME`, in the module `actors.cli.NAME`, with `_` for `-`. A test compares its line with its own help.
    """

    def __init__(self, *, sections: Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        self.sections = sections
        self.named = {name: line for commands in sections.values() for name, line in commands.items()}
        # Placeholders: click suggests their names for a name that does not exist.
        super().__init__(commands={name: click.Command(name) for name in self.named}, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names in the order of the help."""
        return list(self.named)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command of this name; None if there is none."""
        if cmd_name not in self.named:
            return None
        word = cmd_name.replace("-", "_")
        found = vars(import_module(f"actors.cli.{word}"))
        command: click.Command = found.get(f"{word}_command") or found[word]
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except EOFError as error:  # Click would take it for the end of a person's input, as after an interruption
            raise RuntimeError("a file ended early") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write a table of commands for each section, without importing them."""
        width = max(map(len, self.named))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])
