"""Creation of a run: its directory gets all that a resume needs before the first tick."""

from __future__ import annotations

from importlib.metadata import version

from actors.factory.domains import BuiltDomain
from actors.persistence.disk import RealDisk
from actors.persistence.journal import create_journal, header_of
from actors.persistence.oracle_log import create_answers
from actors.record.manifest import CONFIG
from actors.record.recovery import recover
from actors.runs.directory import RunDirectory
from actors.runs.execute import Run
from actors.runs.inputs import inputs_of, keep
from actors.runs.manifest import OWN_PACKAGE, manifest_of
from prism.config import Config


def create_run(directory: RunDirectory, config: Config, built: BuiltDomain) -> Run:
    """Write the inputs, the configuration, the manifest and the journal's header into a directory, and return the run.

    Raises:
        RunDirectoryError: a file cannot be written, or an input has changed since it was read.
    """
    inputs = inputs_of(config, built.inputs, built.code)
    config = inputs.config
    keep(directory, inputs)
    directory.write_config(config)
    manifest = directory.with_seals(manifest_of(config, inputs.hashes, built.code), [CONFIG])
    directory.write_manifest(manifest)
    disk = RealDisk(directory.path, syncs=config.run.sync)
    with directory.writing():
        create_answers(disk)
        create_journal(disk, header_of(config, inputs.hashes, built.domain.size, version(OWN_PACKAGE)))
    recovered = recover(disk)
    return Run(
        directory=directory,
        config=config,
        manifest=manifest,
        domain=built.domain,
        recorded=recovered.recorded,
        digest=recovered.digest,
    )
