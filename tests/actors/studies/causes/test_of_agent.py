"""What one agent has added: its presence and its decisions alone, to the largest cascade that it is in."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import msgspec
import pytest

from actors.explain.path import decisions, its_messages, path_of
from actors.explain.retrace import OpenRun
from actors.explain.tree import Node
from actors.store.course import read_course
from actors.studies.causes import search
from actors.studies.causes.record import Causes
from actors.studies.causes.search import causes_of_agent


def added(run: Path, agent: int | str, of: str | None = None) -> Node:
    return anyio.run(partial(causes_of_agent, run, agent, of))


def test_the_outcome_is_the_largest_cascade_of_the_agent_and_only_the_agent_is_looked_at(
    embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "TOP", 1)
    monkeypatch.setattr(search, "BUDGET", 4)
    monkeypatch.setattr(search, "causes", partial(search.causes, draws=1))
    [(original, size)] = read_course(embedded, "posts").posts.largest(1)
    told = added(embedded, original.author)
    found = msgspec.convert(told.value["found"], Causes)
    assert (found.of, found.value) == (f"cascade:{original.post}", size)
    assert told.value["why"] == "the largest cascade that the agent is in"
    assert found.causes[0].effect == size  # without its author there is none
    assert {each.agent for each in (*found.causes, *found.smaller)} == {original.author}
    asked = decisions(path_of(its_messages(OpenRun(embedded), original.author), str))
    decided = sum(tick >= original.tick for (tick, _), _ in asked)
    assert [(each.kind, each.candidates, each.tried) for each in found.tried] == [
        ("people", 1, 1),
        ("decisions", decided, min(decided, 3)),
    ]
