"""The options that `prism experiment` and `prism calibrate` have in common, and the making of their directories."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.command import Group, count_option, option
from actors.cli.options import out_option, require
from actors.core.errors import run_directory_error
from actors.studies.experiments.cells import PROCESSES


class FileGroup(Group):
    """A group whose first word may be a file: then it is run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, or else the one that runs a file."""
        first = args[0]
        if first in self.commands:
            return super().resolve_command(ctx, args)
        words = [word for word in args[1:] if not word.startswith("-")]
        if not first.startswith("-") and not Path(first).exists() and any(Path(word).is_file() for word in words):
            known = ", ".join(sorted(self.commands))
            raise click.UsageError(f"{first!r} is no file and no command; expected a file, or one of: {known}", ctx)
        return super().resolve_command(ctx, ["run", *args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that a run takes, too: most often no command is named."""
        options = [option for option in self.commands["run"].params if isinstance(option, click.Option)]
        with formatter.section("Options of a run"):
            formatter.write_dl([record for option in options if (record := option.get_help_record(ctx)) is not None])
        super().format_options(ctx, formatter)


FILE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
JOBS = count_option("--jobs", help="Cells at once.  [default: one for each processor]")
ON = option(
    "--on",
    default=PROCESSES,
    metavar="PLACE",
    help="Where cells are run: processes, ray, ray://HOST:PORT or HOST:PORT. docs/experiments.md.",
)


def make_directory(place: Path) -> None:
    """Make the directory, unless it is there."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{place}: cannot be created") from None


EXPERIMENTS = Path("experiments")
KEPT = "What is done is kept, and what is under way goes on where its files end: run the same command again"
"""What a signal says."""
STUDY_DIRECTORY = "Directory of the study; what is done there already is not done again."
EXPERIMENT_OUT = out_option(STUDY_DIRECTORY, f"{EXPERIMENTS}/NAME")
PACKAGES = ("scipy", "statsmodels", "SALib")


def refuse_without_packages() -> None:
    """Refuse to begin without the packages that experiments need."""
    require(PACKAGES, f"experiments need {' and '.join(PACKAGES)}")
