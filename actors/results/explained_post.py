"""A post's whole tree, and a tie between two people: each act with its author, its tick, and its turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.record.messages import those_of, ticks_of
from actors.results.agent_path import chosen_agent
from actors.results.change_tables import changes_in, tie_changes
from actors.results.explained_turn import rows_of
from actors.results.explanation import (
    Cause,
    ExplainedCascade,
    ExplainedLike,
    ExplainedPost,
    ExplainedTie,
    ExplainedTieChange,
)
from actors.results.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.runtime.simulation import Simulation
from prism.agents import MOVED, Update
from prism.events import PostEvent, TieChanged
from prism.social.people.population import Population

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
    first = max(0, events[0].tick - ROUNDS_BEFORE * run.config.simulation.ticks_per_round)
    watched = _Watched(run, events)
    trace = Trace({event.agent for event in events}, first, events[-1].tick)

    def commit(simulation: Simulation, tick: int, _: bytes) -> None:
        watched.add(trace.turns, simulation, tick)
        trace.turns.clear()

    await retrace(run, trace, events[-1].tick + 1, on_begin, commit)
    return watched.cascade(post)


def _cascade_of(run: OpenRun, post: int) -> list[PostEvent]:
    """Return the events of a post's tree, in order. It reads the whole journal, and blocks."""
    ticks = ticks_of(run.path, until=run.length)
    events = [event for messages in ticks for event in those_of(messages, PostEvent)]
    parents = {event.post: event.parent for event in events if event.kind != LIKE}
    if post not in parents:
        raise RunDirectoryError(f"{run.path}: there is no post {post} in the ticks 0 to {run.length - 1:,}")
    root = post
    while (above := parents[root]) is not None:
        root = above
    tree, found = {root}, []
    for event in events:
        if event.parent in tree:
            tree.add(event.post)
        if event.post in tree:
            found.append(event)
    return found


class _Watched:
    """The parts of a tree, with the turns and texts that are found while the ticks are done again."""

    def __init__(self, run: OpenRun, events: list[PostEvent]) -> None:
        self._run = run
        self._events = events
        self._wanted = {(event.tick, event.agent, event.kind, event.post) for event in events}
        self._made = {event.post: event.tick for event in events if event.kind != LIKE}
        self._causes: dict[tuple[int, int, str, int], Cause] = {}
        self._texts: dict[int, str] = {}
        self._latest: dict[int, deque[TracedTurn]] = {}

    def add(self, turns: list[TracedTurn], simulation: Simulation, tick: int) -> None:
        """Take over the turns of a tick, and the texts of posts that were made in it."""
        for each in turns:
            latest = self._latest.setdefault(each.trigger.agent, deque(maxlen=TURNS_KEPT))
            latest.append(each)
            for event in each.events:
                if isinstance(event, PostEvent):
                    name = (event.tick, event.agent, event.kind, event.post)
                    if name in self._wanted:
                        self._causes[name] = cause_of(event, list(latest), _resting_states(simulation))
        network: Any = getattr(simulation.domain.world, "network", None)
        for post, made in self._made.items() if network is not None else ():
            if made == tick and (found := network.post(post)) is not None:
                self._texts[post] = network.text(found)

    def cascade(self, post: int) -> ExplainedCascade:
        """Return the cascade of a post: its posts as a tree, each with its likes and its cause."""
        names = {event.agent: self._run.name_of(event.agent) for event in self._events}
        likes: dict[int, list[ExplainedLike]] = {}
        depths: dict[int | None, int] = {None: -1}
        for event in self._events:
            if event.kind == LIKE:
                cause = self._causes.get((event.tick, event.agent, LIKE, event.post))
                found = ExplainedLike(agent=event.agent, name=names[event.agent], tick=event.tick, cause=cause)
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
                text=self._texts.get(event.post, ""),
                topics=event.topics,
                likes=tuple(likes.get(event.post, ())),
                cause=self._causes.get((event.tick, event.agent, event.kind, event.post)),
            )
            for event in self._events
            if event.kind != LIKE
        ]
        return ExplainedCascade(
            post=post,
            root=posts[0].post,
            ticks=self._run.length,
            posts=tuple(posts),
            depth=max(depths.values()),
            likes=sum(map(len, likes.values())),
            notes=tuple(self._run.notes),
        )


def _resting_states(simulation: Simulation) -> frozenset[str]:
    """Return the states in which a person is offline or goes on to the next post, so that no act is under way."""
    roles = getattr(getattr(simulation.domain, "behaviour", None), "roles", {})
    return frozenset(str(state) for state, role in roles.items() if role != "attend")


def cause_of(
    event: PostEvent | TieChanged, turns: Sequence[TracedTurn], resting: frozenset[str] = frozenset()
) -> Cause:
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
        if _moved(each) and ((is_about and is_decided) or begins):
            return _cause(each)
    return _cause(turns[-1])


def _moved(each: TracedTurn) -> bool:
    return isinstance(each.answer, Update) and each.answer.source in MOVED


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
            ExplainedTieChange(tick=each.tick, kind=each.kind, post=each.post, cause=causes.get((each.tick, each.kind)))
            if isinstance(each, TieChanged)
            else each
            for each in found
        ),
        notes=tuple(run.notes),
    )


def _changes_of(run: OpenRun, people: Population, agent: int, whom: int) -> list[TieChanged | ExplainedTieChange]:
    """Return the changes of a tie: those of interventions as they are shown. It reads the whole journal, and blocks."""
    found: list[TieChanged | ExplainedTieChange] = []
    for messages in ticks_of(run.path, until=run.length):
        for message in changes_in(messages):
            if isinstance(message, TieChanged):
                found += [message] if (message.agent, message.whom) == (agent, whom) else []
                continue
            for tick, one, other, follows in tie_changes([message], people.number):
                if (one, other) == (agent, whom):
                    found.append(ExplainedTieChange(tick=tick, kind="follow" if follows else "unfollow"))
    return found


async def _causes(run: OpenRun, changes: list[TieChanged], on_begin: OnBegin) -> dict[tuple[int, str], Cause]:
    """Return `{(tick, kind): the turn that decided on the change}`."""
    if not changes:
        return {}
    first = max(0, changes[0].tick - ROUNDS_BEFORE * run.config.simulation.ticks_per_round)
    trace = Trace({changes[0].agent}, first, changes[-1].tick)
    latest: deque[TracedTurn] = deque(maxlen=TURNS_KEPT)
    causes: dict[tuple[int, str], Cause] = {}

    def commit(*_: object) -> None:
        for turn in trace.turns:
            latest.append(turn)
            for event in turn.events:
                if isinstance(event, TieChanged) and event in changes:
                    causes[event.tick, event.kind] = cause_of(event, latest)
        trace.turns.clear()

    await retrace(run, trace, changes[-1].tick + 1, on_begin, commit)
    return causes
