"""The path of an agent through a run, as the journal has it, and the agent that a user names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from actors.core.errors import RunDirectoryError
from actors.explain.retrace import OpenRun
from actors.explain.tree import COLUMNS, Node, plain
from actors.factory.domains import look_at_domain
from actors.store.messages import of_agent
from prism.agents import DECIDED, STALE, Question, Update
from prism.events import Event, FeedShown, PostEvent, PostTaken, TieChanged
from prism.quoting import compact, shown
from prism.wording import counted

NAMES_TRIED = 10_000
"""The agents whose names are compared with one that nobody has: all of a million would take half a minute."""
QUESTION = "question"
"""The source of a turn that asked."""
NEAREST = 2
"""The turns on each side of a tick that a message names."""
NO_TURN = "it has had no turn at all"
LATEST = 20
"""The turns of a path that are shown if no range is asked for."""


class PathTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of an agent as the journal has it."""

    tick: int
    trigger: str
    from_state: str  # from_state, to_state: the states before and after it; equal if it asked, or stayed
    to_state: str
    source: str  # what moved it, a `prism.agents.Source`; `question` if it asked the oracle instead
    reason: str = ""  # why a decision is a fallback, or why it had no effect
    options: tuple[str, ...] = ()  # the states that the oracle was asked to choose from
    effect: Any = None  # the effect that the turn had on the world, as JSON values
    events: tuple[dict[str, Any], ...] = ()  # what took place because of it: see `event_of`


def explain_path(path: Path, agent: int | str, first: int | None = None, last: int | None = None) -> Node:
    """Return the path of an agent, as the journal has it: nothing is worked out again.

    Args:
        path: the run's directory.
        agent: the agent's number or name.
        first, last: the first and the last tick; without both, the latest 20 turns.

    Raises:
        RunDirectoryError: there is no such run, agent or tick.
        JournalError: the journal cannot be read.
        ConfigError, InputError: the run's configuration or an input file cannot be used.
    """
    run = OpenRun(path, look_at_domain)
    number = chosen_agent(run, agent)
    refuse_ticks(run, first, last)
    whole = path_of(its_messages(run, number), run.called)
    turns = whole[-LATEST:]
    if first is not None or last is not None:
        turns = [each for each in whole if (first or 0) <= each.tick <= (run.length if last is None else last)]
    questions = sum(each.source == QUESTION for each in whole)
    few = f"{len(turns):,} of them are shown; --first and --last choose others" if turns else "none is in these ticks"
    hint = f"? is a question to the oracle: {counted(questions, 'question')} in all; --tick TICK explains a turn"
    rows = [Node(kind=COLUMNS, cells=("tick", "trigger", "from", "to", "by"))] if turns else []
    for turn in turns:
        to_state = "?" if turn.options else turn.to_state if turn.to_state != turn.from_state else "(stays)"
        by = "asks the oracle" if turn.options else turn.source + (f", {turn.reason}" if turn.reason else "")
        done = ", ".join(each["words"] for each in turn.events)
        cells = f"{turn.tick:,}", turn.trigger, turn.from_state, to_state, f"{by}{f': {done}' if done else ''}"
        rows.append(Node(kind="turn", cells=cells, value=msgspec.to_builtins(turn)))
    facts = {"ticks": run.length, "turns": len(whole), "questions": questions}
    return Node(
        kind="agent",
        text=f"{run.called(number)}: {counted(len(whole), 'turn')} in {run.length:,} ticks",
        value={"agent": number, "name": run.name_of(number), **facts},
        children=(
            *([] if len(turns) == len(whole) else [Node(kind="shown", text=few)]),
            *([] if whole else [Node(kind="hint", text=NO_TURN)]),
            *run.note_nodes,
            *rows,
            *([Node(kind="hint", text=hint)] if turns and questions else []),
        ),
    )


def its_messages(run: OpenRun, number: int) -> list[Any]:
    """Return every message of an agent up to the run's ticks, in order. It reads the whole record, and blocks."""
    return [*of_agent(run.record, number, until=run.length)]


def path_of(messages: Iterable[Any], called: Callable[[int], str]) -> list[PathTurn]:
    """Return the turns of an agent. `called`: returns an agent in words."""
    turns: list[PathTurn] = []
    for message in messages:
        told: dict[str, Any]
        match message:
            case Update():
                told = {"from_state": message.from_state, "to_state": message.to_state, "source": str(message.source)}
                told |= {"reason": message.reason, "effect": plain(message.effect)}
            case Question():
                told = {"from_state": message.state, "to_state": message.state, "source": QUESTION}
                told["options"] = message.options
            case _:
                if turns and turns[-1].tick == message.tick:
                    events = (*turns[-1].events, event_of(message, called))
                    turns[-1] = msgspec.structs.replace(turns[-1], events=events)
                continue
        turns.append(PathTurn(tick=message.tick, trigger=message.trigger, **told))
    return turns


