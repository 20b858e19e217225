"""Spells: one in each period, of a drawn length at a drawn time, the same for the same seed."""

from __future__ import annotations

import pytest

from actors.testing.errors import ServerSettingsError
from actors.testing.spells import SPELLS, Spell, SpellKind, spells_at

OUTAGE = Spell(kind=SpellKind.OUTAGE, every_s=300, least_s=10, most_s=30)


def test_each_period_has_one_spell_which_is_over_when_the_period_ends() -> None:
    spans = [OUTAGE.span(period) for period in range(1000)]
    assert all(300 * period <= begin < end <= 300 * (period + 1) for period, (begin, end) in enumerate(spans))
    lengths = [end - begin for begin, end in spans]
    assert 10 <= min(lengths) < 11
    assert 29 < max(lengths) <= 30


def test_seeds_and_kinds_have_spells_at_other_times() -> None:
    others = (
        Spell(kind=SpellKind.OUTAGE, every_s=300, least_s=10, most_s=30, seed=1),
        Spell(kind=SpellKind.BUSY, every_s=300, least_s=10, most_s=30),
    )
    assert len({OUTAGE.span(5), *(spell.span(5) for spell in others)}) == 3
    assert OUTAGE.span(5) == Spell(kind=SpellKind.OUTAGE, every_s=300, least_s=10, most_s=30).span(5)


def test_a_spell_is_under_way_from_its_begin_until_its_end() -> None:
    begin, end = OUTAGE.span(2)
    assert [OUTAGE.end(at) for at in (begin - 0.01, begin, end - 0.01, end)] == [None, end, end, None]
    slow = Spell(kind=SpellKind.SLOW, every_s=10, least_s=10, most_s=10)
    assert spells_at((OUTAGE, slow), begin) == {SpellKind.OUTAGE: end, SpellKind.SLOW: slow.end(begin)}
    assert spells_at((OUTAGE,), end) == {}


def test_the_spells_up_to_a_time_are_those_that_have_begun() -> None:
    begin, _ = OUTAGE.span(2)
    assert list(OUTAGE.spans(begin)) == [OUTAGE.span(0), OUTAGE.span(1)]
    assert list(OUTAGE.spans(begin + 0.1)) == [OUTAGE.span(0), OUTAGE.span(1), OUTAGE.span(2)]


@pytest.mark.parametrize(("every", "least", "most"), [(10, 0, 5), (10, 6, 5), (10, 5, 11), (float("inf"), 1, 2)])
def test_lengths_that_do_not_fit_each_other_are_refused(every: float, least: float, most: float) -> None:
    with pytest.raises(ServerSettingsError, match="0 < LEAST <= MOST <= EVERY"):
        Spell(kind=SpellKind.BUSY, every_s=every, least_s=least, most_s=most)


def test_every_kind_has_a_meaning() -> None:
    assert set(SPELLS) == set(SpellKind)
