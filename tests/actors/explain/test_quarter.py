"""A quarter of an economy, explained: equal to what the journal and `rounds.csv` have."""

from __future__ import annotations

import csv
from pathlib import Path

import anyio
import msgspec
import pytest

from actors.core.errors import RunDirectoryError
from actors.explain.quarter import explain_quarter
from actors.explain.tree import plain
from actors.store.messages import ticks_of
from prism.agents import Update
from prism.economy.nation import PolicyStep


def test_the_chains_and_indicators_of_a_quarter_are_those_of_the_journal_and_the_rows(economy_run: Path) -> None:
    rows = list(csv.DictReader((economy_run / "rounds.csv").read_text().splitlines()))
    for quarter, updates in enumerate(ticks_of(economy_run, Update), 1):
        steps = msgspec.convert(msgspec.to_builtins(updates), list[Update[PolicyStep]])
        found = anyio.run(explain_quarter, economy_run, quarter)
        nations = [*found.all("nation")]
        for nation in nations:
            agent = nation.value["agent"]
            chains = [plain(each.effect.chain) for each in steps if each.agent == agent and each.effect]
            assert [each.value for each in nation.children if "component" in each.value] == chains
            assert [each["component"] for each in chains][:2] == ["agent", "validator"]
            assert (nation.value["outcome"] == "applied") == (len(chains) == 3)
        before, after = found.value["before"], found.value["after"]
        applied = [each.value for each in nations if each.value["rate_after"] is not None]
        rates = [each["rate_after"] for each in applied]
        assert after["interest_rate"] == pytest.approx(float(rows[quarter - 1]["interest_rate"]), abs=1e-4)
        assert after["interest_rate"] == rates[-1]
        assert [each["rate_before"] for each in applied] == [before["interest_rate"], *rates[:-1]]
        assert after["inflation"] == pytest.approx(float(rows[quarter - 1]["inflation"]), abs=1e-4)
        shocks = [each.value["shock"] for each in found.all("outside")]
        assert shocks == ([{"inflation": 2.0}] if quarter == 3 else [])


def test_a_quarter_that_there_is_not_and_a_run_without_quarters_are_refused(economy_run: Path, few_run: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"there is no quarter 5; the run has the quarters 1 to 4$"):
        anyio.run(explain_quarter, economy_run, 5)
    with pytest.raises(RunDirectoryError, match="is no economy, so it has no quarters"):
        anyio.run(explain_quarter, few_run, 1)
