"""A distilled oracle: the logit of a model, fitted to the judgements of a run, as a file and with its error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import yaml

from prism.errors import InputError
from prism.sharing.audit import BITS, Estimate, divergence_from, mean_with_interval
from prism.sharing.fields import Fields
from prism.sharing.logit import Logit, fit_logit
from prism.sharing.records import Judged
from prism.sharing.summary import rounded

FORMAT: Final = 1
FOLDS: Final = 10
"""The parts of the judgements; each is left out once, to see how far away the logit of the others is."""
FEWEST: Final = 2 * FOLDS
"""The fewest judgements of one kind of question that a logit is fitted to."""


class DistilledQuestion(Logit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The logit of the questions of one state and trigger with the same options.

    Args:
        judgements: from which it was fitted.
        divergence: of the logit from judgements that it does not know, in bits: ten-fold cross-validation.
    """

    state: str
    trigger: str
    judgements: int
    divergence: Estimate


class Distilled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a distilled oracle.

    Args:
        format: of the file; `model`: the oracle whose judgements it stands for.
        digest: of the run that they come from.
    """

    format: int
    model: str
    digest: str
    questions: list[DistilledQuestion]

    def to_yaml(self) -> str:
        """Return the content of the file."""
        text: str = yaml.safe_dump(msgspec.to_builtins(self), sort_keys=False, width=120, default_flow_style=None)
        return text


def read_distilled(text: str, name: str) -> Distilled:
    """Return what a file holds; `name` is its name, for messages.

    Raises:
        InputError: it is no distilled oracle, or one of a newer version.
    """
    try:
        found = msgspec.convert(yaml.safe_load(text), Distilled)
    except yaml.YAMLError as error:
        raise InputError(name, f"expected YAML, as `prism distil` writes it: {' '.join(str(error).split())}") from None
    except msgspec.ValidationError as error:
        raise InputError(name, f"expected a distilled oracle, as `prism distil` writes it: {error}") from None
    if found.format != FORMAT:
        raise InputError(name, f"is a distilled oracle of format {found.format}; this version reads {FORMAT}")
    return found


def distil(judged: Iterable[Judged], fields: Fields, model: str, digest: str) -> Distilled:
    """Return the logits that are fitted to the judgements of a run, for each kind of question that has enough.

    Args:
        model: the oracle's name; `digest`: of the run.
    """
    groups: dict[tuple[Any, ...], list[Judged]] = defaultdict(list)
    for each in judged:
        groups[each.kind].append(each)
    questions = []
    for kind in sorted(groups, key=str):
        state, trigger, *options = kind
        own = sorted(groups[kind], key=lambda each: each.name)
        if len(own) < FEWEST:
            continue
        fitted = fit_logit(own, fields, options)
        questions.append(
            DistilledQuestion(
                state=state,
                trigger=trigger,
                judgements=len(own),
                divergence=_cross_validated(own, fields, options),
                **{name: getattr(fitted, name) for name in fitted.__struct_fields__},
            )
        )
    return Distilled(format=FORMAT, model=model, digest=digest, questions=questions)


def _cross_validated(judged: Sequence[Judged], fields: Fields, options: Sequence[str]) -> Estimate:
    """Return the divergence of logits from judgements that they were not fitted to.

    Audits are a random sample, and stand for the questions that they were drawn from. Without any, all count.
    """
    found = list[tuple[Judged, float]]()
    for fold in range(FOLDS):
        fitted = fit_logit([each for place, each in enumerate(judged) if place % FOLDS != fold], fields, options)
        predict = fitted.predictor(fields.names)
        found += [(each, divergence_from(each, predict(each.values))) for each in judged[fold::FOLDS]]
    audits = [(each, bits) for each, bits in found if each.is_audit] or found
    weights = [each.weight for each, _ in audits]
    return rounded(mean_with_interval([bits for _, bits in audits], weights, BITS), floor=0.0)
