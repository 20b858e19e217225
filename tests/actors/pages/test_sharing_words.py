"""The warning of a report about judgements that were shared."""

from msgspec.structs import replace

from actors.pages.words import sharing_notice
from prism.sharing.audit import Estimate
from prism.sharing.summary import SharedShares, SharingSummary
from tests.catalogue import catalogue


def summary(shared: float, low: float, high: float, *, audited: int = 100) -> SharingSummary:
    """Return the summary of a run in which `like` had this share, and would have had one from `low` to `high`."""
    corrected = {"like": Estimate(mean=(low + high) / 2, low=low, high=high)}
    shares = SharedShares(
        trigger="decides",
        state="reading",
        questions=1000,
        audits=audited,
        shared={"like": shared},
        corrected=corrected if audited else {},
    )
    return SharingSummary(
        fields=["followed: exact"],
        archetypes=3,
        asked_for_all=3,
        shared=900,
        audited=audited,
        calls=103,
        questions_per_call=10.0,
        divergence=Estimate(mean=0.01) if audited else None,
        shares=[shares],
        furthest=[],
    )


@catalogue(
    ("shared", "low", "high", "is_wrong"),
    [
        (0.5, 0.505, 0.52, False),
        (0.05, 0.04, 0.045, False),
        (0.5, 0.515, 0.55, True),
        (0.05, 0.03, 0.044, True),
    ],
)
def test_a_share_that_is_surely_wrong_is_a_warning_with_the_right_one(
    shared: float, low: float, high: float, *, is_wrong: bool
) -> None:
    notice = sharing_notice(summary(shared, low, high))
    assert (notice is not None) is is_wrong
    if notice is not None:
        assert f"like has a share of {shared:.3f}, and would have " in notice
        assert f"({low:.3f} to {high:.3f}) if everybody had been asked" in notice


def test_without_audits_the_warning_says_that_nobody_knows() -> None:
    assert "without audits" in str(sharing_notice(summary(0.5, 0.4, 0.6, audited=0)))


@catalogue(("low", "is_told"), [(0.049, False), (0.051, True)])
def test_what_is_surely_far_from_individual_judgements_is_told(low: float, *, is_told: bool) -> None:
    found = replace(summary(0.5, 0.48, 0.52), divergence=Estimate(mean=0.06, low=low, high=0.07))
    assert ("0.060 (0.051 to 0.070) bits" in str(sharing_notice(found))) is is_told
