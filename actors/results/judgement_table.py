"""The judgements of a run that shares them as a table: the model's probabilities, and the shared ones."""

from __future__ import annotations

import msgspec

from actors.record.answers import judgements_in
from actors.record.run import Recorded
from actors.results.rows import Rows
from prism.domain import Domain
from prism.sharing.audit import divergence_from
from prism.sharing.settings import archetypes_of, fields_of
from prism.sharing.table import words_of


def add_judgements(run: Recorded, rows: Rows, domain: Domain) -> None:
    """Add the judgements of the oracle's log up to the end of the journal, by tick and agent."""
    archetypes = archetypes_of(run.config, fields_of(run.config, domain))
    for judged in sorted(judgements_in(run.path), key=lambda each: (each.asked, each.name)):
        if judged.asked >= run.length:
            continue
        state, _, *options = map(str, judged.kind)
        rows.add(
            run.name,
            judged.asked,
            run.time_at(judged.asked),
            judged.agent,
            judged.trigger,
            state,
            words_of(archetypes, judged.key),
            judged.is_audit,
            _shares(options, judged.probabilities),
            _shares(options, judged.shared) if judged.is_audit else None,
            divergence_from(judged, judged.shared) if judged.is_audit else None,
            judged.chance,
            judged.samples,
            msgspec.json.encode(dict(zip(archetypes.names, judged.values, strict=False))).decode(),
        )


def _shares(options: list[str], shares: tuple[float, ...]) -> str:
    return msgspec.json.encode(dict(zip(options, shares, strict=True))).decode()
