"""A new run: its directory with everything in it that a resumed one needs, before its first tick."""

from __future__ import annotations

from importlib.metadata import version

from actors.answer_log import create_answers
from actors.disk import RealDisk
from actors.domains import Built
from actors.execution import Run
from actors.journal import create_journal, header_of
from actors.manifest import manifest_of
from actors.recovery import recover
from actors.run_directory import RunDirectory
from prism.config import Config


def begin(directory: RunDirectory, config: Config, built: Built) -> Run:
    """Write the configuration, the manifest and the head of the journal into an empty directory.

    Raises:
        RunDirectoryError: a file cannot be written.
    """
    directory.write_config(config)
    manifest = manifest_of(config, built.inputs)
    directory.write_manifest(manifest)
    disk = RealDisk(directory.path, syncs=config.run.sync)
    with directory.writing():
        create_answers(disk)
        create_journal(disk, header_of(config, built.inputs, built.domain.size, version("prism-sim")))
    recovered = recover(disk)
    return Run(
        directory=directory,
        config=config,
        manifest=manifest,
        domain=built.domain,
        history=recovered.history,
        digest=recovered.digest,
        lookahead_ticks=config.oracle.lookahead_ticks,
    )
