"""A post's whole tree, and a tie between two people: each act with its author, its tick, and its turn."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.explain.agent_path import chosen_agent
from actors.explain.explained_turn import rows_of
from actors.explain.explanation import (
    Cause,
    ExplainedCascade,
    ExplainedLike,
    ExplainedPost,
    ExplainedTie,
    ExplainedTieChange,
)
from actors.explain.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.runtime.simulation import Simulation
from actors.store.messages import messages_where
from actors.store.posts import posts_until
from prism.agents import MOVED, Update
from prism.events import Intervened, PostEvent, TieChanged
from prism.social.people.population import Population
from prism.social.ties.changes import tie_changes

TURNS_KEPT = 32
"""The turns of an agent before an engagement among which the one that decided on it is looked for."""
ROUNDS_BEFORE = 2
"""The rounds before a cascade in which its original may have been decided on."""
LIKE = "like"


async def explain_post(path: Path, post: int, on_begin: OnBegin = lambda _: None) -> ExplainedCascade:
    """Return the whole tree of a post, each part of it with the turn that decided on it.

    The agents in the tree are traced from before its original to its last engagement, which takes as long as a replay
    of these ticks from the nearest checkpoint.

    Args:
        post: its id, as `summary.json` and the journal have it.
    """
    run = await to_thread.run_sync(OpenRun, path)
    events = await to_thread.run_sync(_cascade_of, run, post)
    made = {event.post: event.tick for event in events if event.kind != LIKE}
    texts: dict[int, str] = {}

    def read_texts(simulation: Simulation, tick: int) -> None:
        network: Any = getattr(simulation.domain.world, "network", None)
        for each in [each for each, at in made.items() if at == tick] if network is not None else ():
            if (found := network.post(each)) is not None:
                texts[each] = network.text(found)

    causes = await _causes(run, events, on_begin, read_texts)
    names = {event.agent: run.name_of(event.agent) for event in events}
    likes: dict[int, list[ExplainedLike]] = {}
    depths: dict[int | None, int] = {None: -1}
    for event in events:
        if event.kind == LIKE:
            found = ExplainedLike(agent=event.agent, name=names[event.agent], tick=event.tick, cause=causes.get(event))
            likes.setdefault(event.post, []).append(found)
        else:
            depths[event.post] = depths[event.parent] + 1
    posts = [
        ExplainedPost(
            post=event.post,
            kind=event.kind,
            agent=event.agent,
            name=names[event.agent],
            tick=event.tick,
            parent=event.parent,
            depth=depths[event.post],
            text=texts.get(event.post, ""),
            topics=event.topics,
            likes=tuple(likes.get(event.post, ())),
            cause=causes.get(event),
        )
        for event in events
        if event.kind != LIKE
    ]
    return ExplainedCascade(
        post=post,
        root=posts[0].post,
        ticks=run.length,
        posts=tuple(posts),
        depth=max(depths.values()),
        likes=sum(map(len, likes.values())),
        notes=tuple(run.notes),
    )


def _cascade_of(run: OpenRun, post: int) -> list[PostEvent]:
    """Return the events of a post's tree, in order. It reads the posts and likes of the whole record, and blocks."""
    posts = posts_until(run.record, run.length)
    [place] = posts.places(np.array([post]))
    if place < 0:
        raise RunDirectoryError(f"{run.path}: there is no post {post} in the ticks 0 to {run.length - 1:,}")
    tree = posts.ids[posts.roots == posts.roots[place]]
    kept = dict.fromkeys(("posts", "likes"), lambda columns: np.isin(columns["post"], tree))
    return [*messages_where(run.record, kept, PostEvent, until=run.length)]


async def explain_tie(
    path: Path, agent: int | str, whom: int | str, on_begin: OnBegin = lambda _: None
) -> ExplainedTie:
    """Return each change of the tie from one person to another, with the turn that decided on it.

    The person is traced from before the first change to the last one, which takes as long as a replay of these ticks
    from the nearest checkpoint.

    Args:
        agent, whom: the two people, by number or name.
    """
    run = await to_thread.run_sync(OpenRun, path)
    (number, name), (other, other_name) = chosen_agent(run, agent), chosen_agent(run, whom)
    population = getattr(run.domain, "population", None)
    if not isinstance(population, Population):
        raise RunDirectoryError(f"{path}: has no people on a feed, so there are no ties between them")
    found = await to_thread.run_sync(_changes_of, run, population, number, other)
    causes = await _causes(run, [each for each in found if isinstance(each, TieChanged)], on_begin)
    return ExplainedTie(
        agent=number,
        name=name,
        whom=other,
        whom_name=other_name,
        ticks=run.length,
        follows_at_start=bool(population.graph.follows(number, other)),
        changes=tuple(
            ExplainedTieChange(tick=each.tick, kind=each.kind, post=each.post, cause=causes.get(each))
            if isinstance(each, TieChanged)
            else each
            for each in found
        ),
        notes=tuple(run.notes),
    )


