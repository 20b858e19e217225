"""What an audit says follows from what it has found, and a small sample is never reassuring."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from prism.audit import Audit, Estimate, Exchange, Shift, findings_or_none, paragraph_of


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
        oracle="a-model at http://127.0.0.1:9",
        least=10.0,
        recorded=60,
        sampled=30,
        calls=90,
        calls_of_study=60,
        fallbacks=0,
        shifts=tuple(map(shift, findings)),
        exchange=exchange,
    )


def test_a_sample_that_can_tell_nothing_is_no_good_news() -> None:
    small = audit("cannot tell", "cannot tell")
    assert findings_or_none(small) == [
        "Nothing was found against the study, but the sample is too small to exclude a shift that matters."
    ]
    assert "too small to tell whether answers shift" in paragraph_of(small)
    assert "No shift" not in paragraph_of(small)
    assert findings_or_none(audit("holds")) == ["Nothing was found against the study."]
    assert "No shift of answers by 10 points or more was found." in paragraph_of(audit("holds"))
    partly = paragraph_of(audit("holds", "cannot tell"))
    assert "No shift of answers by 10 points or more was found. The sample is too small to exclude one" in partly


@pytest.mark.parametrize(
    ("high", "said"), [(4.0, "fewer than 10 points of them turn beyond chance"), (30.3, "they turn no more often than")]
)
def test_answers_turn_little_only_if_the_interval_says_so(high: float, said: str) -> None:
    turned = Estimate(value=1.0, low=-10.9, high=high)
    exchange = Exchange(questions=31, turned=turned, follows=turned, p=0.6, moves=False)
    (found,) = findings_or_none(audit("holds", exchange=exchange))
    assert said in found


def test_the_paragraph_counts_what_had_no_answer() -> None:
    lossy = replace(shift("holds"), missing={"timeout": 3, "refused": 1})
    told = paragraph_of(replace(audit(), shifts=(lossy, shift("holds"))))
    assert "Some had no answer and are left out: 4 with another way that holds." in told
