"""The effect of a claim at the seeds at which it is carried."""

from collections.abc import Mapping

from actors.studies.audit.carried import effects_at_seeds
from prism.audit.record import Claim


def values(hot: float) -> Mapping[str, Mapping[str, float]]:
    return {"hot": {"likes": hot}, "random": {"likes": 1.0}}


def test_a_way_without_a_shift_leaves_the_effect_of_all_seeds_though_a_few_are_carried() -> None:
    claim = Claim(claim="", measure="likes", kind="difference", effect=5.0, contrast=("hot", "random"))
    recorded, modelled = [values(2.0), values(4.0)], [values(7.0), values(8.0)]
    assert effects_at_seeds(claim, recorded, modelled, modelled) == [4.0, 6.0]
    assert effects_at_seeds(claim, recorded, modelled, [values(8.0), values(9.0)]) == [5.0, 7.0]