def _changes_of(run: OpenRun, people: Population, agent: int, whom: int) -> list[TieChanged | ExplainedTieChange]:
    """Return the changes of a tie: those of interventions as they are shown. It reads the whole record, and blocks."""
    found: list[TieChanged | ExplainedTieChange] = []
    kept = {"ties": lambda columns: (columns["agent"] == agent) & (columns["whom"] == whom)}
    for message in messages_where(run.record, kept, TieChanged, Intervened, until=run.length):
        if isinstance(message, TieChanged):
            found.append(message)
            continue
        for tick, one, other, follows in tie_changes([message], people.number):
            if (one, other) == (agent, whom):
                found.append(ExplainedTieChange(tick=tick, kind="follow" if follows else "unfollow"))
    return found


async def _causes(
    run: OpenRun,
    events: Sequence[PostEvent | TieChanged],
    on_begin: OnBegin,
    look: Callable[[Simulation, int], None] = lambda *_: None,
) -> dict[PostEvent | TieChanged, Cause]:
    """Return the turn that decided on each event, for those that a turn led to.

    Args:
        events: in their order.
        look: called with the simulation after each tick that is done again.
    """
    if not events:
        return {}
    first = max(0, events[0].tick - ROUNDS_BEFORE * run.config.simulation.ticks_per_round)
    trace, wanted = Trace({event.agent for event in events}, first, events[-1].tick), {*events}
    latest: defaultdict[int, deque[TracedTurn]] = defaultdict(lambda: deque(maxlen=TURNS_KEPT))
    causes: dict[PostEvent | TieChanged, Cause] = {}

    def commit(simulation: Simulation, tick: int, _: bytes) -> None:
        # The states in which a person is offline or goes on to the next post, so that no act is under way.
        roles = getattr(getattr(simulation.domain, "behaviour", None), "roles", {})
        resting = {str(state) for state, role in roles.items() if role != "attend"}
        for turn in trace.turns:
            turns = latest[turn.trigger.agent]
            turns.append(turn)
            for event in turn.events:
                if isinstance(event, PostEvent | TieChanged) and event in wanted:
                    causes[event] = _cause(_deciding(event, turns, resting))
        trace.turns.clear()
        look(simulation, tick)

    await retrace(run, trace, events[-1].tick + 1, on_begin, commit)
    return causes


def _deciding(event: PostEvent | TieChanged, turns: Sequence[TracedTurn], resting: Collection[str]) -> TracedTurn:
    """Return the turn that decided on an event: the latest about its post in which there was something to decide.

    Of an original post it is the turn with which its author left a state in which nothing was under way.

    Args:
        turns: the author's latest turns; the last one is that in which the event took place.
        resting: the states in which nothing is under way.
    """
    about = event.parent if isinstance(event, PostEvent) and event.kind != LIKE else event.post
    for each in reversed(turns):
        is_decided = len(each.outcomes) > 1 or each.question is not None
        is_about = about is not None and getattr(each.trigger.context, "id", None) == about
        begins = about is None and each.state in resting
        has_moved = isinstance(each.answer, Update) and each.answer.source in MOVED
        if has_moved and ((is_about and is_decided) or begins):
            return each
    return turns[-1]


def _cause(each: TracedTurn) -> Cause:
    taken: Any = next((row for row in rows_of(each) if row.is_taken), None)
    update: Any = each.answer
    return Cause(
        agent=each.trigger.agent,
        tick=each.trigger.tick,
        trigger=each.trigger.name,
        state=each.state,
        to_state=str(update.to_state),
        source=str(update.source),
        reason=update.reason,
        row="" if taken is None else taken.name,
        guard="" if taken is None else taken.guard,
        values={} if taken is None else taken.values,
        asked=None if each.question is None else each.question.tick,
        options=() if each.question is None else tuple(map(str, each.question.options)),
    )
