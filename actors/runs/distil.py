"""A run's judgements as a distilled oracle: read from its log, and fitted."""

from __future__ import annotations

from pathlib import Path

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.files import read_regular
from actors.factory.charts import look_at_chart
from actors.persistence.disk import RealDisk
from actors.persistence.oracle_log import ANSWERS, read_judgements
from actors.runs.directory import CONFIG, RECORD_BYTES_MAX, SUMMARY, RunDirectory
from actors.runs.resume import read_resolved
from prism.sharing.distilled import FEWEST, Distilled, distil
from prism.sharing.settings import archetypes_of
from prism.social.sharing import QuestionFields


class _Ended(msgspec.Struct):
    """The part of a summary that is read."""

    digest: str


def distil_run(path: Path) -> Distilled:
    """Return the oracle that is fitted to the judgements of a run. Blocks.

    Raises:
        RunDirectoryError: it is no run of people, or has too few judgements.
        JournalError: its log cannot be read.
        ModuleNotFoundError: scikit-learn is not installed.
    """
    RunDirectory(path).manifest()
    config = read_resolved(path / CONFIG)
    if config.simulation.domain != "social":
        raise RunDirectoryError(f"{path}: is a run of the domain {config.simulation.domain}: expected social")
    disk = RealDisk(path)
    judged = read_judgements(disk, disk.size(ANSWERS)) if ANSWERS in disk.names() else []
    fields = archetypes_of(config, QuestionFields(config, look_at_chart(config).behaviour.chart)).fields
    model = "the embedded choice" if config.oracle.backend == "choice" else config.llm.model
    found = distil(judged, fields, model, _digest(path))
    if not found.questions:
        raise RunDirectoryError(
            f"{path}: {ANSWERS} has {len(judged):,} judgements: expected {FEWEST} of one kind of question at least, "
            "from a run with oracle.sharing.by"
        )
    return found


def _digest(path: Path) -> str:
    """Return the digest of a run that has ended; empty for one that has not."""
    try:
        return msgspec.json.decode(read_regular(path / SUMMARY, RECORD_BYTES_MAX), type=_Ended).digest
    except (OSError, msgspec.MsgspecError):
        return ""
