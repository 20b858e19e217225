"""The path of an agent, and its turns, each with all that led to it. `docs/cause.md` shows both.

It costs no call to a model: turns are worked out again, and compared with the journal, up to the last whole tick, also
while the run is going on, after a kill, and in a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.messages import QuestionName, name_of_question
from actors.explain.questions import questions_of, without_chain
from actors.explain.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.explain.tree import COLUMNS, Node, plain
from actors.factory.domains import look_at_domain
from actors.store.messages import of_agent
from prism.agents import DECIDED, MOVED, STALE, Question, Update
from prism.events import AttributeSet, Event, FeedShown, PostEvent, PostTaken, TieChanged
from prism.quoting import compact, printable, shown
from prism.social.changing import ReadChange
from prism.statechart import ENABLED, Choice
from prism.wording import counted

_MARKS = {"true": "yes", "needs_oracle": "ask", "else": "else", "raised": "error", "not_asked": "-", "not_needed": "-"}
"""The outcome of a row in a word; `no` for a false guard."""


async def explain_turns(
    path: Path, agent: int | str, first: int, last: int | None = None, on_begin: OnBegin = lambda _: None
) -> Node:
    """Return an agent's turns from one tick to another, and those in which the questions that it asked are decided.

    It takes as long as a replay from the nearest checkpoint at or before `first`; a run keeps its latest ones. Nothing
    is changed, and a run that is going on is not disturbed.

    Args:
        agent: the agent's number or name.
        last: the last tick; by default `first`, in which it then must have a turn.

    Raises:
        RunDirectoryError: there is no such run, agent, tick or turn.
        DivergedError: a tick has another result than the journal.
        JournalError, ConfigError, InputError: a file of the run or an input file cannot be used.
    """
    run = await to_thread.run_sync(OpenRun, path)
    number = chosen_agent(run, agent)
    refuse_ticks(run, first, last)
    messages = await to_thread.run_sync(its_messages, run, number)
    whole = path_of(messages, run.called)
    if last is None and all(each.tick != first for each in whole):
        instead = nearest(whole, first) if whole else NO_TURN
        problem = f"{printable(run.called(number))} has no turn in tick {first:,}; {instead}"
        raise RunDirectoryError(f"{path}: {problem}")
    last = first if last is None else last
    decided = {(number, asked, trigger): tick for (asked, trigger), tick in decisions(whole)}
    trace = Trace({number}, first, max([last, *(tick for (_, at, _), tick in decided.items() if first <= at <= last)]))
    await retrace(run, trace, trace.last + 1, on_begin)
    for each in trace.turns:  # a user's own domain describes an agent by the messages before the turn
        before = [one for one in messages if one.tick < each.trigger.tick]
        each.profile = each.profile or plain(run.show.panel(number, before))
    questions = await questions_of(run, trace, decided)
    begun = ((each.trigger.tick if each.question is None else each.question.tick, each) for each in trace.turns)
    turns = [each for tick, each in begun if each.trigger.tick <= last or first <= tick <= last]
    value = {"agent": number, "name": run.name_of(number), "ticks": run.length}
    children = (*run.note_nodes, *turn_nodes(run, turns, questions))
    return Node("agent", run.called(number), value=value, children=children)


def turn_nodes(
    run: OpenRun, turns: Sequence[TracedTurn], questions: dict[QuestionName, tuple[Node, ...]]
) -> Iterator[Node]:
    """Yield traced turns. What an earlier turn of the agent has said of it or of a question is not said again."""
    told: set[QuestionName] = set()
    profiles: dict[int, Any] = {}
    for each in turns:
        trigger, update = each.trigger, each.answer
        name = None if each.question is None else name_of_question(each.question)
        parts: list[Node] = []
        if profiles.get(trigger.agent) != each.profile:
            profiles[trigger.agent] = each.profile
            parts.append(Node("profile", value={key: it for key, it in each.profile.items() if key != "name"}))
        rows = rows_of(each)
        if trigger.decision is not None and name in told:
            asked = questions[name][0]
            which = f"on question {asked.value['id']}" if asked.value["is_sent"] else "on the question"
            parts.append(Node("decision", f"{which} of tick {asked.value['tick']:,}"))
            parts += [row for row in rows if row.value["is_taken"]]
        else:
            parts += _seen(run, each, rows)
            if name is not None:
                told.add(name)
                parts += questions[name]
        moved = {"to_state": each.state, "source": QUESTION, "reason": "", "effect": None}
        did = "asked the oracle, and deliberates"
        if isinstance(update, Update):
            source, effect = str(update.source), plain(update.effect)
            moved = {"to_state": str(update.to_state), "source": source, "reason": update.reason, "effect": effect}
            did = f"{each.state} -> {update.to_state}" if update.to_state != each.state else f"stayed in {each.state}"
            did = f"{did}, by {source}{f', {update.reason}' if update.reason else ''}"
            did += "" if effect is None else f"; effect {compact(without_chain(effect))}"
            parts += [Node("did", did), *_changes(each, update)]
        else:
            parts.append(Node("did", did))
        events = [event_of(event, run.called) for event in each.events]
        parts += [Node("followed", event["words"], value=event) for event in events]
        text = f"tick {trigger.tick:,}: {trigger.name} in {each.state}, since {counted(each.ticks_in_state, 'tick')}"
        value = {"tick": trigger.tick, "agent": trigger.agent, "trigger": trigger.name, "state": each.state}
        value |= {"ticks_in_state": each.ticks_in_state, "is_decision": trigger.decision is not None, **moved}
        yield Node("turn", text, value=value, children=(*parts,))


def _seen(run: OpenRun, traced: TracedTurn, rows: Sequence[Node]) -> Iterator[Node]:
    """Yield what a turn was given: the context of its trigger, and the rows of the chart with what they read."""
    if traced.trigger.context is not None:
        yield Node("context", value=dict(run.show.seen(plain(traced.trigger.context))))
    if not rows:
        yield Node("rows", "none: the chart has no row for this trigger here, so nothing comes of it")
    yield from rows
    if values := {name: value for row in rows for name, value in row.value["values"].items()}:
        yield Node("values", value=values)


def rows_of(traced: TracedTurn) -> list[Node]:
    """Return the rows of the chart for a traced turn, in order. With a decision they are as of the question's tick."""
    taken, found = _taken(traced), list[Node]()
    for place, (each, values) in enumerate(zip(traced.outcomes, traced.values, strict=True)):
        row, is_taken = each.row, place == taken
        # A guard as its author wrote it: an expression, or the name of a function.
        guard = row.when.text if row.when is not None else ""
        if row.when is None and row.guard is not None:
            guard = getattr(row.guard, "__qualname__", None) or type(row.guard).__qualname__
        target = None if row.target is None else str(row.target)
        outer = f", {counted(row.level, 'state')} around it" if row.level else ""
        leads = "" if row.name.endswith(f"> {target}") else f" -> {target or 'as the oracle decides'}"
        value = {"name": row.name, "target": target, "level": row.level, "guard": guard, "values": plain(values)}
        value |= {"outcome": each.outcome, "error": each.error}
        value |= {"is_candidate": each.outcome in ENABLED, "is_taken": is_taken}
        below = [Node(kind, words) for kind, words in (("if", guard), ("error", each.error)) if words]
        if found and guard and (guard, each.outcome) == (found[-1].value["guard"], found[-1].value["outcome"]):
            found[-1] = replace(found[-1], children=())  # one guard of several rows stands below the last of them
        taken_mark = "  <- taken" if is_taken else ""
        text = f"{_MARKS.get(each.outcome, 'no'):<5} {row.name}{leads}{outer}{taken_mark}"
        found.append(Node("row", text, value=value, children=(*below,)))
    return found


