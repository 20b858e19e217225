"""Audits as they might be found, to be put into words and on pages."""

from collections.abc import Sequence

from msgspec.structs import replace

from prism.audit.record import Audit, Claim, carried, judged
from prism.audit.shift import Estimate, Exchange, Shift


def shift(finding: str) -> Shift:
    return Shift(
        way="wording",
        what=f"way that {finding}",
        questions=30,
        people=30,
        turned=Estimate(value=20.0, low=-1.0, high=41.0),
        p=0.5,
        finding=finding,  # type: ignore[arg-type]
    )


def audit(*findings: str, exchange: Exchange | None = None) -> Audit:
    return Audit(
        study="feed",
        digests=("00",),
        oracle="a-model by ollama 0.5 at http://127.0.0.1:9",
        cells=1,
        recorded=60,
        sampled=30,
        calls=90,
        calls_of_study=60,
        fallbacks=0,
        shifts=tuple(map(shift, findings)),
        exchange=exchange,
    )


def claim(number: int, at_seeds: Sequence[float]) -> Claim:
    """Return a claim whose effect was 10, and is this at seeds with another wording."""
    plain = Claim(claim=f"claim {number}", measure="likes", kind="difference", effect=10.0, contrast=("hot", "random"))
    return replace(plain, carried=(carried(plain, "wording", at_seeds, [], 1),))


def with_each_verdict() -> Audit:
    """Return an audit with a claim that survives, one that weakens, one that turns, and two that cannot be judged."""
    claims = tuple(
        claim(number, [each - 0.1, each, each + 0.1]) for number, each in enumerate((9.0, 3.0, -8.0), start=1)
    )
    wide = claim(4, [-20.0, 4.0, 28.0])
    undecided = replace(claim(5, [9.0, 9.1]), is_supported=False)
    return judged(replace(audit("holds"), claims=(*claims, wide, undecided), futures=20))
