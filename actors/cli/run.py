"""`prism run`: runs a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.cli.building import build_with_progress
from actors.cli.command import command
from actors.cli.options import DETAILS, OUT, TICKS, choose_config, run_name, with_log_options, with_settings
from actors.cli.run_command import run_and_report
from actors.cli.trust import TRUST
from actors.core.errors import ActorError
from actors.factory.config_file import placing, read_config
from actors.factory.domains import no_effect_of
from actors.logs.output import output, say
from actors.metrics.observation import observation
from actors.runs.directory import RunDirectory
from actors.runs.execute import create_run
from actors.store.lock import locked
from prism.domain import said_by
from prism.errors import OracleUnavailableError
from prism.no_effect import told


@command()
@with_settings
@TICKS
@OUT
@TRUST
@DETAILS
@with_log_options
def run(  # one for each option
    config: Path | None, overrides: Sequence[str], ticks: int | None, out: Path | None, *, details: bool
) -> None:
    """Run the simulation that CONFIG describes.

    Without CONFIG it is prism.yaml of this directory, or else the default configuration that comes with PRISM.
    Settings come from CONFIG, then from environment variables such as PRISM_SIMULATION__SEED, then from --set; see
    docs/settings.md. Ctrl-C finishes the tick, writes a checkpoint and the summary and exits with 130; a second
    one exits at once. `prism resume` continues a run that was stopped in any way, even by a crash.

    \b
    Written to the run's directory:
      config.yaml       the configuration with every default filled in
      manifest.json     versions, seed and the SHA-256 of every input file
      journal.prism     every answer of every agent, a frame for each tick
      journal-*.seg     its older ticks, compressed, once there are 8 MB of them
      oracle.log        the oracle's answers as they arrived
      checkpoint-*.bin  the state that a resume starts from; the latest two,
                        and some from further back
      metrics.json      while it runs, the address of its metrics, with metrics.enabled
      log.jsonl         warnings and errors, a JSON object a line
      rounds.csv        the course of the run: a row for each round
      summary.json      the summary, with the digest
      tape.sqlite       the model's answers, with oracle.tape=record
    """
    if ticks is not None:
        overrides = [*overrides, f"simulation.ticks={ticks}"]
    path = choose_config(config, "running")
    settings = read_config(path, overrides)
    with placing(path, overrides):
        built = build_with_progress(settings)
        for line in said_by(built.domain).understood:
            say(line)
        for line in () if output.is_quiet else told(no_effect_of(settings, built.domain)):
            say(line, level="warning")
        with observation(settings) as observed:  # before all else: a port in use must leave no run directory
            directory = RunDirectory.create(out, run_name(path))
            with locked(directory.path):
                try:
                    run_and_report(create_run(directory, settings, built), observed, details=details)
                except (OracleUnavailableError, ActorError):
                    directory.discard_unless_begun()
                    raise