def _taken(traced: TracedTurn) -> int | None:
    answer = traced.answer
    if not isinstance(answer, Update) or traced.chosen is None or answer.source not in MOVED:
        return None
    chosen = traced.chosen
    row = chosen.option(answer.to_state) if isinstance(chosen, Choice) else chosen
    enabled = [(place, each.row) for place, each in enumerate(traced.outcomes) if each.outcome in ENABLED]
    of_any_target = [place for place, each in enabled if each.target is None]
    return next((place for place, each in enabled if each == row), next(iter(of_any_target), None))


def _changes(traced: TracedTurn, update: Update[Any]) -> Iterator[Node]:
    """Yield the changes of attributes by the row that was taken."""
    became = {each.name: each.value for each in traced.events if isinstance(each, AttributeSet)}
    changes: Sequence[ReadChange] = traced.changes.get(str(update.to_state), ()) if update.source in MOVED else ()
    for each in changes:
        values, found, after = plain(each.values), plain(each.found), became.get(each.name, each.before)
        given = f" if {each.when}" if each.when else ""
        why = "the expression has no value" if found is None else f"the expression is {compact(found)}"
        if not each.holds:
            why = "the condition does not hold" if values else "no post is in view"
        read = ", ".join(f"{name} {compact(value)}" for name, value in values.items())
        stays = "stays" if after == each.before else f"{compact(each.before)} ->"
        value = {
            "name": each.name,
            "to": each.to,
            "when": each.when,
            "values": values,
            "holds": each.holds,  # whether the value is computed
            "found": found,  # the value of the expression, before it is kept in its range
            "before": each.before,
            "after": after,  # in this tick, and from the next one on
        }
        became_node = Node("became", f"{stays} {compact(after)}: {why}{f'; {read}' if read else ''}")
        yield Node("set", f"{each.name} = {each.to}{given}", value=value, children=(became_node,))


