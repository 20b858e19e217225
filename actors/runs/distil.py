"""A run's judgements as a distilled oracle: read from its log, and fitted."""

from __future__ import annotations

from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.factory.charts import look_at_chart
from actors.factory.domains import show_of
from actors.persistence.oracle_log import ANSWERS
from actors.record.answers import judgements_in
from actors.record.manifest import CONFIG, read_manifest, read_summary
from actors.record.run import read_resolved
from prism.sharing.distilled import FEWEST, Distilled, distil
from prism.sharing.settings import archetypes_of
from prism.social.sharing import QuestionFields


def distil_run(path: Path) -> Distilled:
    """Return the oracle that is fitted to the judgements of a run. Blocks.

    Raises:
        RunDirectoryError: it is no run of people, or has too few judgements.
        JournalError: its log cannot be read.
    """
    read_manifest(path)
    config = read_resolved(path / CONFIG)
    if "network" not in show_of(config).pictures:
        raise RunDirectoryError(f"{path}: is a run of the domain {config.simulation.domain}: expected one of people")
    judged = judgements_in(path)
    fields = archetypes_of(config, QuestionFields(config, look_at_chart(config).behaviour.chart)).fields
    model = "the embedded choice" if config.oracle.backend == "choice" else config.llm.model
    found = distil(judged, fields, model, read_summary(path).get("digest", ""))
    if not found.questions:
        raise RunDirectoryError(
            f"{path}: {ANSWERS} has {len(judged):,} judgements: expected {FEWEST} of one kind of question at least, "
            "from a run with oracle.sharing.by"
        )
    return found