def event_of(event: Event, called: Callable[[int], str]) -> dict[str, Any]:
    """Return what took place by field, with its `kind` and its `words`, such as `{"kind": "like", "post": 12, ...}`."""
    fields = {name: plain(getattr(event, name)) for name in event.__struct_fields__[2:]}
    match event:
        case PostEvent():
            words = f"{event.kind} {event.post}{'' if event.parent is None else f' of {event.parent}'}"
        case TieChanged():
            words = f"{event.kind} {called(event.whom)}, with post {event.post} in view"
        case FeedShown():
            words = f"was shown a feed of {counted(len(event.posts), 'post')}"
        case PostTaken():
            words = f"post {event.post} is post {event.number:,} of the file"
        case _:
            words = f"{event.name} becomes {compact(event.value)}"
    return {"kind": event.kind, **fields, "words": words}


def decisions(turns: Sequence[PathTurn]) -> Iterator[tuple[tuple[int, str], int]]:
    """Yield the tick and trigger of each question of a path with the tick in which its decision took effect."""
    asked: dict[str, int] = {}
    for each in turns:
        if each.source == QUESTION:
            asked[each.trigger] = each.tick
        elif (each.source in DECIDED or each.reason == STALE) and each.trigger in asked:
            yield (asked.pop(each.trigger), each.trigger), each.tick


def nearest(turns: Sequence[PathTurn], tick: int, noun: str = "turn") -> str:
    """Return the ticks of the turns around a tick, in words. There is at least one turn."""
    ticks = sorted({each.tick for each in turns})
    near = [each for each in ticks if each < tick][-NEAREST:] + [each for each in ticks if each > tick][:NEAREST]
    listed = ", ".join(f"{each:,}" for each in near)
    return (
        f"its nearest {noun} is in tick {listed}"
        if len(near) == 1
        else f"its nearest {noun}s are in the ticks {listed}"
    )


def refuse_ticks(run: OpenRun, *ticks: int | None) -> None:
    for tick in ticks:
        if tick is not None and not 0 <= tick < run.length:
            problem = f"there is no tick {tick:,}; the run has the ticks 0 to {run.length - 1:,}"
            raise RunDirectoryError(f"{run.path}: {problem}")


def chosen_agent(run: OpenRun, agent: int | str) -> int:
    """Return the number of an agent of a run, given its number, its name, or the id in a file of people."""
    ids = getattr(getattr(run.domain, "population", None), "ids", ())
    try:
        return agent_named(agent, run.domain.size, run.name_of, ids)
    except ValueError as error:
        raise RunDirectoryError(f"{run.path}: {error}") from None


def agent_named(agent: int | str, size: int, name_of: Callable[[int], str], known: Sequence[Sequence[str]] = ()) -> int:
    """Return the number of one of `size` agents.

    A whole number is the number of an agent, as a run shows it, and an id only if no agent has this number.

    Args:
        known: the ids of people in the files of a social run, for each kind of id.

    Raises:
        ValueError: there is no such agent, or there are several.
    """
    bearers: list[int] = (
        [] if isinstance(agent, int) else sorted({texts.index(agent) for texts in known if agent in texts})
    )
    if isinstance(agent, int) or (agent.isdecimal() and (int(agent) < size or not bearers)):
        number = int(agent)
        if not 0 <= number < size:
            raise ValueError(f"there is no agent {number:,}; the run has the agents 0 to {size - 1:,}")
        return number
    bearers = bearers or [number for number in range(size) if name_of(number) == agent]
    if len(bearers) == 1:
        return bearers[0]
    expected = f"{'an id, ' if known else ''}a name, or a number from 0 to {size - 1:,}"
    names = dict.fromkeys(map(name_of, range(min(size, NAMES_TRIED))))
    near = get_close_matches(agent, names, cutoff=0.75)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    problem = f"no agent is called {shown(agent)}; {meant}expected {expected}"
    if bearers:
        few = ", ".join(map(str, bearers[:10])) + (", ..." if len(bearers) > 10 else "")
        problem = f"{len(bearers):,} agents are called {shown(agent)}: {few}; name one by its number"
    raise ValueError(problem)
