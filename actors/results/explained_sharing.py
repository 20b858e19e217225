"""The place of a question among those that share judgements: its archetype, and the probabilities that it drew from.

They are worked out as a resume does it: from the judgements of the oracle's log. Questions for all that got no answer
are not in it, so in a run where they fail, a budget may seem to have been left later than it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from actors.core.messages import QuestionName
from actors.persistence.disk import RealDisk
from actors.persistence.oracle_log import ANSWERS, read_judgements
from actors.results.explanation import ExplainedSharing
from actors.results.retrace import OpenRun, TracedTurn
from prism.agents import Question
from prism.domain import Domain
from prism.errors import ConfigError
from prism.sharing import Judged, SharingTable
from prism.sharing.settings import sharing_table
from prism.sharing.table import words_of

OWNED, AUDITED, SHARED, MODELLED = "asked for all", "audited", "shared", "surrogate"
"""The parts of a question. The last two are the methods of answers, too."""


def sharing_of(
    run: OpenRun, asked: Mapping[QuestionName, TracedTurn], drawn: Collection[tuple[QuestionName, str]]
) -> dict[QuestionName, ExplainedSharing]:
    """Return the place of each question that has one. Blocks.

    Args:
        asked: the turns with the questions.
        drawn: the questions that drew from others, with the methods of their answers.
    """
    disk = RealDisk(run.directory.path)
    if run.config.oracle.sharing == "none" or ANSWERS not in disk.names():
        return {}
    judgements = read_judgements(disk, disk.size(ANSWERS))
    own = {each.name: each for each in judgements if each.name in asked}
    parts = {name: AUDITED if each.is_audit else OWNED for name, each in own.items()} | dict(drawn)
    if not parts:
        return {}
    table = _table(run, next(iter(asked.values())).domain, judgements, max(tick for _, tick, _ in parts))
    return {
        name: _sharing(table, asked[name], own.get(name), parts[name])
        for name in sorted(parts, key=_in_order)
        if name in asked
    }


def _table(run: OpenRun, domain: Domain, judgements: Sequence[Judged], last: int) -> SharingTable | None:
    """Return the table of archetypes with all judgements; None where questions share by their prompts.

    Then only the oracle that was asked knows which are equal.
    """
    if run.config.oracle.sharing != "archetype":
        return None
    try:
        table = sharing_table(run.config, domain, domain.oracle())
    except ConfigError:  # the embedded oracle of a domain of one's own may have no judgements
        return None
    if table is not None:
        table.load(judgements, last + 1)
    return table


def _sharing(table: SharingTable | None, traced: TracedTurn, own: Judged | None, part: str) -> ExplainedSharing:
    """Return the place of one question. Of several the first in time comes first, as the table needs it."""
    question = traced.question
    assert question is not None  # noqa: S101  # the caller has questions only
    shared: Sequence[float] = () if own is None else own.shared or own.probabilities
    archetype = ""
    if table is not None and traced.asker is not None:
        place = table.place(traced.asker, question)
        leaf = place.basis.leaf
        archetype = words_of(table.archetypes, place.key) if leaf is None else leaf.words
        shared = shared or place.basis.probabilities
    return ExplainedSharing(
        part=part,
        archetype=archetype,
        shared=_by_option(question, shared),
        judged=None if own is None else _by_option(question, own.probabilities),
    )


def _by_option(question: Question[object], shares: Sequence[float]) -> dict[str, float] | None:
    return dict(zip(map(str, question.options), shares, strict=True)) if shares else None


def _in_order(name: QuestionName) -> tuple[int, int, str]:
    agent, tick, trigger = name
    return tick, agent, trigger
