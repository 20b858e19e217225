"""The warning of a report about judgements that were shared."""

from msgspec.structs import replace

from actors.pages.words import sharing_notice
from prism.sharing.audit import Estimate, SharedShares, SharingSummary


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
    )


def test_what_sharing_did_is_a_warning_if_it_is_surely_wrong_far_or_unknown() -> None:
    for shared, low, high in ((0.5, 0.505, 0.52), (0.05, 0.04, 0.045)):
        assert sharing_notice(summary(shared, low, high)) is None
    for shared, low, high in ((0.5, 0.515, 0.55), (0.05, 0.03, 0.044)):
        notice = str(sharing_notice(summary(shared, low, high)))
        assert f"like has a share of {shared:.3f}, and would have " in notice
        assert f"({low:.3f} to {high:.3f}) if everybody had been asked" in notice
    far = Estimate(mean=0.06, low=0.051, high=0.07)
    found = replace(summary(0.5, 0.48, 0.52), divergence=far)
    assert "0.060 (0.051 to 0.070) bits" in str(sharing_notice(found))
    assert "without audits" in str(sharing_notice(summary(0.5, 0.4, 0.6, audited=0)))
