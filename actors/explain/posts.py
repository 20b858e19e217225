"""A post's whole tree: each act with its author, its tick, and its turn."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.explain.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.explain.tree import TEXT, Node
from actors.explain.turns import rows_of
from actors.runtime.simulation import Simulation
from actors.store.course import posts_until
from actors.store.messages import read_messages
from prism.agents import MOVED, Update
from prism.events import PostEvent
from prism.quoting import compact
from prism.wording import counted

TURNS_KEPT = 32  # the turns of an agent before an engagement among which the one that decided on it is looked for
ROUNDS_BEFORE = 2  # the rounds before a cascade in which its original may have been decided on
LIKE = "like"


async def explain_post(path: Path, post: int, on_begin: OnBegin = lambda _: None) -> Node:
    """Return the whole tree of a post, each part of it with the turn that decided on it.

    The agents in the tree are traced from before its original to its last engagement, which takes as long as a replay
    of these ticks from the nearest checkpoint. `post`: its id, as `summary.json` and the journal have it.
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
    root = events[0].post
    likes: dict[int, list[Node]] = defaultdict(list)
    depths: dict[int | None, int] = {None: -1}
    below: dict[int | None, list[PostEvent]] = defaultdict(list)
    for event in events:
        if event.kind == LIKE:
            value = {"agent": event.agent, "name": run.name_of(event.agent), "tick": event.tick}
            text = f"tick {event.tick:,}: {run.called(event.agent)}"
            likes[event.post].append(Node("liked by", text, value=value, children=(_cause(causes.get(event)),)))
        else:
            depths[event.post] = depths[event.parent] + 1
            below[event.parent].append(event)
    # Each post stands behind the one that it answers or reshares. They are not nested: cascades may be very deep.
    posts, waiting = list[Node](), below[None]
    while waiting:
        event = waiting.pop()
        waiting.extend(reversed(below[event.post]))
        done = {"publish": "posts", "reply": "replies to"}.get(event.kind, f"{event.kind}s")
        about = "" if event.parent is None else f" {event.parent}"
        marked = "  <- asked for" if event.post == post != root else ""
        value = {"post": event.post, "kind": event.kind, "agent": event.agent, "name": run.name_of(event.agent)}
        value |= {"tick": event.tick, "parent": event.parent, "depth": depths[event.post], "topics": [*event.topics]}
        text = f"tick {event.tick:,}: {run.called(event.agent)} {done}{about}: post {event.post}{marked}"
        said = [Node(TEXT, texts[event.post])] if texts.get(event.post) else []
        children = (*said, _cause(causes.get(event)), *likes[event.post])
        posts.append(Node("post", text, value=value, indent=depths[event.post], children=children))
    liked, depth = sum(map(len, likes.values())), max(depths.values())
    size = f"{counted(len(posts), 'post')}, {depth:,} deep, {counted(liked, 'like')}, in {run.length:,} ticks"
    facts = {"post": post, "root": root, "ticks": run.length, "posts": len(posts), "depth": depth, "likes": liked}
    hint = Node("hint", "--agent A --tick T explains a turn in full")
    return Node("cascade", f"post {root}: {size}", value=facts, children=(*run.note_nodes, *posts, hint))


def _cascade_of(run: OpenRun, post: int) -> list[PostEvent]:
    """Return the events of a post's tree, in order. It reads the posts and likes of the whole record, and blocks."""
    posts = posts_until(run.record, run.length)
    [place] = posts.places(np.array([post]))
    if place < 0:
        raise RunDirectoryError(f"{run.path}: there is no post {post} in the ticks 0 to {run.length - 1:,}")
    tree = posts.ids[posts.roots == posts.roots[place]]
    kept = dict.fromkeys(("posts", "likes"), lambda columns: np.isin(columns["post"], tree))
    return [*read_messages(run.record, PostEvent, kept=kept, until=run.length)]


async def _causes(
    run: OpenRun, events: Sequence[PostEvent], on_begin: OnBegin, look: Callable[[Simulation, int], None]
) -> dict[PostEvent, TracedTurn]:
    """Return the turn that decided on each event, of these in their order, for those that a turn led to.

    `look`: called with the simulation after each tick that is done again.
    """
    first = max(0, events[0].tick - ROUNDS_BEFORE * run.config.simulation.ticks_per_round)
    trace, wanted = Trace({event.agent for event in events}, first, events[-1].tick), {*events}
    latest: defaultdict[int, deque[TracedTurn]] = defaultdict(lambda: deque(maxlen=TURNS_KEPT))
    causes: dict[PostEvent, TracedTurn] = {}

    def commit(simulation: Simulation, tick: int, _: bytes) -> None:
        # The states in which a person is offline or goes on to the next post, so that no act is under way.
        roles = getattr(getattr(simulation.domain, "behaviour", None), "roles", {})
        resting = {str(state) for state, role in roles.items() if role != "attend"}
        for turn in trace.turns:
            turns = latest[turn.trigger.agent]
            turns.append(turn)
            for event in turn.events:
                if isinstance(event, PostEvent) and event in wanted:
                    causes[event] = _deciding(event, turns, resting)
        trace.turns.clear()
        look(simulation, tick)

    await retrace(run, trace, events[-1].tick + 1, on_begin, commit)
    return causes


def _deciding(event: PostEvent, turns: Sequence[TracedTurn], resting: Collection[str]) -> TracedTurn:
    """Return the turn that decided on an event: the latest about its post in which there was something to decide.

    Of an original post it is the turn with which its author left a state in which nothing was under way. The last of
    the author's turns is that in which the event took place.
    """
    about = event.parent if event.kind != LIKE else event.post
    for each in reversed(turns):
        is_decided = len(each.outcomes) > 1 or each.question is not None
        is_about = about is not None and getattr(each.trigger.context, "id", None) == about
        begins = about is None and each.state in resting
        has_moved = isinstance(each.answer, Update) and each.answer.source in MOVED
        if has_moved and ((is_about and is_decided) or begins):
            return each
    return turns[-1]


def _cause(turn: TracedTurn | None) -> Node:
    """Return the turn that decided on an event: `--agent A --tick T` explains it in full."""
    if turn is None:
        return Node("why", "from outside, by an intervention")
    row: dict[str, Any] = next((row.value for row in rows_of(turn) if row.value["is_taken"]), {})
    update: Any = turn.answer
    guard, values, question = row.get("guard", ""), row.get("values", {}), turn.question
    value = {
        "agent": turn.trigger.agent,
        "tick": turn.trigger.tick,
        "trigger": turn.trigger.name,
        "state": turn.state,
        "to_state": str(update.to_state),
        "source": str(update.source),
        "reason": update.reason,  # why a decision is a fallback
        "row": row.get("name", ""),
        "guard": guard,
        "values": values,
        "asked": None if question is None else question.tick,
        "options": [] if question is None else [*map(str, question.options)],
    }
    text = f"tick {turn.trigger.tick:,}: {turn.state} -> {update.to_state} on {turn.trigger.name}"
    if question is not None:
        why = f", {update.reason}" if update.reason else ""
        among = f"among {', '.join(value['options'])}, asked in tick {question.tick:,}"
        return Node("why", f"{text}, chosen by {update.source}{why} {among}", value=value)
    read = ", ".join(f"{name} {compact(each)}" for name, each in values.items())
    because = f" because {guard}" if guard else ""
    return Node("why", f"{text}, by {update.source}{because}{f' ({read})' if read else ''}", value=value)
