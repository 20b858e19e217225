"""The help of a command with many options: the usual options first, then sections of others, each with a title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

LOG = {"Log": ("--log-level", "--log-format")}
"""The section of the options that `with_log_options` adds."""


class SectionedCommand(click.Command):
    """A command whose help has its options in sections.

    Args:
        sections: `{title: options}`, each option by its first name. Options without a section come first.
    """

    def __init__(self, *arguments: Any, sections: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*arguments, **kwargs)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
        records = {
            parameter.opts[0]: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        titled = {title: [records.pop(name) for name in names] for title, names in self.sections.items()}
        for title, listed in {"Options": [*records.values()], **titled}.items():
            with formatter.section(title):
                formatter.write_dl(listed)
