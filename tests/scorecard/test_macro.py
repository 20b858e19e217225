"""The moments of economies beside those of history, over equally many quarters."""

from __future__ import annotations

from prism.economy.moments import moments, real_columns
from prism.quarter import Period, Quarter
from prism.scorecard import Agreement, macro_facts
from prism.scorecard.facts import RUNS_MIN
from tests.economy.history import us_series

START = Quarter.parse("1985q1")
SAME = Period.parse("1985q2-1995q1")


def test_history_beside_itself_is_met_in_every_moment_that_is_defined_and_of_the_same_quarters() -> None:
    runs = [real_columns(us_series(), SAME)] * RUNS_MIN
    facts = {fact.name: fact for fact in macro_facts(runs, us_series(), "us.csv", START)}
    real = moments(real_columns(us_series(), SAME))
    for name, fact in facts.items():
        assert (fact.real, fact.agreement) == (real[name], Agreement.MET)
        assert fact.source == "us.csv, 1985q2 to 1995q1: 40 quarters, as of the runs"


def test_fewer_than_twenty_runs_are_shown_and_not_judged() -> None:
    facts = macro_facts([real_columns(us_series(), SAME)] * (RUNS_MIN - 1), us_series(), "us.csv", START)
    assert {fact.agreement for fact in facts} == {Agreement.UNKNOWN}
    assert all(fact.simulated is not None for fact in facts)
