"""The result of a run, in memory or in its directory: its summary, and its course as columns."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.state import RoundsTable
from actors.factory.domains import show_of
from actors.results.measures import RunNumbers
from actors.runs.summary import Summary
from actors.store.rounds import read_rounds
from actors.store.run import Recorded
from actors.tables.schema import chosen_tables, tables_of
from prism.config import Config

if TYPE_CHECKING:
    from actors.results.ask import Survey


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. `result.rounds` is what `pandas.DataFrame` and `polars.DataFrame` take."""

    summary: Summary  # everything that was counted; `summary.json` of a run in a directory
    rounds: RoundsTable  # `{column: its value in each round}`; `rounds.csv` of a run in a directory
    config: Config  # the configuration that was run, with every default filled in
    path: Path | None = None  # the run's directory; None for a run in memory

    @property
    def digest(self) -> str:
        """The digest of the run, 32 hexadecimal digits; equal digests mean equal runs."""
        return self.summary.digest

    @property
    def is_done(self) -> bool:
        """True if the run has all its ticks; False if Ctrl-C or the spend cap has stopped it."""
        return self.summary.is_done

    def measure(self, place: str) -> float:
        """Return a number of the run, named as an experiment names its measures: `cascades.size.median`.

        Raises:
            NoMeasureError: the run has no such number.
            RunDirectoryError: it needs the journal, and the run is in memory.
            JournalError, ConfigError: a file cannot be read, or the people cannot be made again.
        """
        return self._numbers.value(place)

    def by(self, attribute: str) -> dict[str, dict[str, float]]:
        """Return `{value of an attribute: {total: number}}`: people, and their posts, replies, reshares and likes.

        The errors are those of `measure`.
        """
        return self._numbers.by(attribute)

    def table(self, name: str, into: str | None = None) -> Any:
        """Return a table of the run as a data frame, with names in place of numbers: `result.table("engagements")`.

        Args:
            name: one of the tables that `prism export` writes.
            into: `pandas`, `polars` or `arrow`; by default the first one that is installed.

        Raises:
            LookupError, ImportError: there is no such table, or the library is not installed.
            RunDirectoryError: the run has no such table, or is in memory, which keeps its rounds alone.
            JournalError, ConfigError: a file cannot be read, or the people cannot be made again.
        """
        from actors.tables.export import library, rounds_frame, table_frame  # noqa: PLC0415  # most results are not read

        made = library(into)
        if self.path is not None:
            return table_frame(self.path, name, made)
        chosen_tables([name], tables_of([show_of(self.config)]))
        if name == "rounds":
            return rounds_frame(self.rounds, made)
        problem = f"a run in memory keeps no journal, so it has no table {name}"
        raise RunDirectoryError(f"{problem}: name a directory, as in run(config, out='runs/mine')")

    def ask(self, questions: str | os.PathLike[str], **options: Any) -> Survey:
        """Put a questionnaire to people of the run, and return it with its answers: `rows()` and `outcome()`.

        It has an event loop of its own: in a notebook, `await asyncio.to_thread(result.ask, "opinions.yaml")`.

        Args:
            options: `at`, `agents`, `out` and `overrides`, as for `actors.results.ask.Survey`.

        Raises:
            RunDirectoryError: the run is in memory, or there is no such round or person.
            ConfigError: the questionnaire is wrong, or a question needs a model.
            OracleUnavailableError: the model cannot be asked, or stayed away.
        """
        if self.path is None:
            problem = "a run in memory keeps no journal, so nobody can be asked"
            raise RunDirectoryError(f"{problem}: name a directory, as in run(config, out='runs/mine')")
        from actors.results.ask import ask_people  # noqa: PLC0415  # few results are asked

        # The loop of a notebook runs already, and takes no second one.
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(ask_people, self.path, Path(questions), **options).result()

    @property
    def _numbers(self) -> RunNumbers:
        return RunNumbers(msgspec.json.decode(self.summary.to_json()), lambda: self.rounds, self.path)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts())
        return f"<RunResult: {facts}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._facts())
        told = f"<p>{escape(' '.join(self.summary.in_words))}</p>" if self.summary.in_words else ""
        told += "".join(f"<p><b>{escape(line)}</b></p>" for line in self.summary.remarks)
        return f"{told}<table><caption>Run</caption>{rows}</table>"

    def _facts(self) -> list[tuple[str, str]]:
        summary, show = self.summary, show_of(self.config)
        stopped = "" if summary.stopped_by is None else f" by {summary.stopped_by}"
        totals = ((name, value) for name, value in summary.world.items() if isinstance(value, int | float))
        return [
            ("status", f"{summary.status}{stopped}"),
            ("agents", f"{summary.agents:,}"),
            ("ticks", f"{summary.ticks:,} of {self.config.simulation.length:,}"),
            ("rounds", f"{summary.rounds:,}"),
            ("transitions", f"{summary.transitions:,}"),
            ("oracle calls per 1,000 activations", f"{summary.oracle_calls_per_1000_activations:g}"),
            *((str(show.named(name)), f"{value:,}") for name, value in totals),
            ("digest", summary.digest),
            ("directory", "none (in memory)" if self.path is None else str(self.path)),
        ]


def read_result(path: str | os.PathLike[str]) -> RunResult:
    """Return the result of a run that has ended, from its directory.

    It reads the summary and the rounds. A damaged journal is found by what needs it: `table`, `by`, `measure`, `ask`.

    Raises:
        RunDirectoryError: it is no run, has not ended, or a file in it is not what PRISM writes.
        ConfigError: its configuration cannot be read.
    """
    run = Recorded(Path(path))
    if not run.summary_fields:
        raise RunDirectoryError(
            f"{path}: has no summary, because the run has not ended; `prism resume` goes on with it"
        )
    try:
        summary = Summary.from_fields(run.summary_fields)
    except msgspec.ValidationError as error:
        raise RunDirectoryError(f"{path}: has no summary as this version of PRISM writes it: {error}") from None
    return RunResult(summary=summary, rounds=read_rounds(run.path), config=run.config, path=run.path)
