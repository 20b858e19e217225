"""The place of a question among those that share judgements: its archetype, and the probabilities that it drew from.

The ticks that are done again place each question as the run did, even after a question for all got no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from actors.core.messages import QuestionName
from actors.record.answers import judgements_in
from actors.results.explanation import ExplainedSharing
from actors.results.retrace import OpenRun, PlacedQuestion
from prism.agents import Question
from prism.sharing import Judged

OWNED, AUDITED, SHARED = "asked for all", "audited", "shared"
"""The parts of a question. The last one is the method of an answer, too."""


def sharing_of(
    run: OpenRun,
    asked: Mapping[QuestionName, Question[Any]],
    places: Mapping[QuestionName, PlacedQuestion],
    drawn: Collection[QuestionName],
) -> dict[QuestionName, ExplainedSharing]:
    """Return the place of each question that has one. Blocks.

    Args:
        places: where they were placed when their ticks were done again.
    """
    if run.config.oracle.sharing.by == "none":
        return {}
    own = {each.name: each for each in judgements_in(run.path) if each.name in asked}
    parts = {name: AUDITED if each.is_audit else OWNED for name, each in own.items()} | dict.fromkeys(drawn, SHARED)
    return {
        name: _sharing(asked[name], places.get(name), own.get(name), part)
        for name, part in parts.items()
        if name in asked
    }


def _sharing(question: Question[Any], placed: PlacedQuestion | None, own: Judged | None, part: str) -> ExplainedSharing:
    shared: Sequence[float] = () if own is None else own.shared or own.probabilities
    if placed is not None:
        shared = shared or placed.place.basis.probabilities
    return ExplainedSharing(
        part=part,
        archetype="" if placed is None else placed.archetype,
        shared=_by_option(question, shared),
        judged=None if own is None else _by_option(question, own.probabilities),
    )


def _by_option(question: Question[Any], shares: Sequence[float]) -> dict[str, float] | None:
    return dict(zip(map(str, question.options), shares, strict=True)) if shares else None
