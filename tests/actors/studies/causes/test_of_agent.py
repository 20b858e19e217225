"""What one agent has added: its presence and what it did alone, to the largest cascade that it is in."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio

from actors.explain.path import decisions, its_messages, path_of
from actors.explain.retrace import OpenRun
from actors.store.course import read_course
from actors.studies.causes.search import causes


def test_only_the_agent_is_looked_at(embedded: Path) -> None:
    [(original, size)] = read_course(embedded, "posts").posts.largest(1)
    of, by = f"cascade:{original.post}", ("people", "decisions")
    found = anyio.run(partial(causes, embedded, of, by=by, agent=original.author, budget=4, top=1, draws=1))
    assert (found.of, found.value) == (of, size)
    assert found.causes[0].effect == size  # without its author there is none
    assert {each.agent for each in (*found.causes, *found.smaller)} == {original.author}
    asked = decisions(path_of(its_messages(OpenRun(embedded), original.author), str))
    decided = sum(tick >= original.tick for (tick, _), _ in asked)
    assert [(each.kind, each.candidates, each.tried) for each in found.tried] == [
        ("people", 1, 1),
        ("decisions", decided, min(decided, 3)),
    ]
