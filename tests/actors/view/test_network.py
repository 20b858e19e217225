from __future__ import annotations

import numpy as np
import pytest

from actors.view import network
from actors.view.network import drawn_ties
from prism.social.ties.graph import FollowGraph


def test_lines_join_the_people_who_are_drawn_once_whoever_follows_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DRAWN_MAX", 5)
    random = np.random.default_rng(3)
    ties = sorted({(int(one), int(other)) for one, other in random.integers(0, 9, (40, 2)) if one != other})
    tails, heads = np.array(ties).T
    people, first, second, counts, all_ties = drawn_ties(FollowGraph(9, tails, heads))
    assert (people.tolist(), all_ties) == ([0, 2, 4, 6, 8], len(ties))
    found = {(int(people[a]), int(people[b])): n for a, b, n in zip(first, second, counts.tolist(), strict=True)}
    drawn = [(min(tie), max(tie)) for tie in ties if {*tie} <= {*people.tolist()}]
    assert found == {pair: drawn.count(pair) for pair in drawn}