NAMES_TRIED = 10_000
"""The agents whose names are compared with one that nobody has: all of a million would take half a minute."""
QUESTION = "question"  # the source of a turn that asked
NEAREST = 2  # the turns on each side of a tick that a message names
NO_TURN = "it has had no turn at all"
LATEST = 20  # the turns of a path that are shown if no range is asked for


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
    """Return the path of an agent, given its number or name, as the journal has it: nothing is worked out again.

    `first`, `last`: the first and the last tick; without both, the latest 20 turns. Errors are those of
    `explain_turns`.
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
    rows = [Node(COLUMNS, cells=("tick", "trigger", "from", "to", "by"))] if turns else []
    for turn in turns:
        to_state = "?" if turn.options else turn.to_state if turn.to_state != turn.from_state else "(stays)"
        by = "asks the oracle" if turn.options else turn.source + (f", {turn.reason}" if turn.reason else "")
        done = ", ".join(each["words"] for each in turn.events)
        cells = f"{turn.tick:,}", turn.trigger, turn.from_state, to_state, f"{by}{f': {done}' if done else ''}"
        rows.append(Node("turn", cells=cells, value=msgspec.to_builtins(turn)))
    facts = {"ticks": run.length, "turns": len(whole), "questions": questions}
    return Node(
        "agent",
        f"{run.called(number)}: {counted(len(whole), 'turn')} in {run.length:,} ticks",
        value={"agent": number, "name": run.name_of(number), **facts},
        children=(
            *([] if len(turns) == len(whole) else [Node("shown", few)]),
            *([] if whole else [Node("hint", NO_TURN)]),
            *run.note_nodes,
            *rows,
            *([Node("hint", hint)] if turns and questions else []),
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
    """Return the number of one of `size` agents. If there is no such agent, or there are several, it is a ValueError.

    A whole number is the number of an agent, as a run shows it, and an id only if no agent has this number. `known`:
    the ids of people in the files of a social run, for each kind of id.
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
