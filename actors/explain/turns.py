"""The explanation of the turns of an agent, each with all that led to it. `docs/cause.md` shows it.

It costs no call to a model: turns are worked out again, and compared with the journal (`actors.explain.retrace`). It
works while the run is going on, after a kill, and in a fork, up to the last whole tick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.messages import QuestionName, name_of_question
from actors.explain.path import (
    NO_TURN,
    QUESTION,
    chosen_agent,
    decisions,
    event_of,
    its_messages,
    nearest,
    path_of,
    refuse_ticks,
)
from actors.explain.questions import questions_of, without_chain
from actors.explain.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.explain.tree import Node, plain
from prism.agents import MOVED, Update
from prism.events import AttributeSet
from prism.quoting import compact, printable
from prism.social.changing import ReadChange
from prism.statechart import ENABLED, Choice
from prism.wording import counted

_MARKS = {"true": "yes", "needs_oracle": "ask", "else": "else", "raised": "error", "not_asked": "-", "not_needed": "-"}
"""The outcome of a row in a word; `no` for a false guard."""


async def explain_turns(
    path: Path, agent: int | str, first: int, last: int | None = None, on_begin: OnBegin = lambda _: None
) -> Node:
    """Return an agent's turns from one tick to another, and those in which the questions that it asked are decided.

    It takes as long as a replay from the nearest checkpoint at or before `first`; a run keeps its latest ones.

    Args:
        path: the run's directory. Nothing of it is changed, and a run that is going on is not disturbed.
        agent: the agent's number or name.
        last: the last tick; by default `first`, in which it then must have a turn.

    Raises:
        RunDirectoryError: there is no such run, agent, tick or turn.
        DivergedError: a tick has another result than the journal.
        JournalError: a file cannot be read.
        ConfigError, InputError: the run's configuration or an input file cannot be used.
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
    return Node(kind="agent", text=run.called(number), value=value, children=children)


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
            parts.append(Node(kind="profile", value={key: it for key, it in each.profile.items() if key != "name"}))
        rows = rows_of(each)
        if trigger.decision is not None and name in told:
            asked = questions[name][0]
            which = f"on question {asked.value['id']}" if asked.value["is_sent"] else "on the question"
            parts.append(Node(kind="decision", text=f"{which} of tick {asked.value['tick']:,}"))
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
            parts += [Node(kind="did", text=did), *_changes(each, update)]
        else:
            parts.append(Node(kind="did", text=did))
        events = [event_of(event, run.called) for event in each.events]
        parts += [Node(kind="followed", text=event["words"], value=event) for event in events]
        text = f"tick {trigger.tick:,}: {trigger.name} in {each.state}, since {counted(each.ticks_in_state, 'tick')}"
        value = {"tick": trigger.tick, "agent": trigger.agent, "trigger": trigger.name, "state": each.state}
        value |= {"ticks_in_state": each.ticks_in_state, "is_decision": trigger.decision is not None, **moved}
        yield Node(kind="turn", text=text, value=value, children=(*parts,))


def _seen(run: OpenRun, traced: TracedTurn, rows: Sequence[Node]) -> Iterator[Node]:
    """Yield what a turn was given: the context of its trigger, and the rows of the chart with what they read."""
    if traced.trigger.context is not None:
        yield Node(kind="context", value=dict(run.show.seen(plain(traced.trigger.context))))
    if not rows:
        yield Node(kind="rows", text="none: the chart has no row for this trigger here, so nothing comes of it")
    yield from rows
    if values := {name: value for row in rows for name, value in row.value["values"].items()}:
        yield Node(kind="values", value=values)


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
        below = [Node(kind=kind, text=words) for kind, words in (("if", guard), ("error", each.error)) if words]
        if found and guard and (guard, each.outcome) == (found[-1].value["guard"], found[-1].value["outcome"]):
            found[-1] = replace(found[-1], children=())  # one guard of several rows stands below the last of them
        taken_mark = "  <- taken" if is_taken else ""
        text = f"{_MARKS.get(each.outcome, 'no'):<5} {row.name}{leads}{outer}{taken_mark}"
        found.append(Node(kind="row", text=text, value=value, children=(*below,)))
    return found


def _taken(traced: TracedTurn) -> int | None:
    """Return the place of the row that led the agent on."""
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
        became_node = Node(kind="became", text=f"{stays} {compact(after)}: {why}{f'; {read}' if read else ''}")
        yield Node(kind="set", text=f"{each.name} = {each.to}{given}", value=value, children=(became_node,))
