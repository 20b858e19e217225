"""The effects of one agent on an outcome: of its presence, and of each of its decisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.factory.domains import look_at_domain, show_of
from actors.record.course import read_course
from actors.results.agent_path import chosen_agent
from actors.results.retrace import OpenRun
from actors.studies.causes.candidates import DECISIONS, PEOPLE, kinds_of
from actors.studies.causes.course import CASCADE
from actors.studies.causes.record import Causes
from actors.studies.causes.search import causes
from prism.events import PostEvent

BUDGET, TOP = 200, 5


class AgentCauses(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of an agent's presence and decisions on an outcome."""

    # agent, name: its number and name
    agent: int
    name: str
    why: str  # the reason for this outcome, in words; empty if it was asked for
    found: Causes  # its presence and its decisions as causes


async def causes_of_agent(
    path: Path, agent: int | str, of: str | None = None, on_progress: Callable[[int, int], None] = lambda *_: None
) -> AgentCauses:
    """Return what an agent's presence and each of its decisions have added to an outcome."""
    run = await to_thread.run_sync(OpenRun, path, look_at_domain)
    number, name = chosen_agent(run, agent)
    outcome, why = (of, "") if of is not None else await to_thread.run_sync(_outcome_for, run, number)
    by = [kind for kind in (PEOPLE, DECISIONS) if kind in kinds_of(run)]
    found = await causes(path, outcome, by=by, agent=number, budget=BUDGET, top=TOP, on_progress=on_progress)
    return AgentCauses(agent=number, name=name, why=why, found=found)


def _outcome_for(run: OpenRun, agent: int) -> tuple[str, str]:
    """Return the outcome that matters most for an agent, and why. It reads the journal, and blocks."""
    course = read_course(run.path, PostEvent)
    roots = list(dict.fromkeys(course.roots[post.post] for post in course.posts if post.author == agent))
    sizes = dict.fromkeys(roots, 0)
    for root in course.roots.values():
        if root in sizes:
            sizes[root] += 1
    largest = max(roots, key=lambda root: sizes[root], default=None)
    if largest is not None and sizes[largest] > 1:
        return f"{CASCADE}{largest}", "the largest cascade that the agent is in"
    measures = show_of(run.config).compared
    if not measures:
        raise RunDirectoryError(f"{run.path}: no outcome is known for runs of {run.domain_name}; name one with --of")
    return measures[-1], "the agent is in no cascade of several posts" if course.posts else ""
