"""The record of an audit. docs/audit.md describes the form that `msgspec.json.encode` gives it."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prism.audit.claims import Claim
from prism.audit.known import Known
from prism.audit.shift import Exchange, Position, Shift
from prism.audit.variety import Variety

Part = TypeVar("Part", Shift, Position, Known, Variety)


class Decider(msgspec.Struct, frozen=True, kw_only=True):
    """A way to choose without the model that was asked, beside the model's answers."""

    decider: str  # `embedded`, `first option` or `plain question`
    agreement: float  # the probability, in the mean of all questions, that it chooses as the model did
    shares: dict[str, float]  # `{option: its share of all choices}`


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    study: str  # the name of the directory of the run or the experiment
    # what was audited, so that figures of other runs are not shown as theirs: the digest of each run, in order
    digests: tuple[str, ...]
    oracle: str  # the model that was asked, and how
    cells: int  # the runs whose questions were asked again, the first ones of `digests`
    recorded: int  # the questions of these runs that the model answered
    sampled: int  # those that were asked again
    calls: int  # the calls to a model that this took; those whose answers were kept count once
    calls_of_study: int  # those that the audited runs took
    fallbacks: int  # the questions of the study without an answer of the model
    shifts: tuple[Shift, ...]
    positions: tuple[Position, ...] = ()  # empty if the study shows its options in one order
    claims: tuple[Claim, ...] = ()
    futures: int = 0
    known: Known | None = None
    # what the model would do on turns that rules settled; `before` is what they did; None without such turns
    ruled: Shift | None = None
    exchange: Exchange | None = None
    variety: Variety | None = None
    deciders: tuple[Decider, ...] = ()
    notes: tuple[str, ...] = ()  # limits of the audit, a sentence each
    paragraph: str = ""  # what a paper may say of it


def judged(found: Audit) -> Audit:
    """Return an audit with its findings, by the p values of all its tests together. Source: Holm (1979)."""
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  # an extra, and slow to import

    parts: list[Shift | Position | Known | Variety | None] = [*found.shifts, *found.positions]
    parts += [found.known, found.variety]
    tested = [each.p for each in parts if each is not None and each.p is not None]
    corrected = iter(multipletests(tested, method="holm")[1].tolist() if tested else [])

    def anew(part: Part) -> Part:
        return part if part.p is None else part.judged(next(corrected))

    return replace(
        found,
        shifts=tuple(map(anew, found.shifts)),
        claims=tuple(each.judged() for each in found.claims),
        positions=tuple(map(anew, found.positions)),
        known=None if found.known is None else anew(found.known),
        variety=None if found.variety is None else anew(found.variety),
    )
