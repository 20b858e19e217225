"""Explanations as lines for a terminal. Texts of people and models are data: no escape in them reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

from msgspec.structs import replace
from rich.cells import cell_len

from actors.display.words import usd
from actors.explain import explanation
from actors.studies.causes.candidates import DECISIONS, PEOPLE
from actors.studies.causes.search import AgentCauses
from actors.studies.causes.words import added_words, tried_words
from actors.studies.causes.words import number as amount
from prism.economy.embedded import EMBEDDED
from prism.quoting import compact, number, printable
from prism.wording import counted

T = TypeVar("T")
DEEPEST = 12
"""The depth of a tree from which its lines are not indented further, so that they fit into 80 columns."""
WIDTH = 80
"""The columns of a line, unless a word alone is longer."""
_LABEL = 12
_MARKS = {"true": "yes", "needs_oracle": "ask", "else": "else", "raised": "error", "not_asked": "-", "not_needed": "-"}
"""The outcome of a row in a word; `no` for a false guard."""


def _harmless(lines: Callable[[T], Iterator[str]]) -> Callable[[T], Iterator[str]]:
    """Return the function, its lines freed of everything that a terminal would act on: the last of several guards."""

    @wraps(lines)
    def harmless(found: T) -> Iterator[str]:
        return map(printable, lines(found))

    return harmless


@_harmless
def path_lines(path: explanation.AgentPath) -> Iterator[str]:
    """Yield the path of an agent, a line for each turn."""
    yield f"{called(path.agent, path.name)}: {counted(path.turns_in_all, 'turn')} in {path.ticks:,} ticks"
    shown, more = len(path.turns), path.questions_in_all
    if shown < path.turns_in_all:
        yield (f"{shown:,} of them are shown; --first and --last choose others" if shown else "none is in these ticks")
    yield from (f"note: {printable(note)}" for note in path.notes)
    if not path.turns:
        return
    yield ""
    yield f"{'tick':>7}  {'trigger':<15}{'from':<18}{'to':<18}by"
    for turn in path.turns:
        yield from _path_lines(turn)
    if more:
        yield ""
        yield f"? is a question to the oracle: {counted(more, 'question')} in all; --tick TICK explains a turn"


def _path_lines(turn: explanation.PathTurn) -> Iterator[str]:
    to_state = "?" if turn.options else turn.to_state if turn.to_state != turn.from_state else "(stays)"
    by = "asks the oracle" if turn.options else turn.source + (f", {turn.reason}" if turn.reason else "")
    done = ", ".join(each["words"] for each in turn.events)
    head = printable(f"{turn.tick:>7,}  {turn.trigger:<15}{turn.from_state:<18}{to_state:<18}")
    yield from _wrapped(head, f"{by}{f': {done}' if done else ''}", f"{'':26}")


@_harmless
def explanation_lines(found: explanation.Explanation) -> Iterator[str]:
    """Yield an agent's turns with all that led to them."""
    yield called(found.agent, found.name)
    if found.turns and found.turns[0].profile:
        yield from _wrapped("  ", _profile_words(found.turns[0].profile))
    yield from (f"note: {printable(note)}" for note in found.notes)
    told: set[str] = set()
    for turn in found.turns:
        yield ""
        yield from turn_lines(turn, told)


def turn_lines(turn: explanation.ExplainedTurn, told: set[str]) -> Iterator[str]:
    """Yield one turn."""
    question = turn.question
    yield printable(f"tick {turn.tick:,}: {turn.trigger} in {turn.state}, since {counted(turn.ticks_in_state, 'tick')}")
    if turn.is_decision and question is not None and question.id in told:
        which = f"on question {question.id}" if _has_id(question) else "on the question"
        yield from _labelled("decision", f"{which} of tick {question.tick:,}")
    else:
        yield from _context_lines(turn.context)
        yield from _row_lines(turn.rows)
        if question is not None:
            told.add(question.id)
            yield from question_lines(question)
    yield from _labelled("did", _done(turn))
    for change in turn.changes:
        yield from _change_lines(change)
    for event in turn.events:
        yield from _labelled("followed", event["words"])


def _change_lines(change: explanation.ExplainedChange) -> Iterator[str]:
    """Yield an attribute that a row sets, with what its expressions read."""
    given = f" if {change.when}" if change.when else ""
    yield from _labelled("set", f"{change.name} = {change.to}{given}")
    if not change.holds:
        why = "the condition does not hold" if change.values else "no post is in view"
    elif change.found is None:
        why = "the expression has no value"
    else:
        why = f"the expression is {compact(change.found)}"
    values = ", ".join(f"{name} {compact(value)}" for name, value in change.values.items())
    stays = "stays" if change.after == change.before else f"{compact(change.before)} ->"
    yield from _wrapped(f"{'':{_LABEL}}", f"{stays} {compact(change.after)}: {why}{f'; {values}' if values else ''}")


def question_lines(question: explanation.ExplainedQuestion) -> Iterator[str]:
    """Yield a question, what the model read, and what came back."""
    options = " or ".join(question.options)
    yield from _labelled("asked", f"question {question.id}: {options}" if _has_id(question) else options)
    for request in question.requests:
        yield from _request_lines(request, is_sent=question.is_sent)
    answer = question.answer
    if answer is None:
        yield from _labelled("answer", "none yet")
    else:
        yield from _labelled("answer", _answer_words(answer))
        if answer.content is not None:
            yield from _labelled("content", compact(_without_chain(answer.content)))
    if question.sharing is not None:
        yield from _sharing_lines(question.sharing)
    if question.embedded is not None:
        words = shares(question.embedded)
        seen = "" if question.relevance is None else f"; relevance {number(question.relevance)}"
        is_own = answer is not None and answer.method == "embedded"
        whose = " for this agent alone" if question.sharing is not None else ""
        yield from _labelled("embedded", f"{words}{seen}" if is_own else f"the embedded choice{whose}: {words}{seen}")


def _has_id(question: explanation.ExplainedQuestion) -> bool:
    """Return whether a server was sent the id of a question, or may be later. Other questions show no id."""
    return question.is_sent or question.answer is None


def _sharing_lines(sharing: explanation.ExplainedSharing) -> Iterator[str]:
    """Yield the archetype of a question, and what was shared: with it, or by it."""
    if sharing.archetype:
        yield from _labelled("archetype", sharing.archetype)
    told = "" if sharing.shared is None else f": {shares(sharing.shared)}"
    yield from _labelled("shared", f"{PARTS.get(sharing.part, sharing.part)}{told}")
    if sharing.part == "audited" and sharing.judged is not None:
        yield from _labelled("judged", f"what it was told itself, and drew from: {shares(sharing.judged)}")


@_harmless
def cascade_lines(found: explanation.ExplainedCascade) -> Iterator[str]:
    """Yield the tree of a post: each post below the one that it answers or reshares, with who did what and why."""
    size = counted(len(found.posts), "post")
    yield f"post {found.root}: {size}, {found.depth:,} deep, {counted(found.likes, 'like')}, in {found.ticks:,} ticks"
    yield from (f"note: {printable(note)}" for note in found.notes)
    below: dict[int | None, list[explanation.ExplainedPost]] = {}
    for post in found.posts:
        below.setdefault(post.parent, []).append(post)
    waiting = below.get(None, [])[::-1]
    while waiting:
        post = waiting.pop()
        yield ""
        yield from _post_lines(post, is_asked=post.post == found.post != found.root)
        waiting.extend(below.get(post.post, [])[::-1])
    yield ""
    yield "--agent A --tick T explains a turn in full"


@_harmless
def tie_lines(found: explanation.ExplainedTie) -> Iterator[str]:
    """Yield each change of a tie, with the turn that decided on it."""
    other = called(found.whom, found.whom_name)
    begins = "follows" if found.follows_at_start else "does not follow"
    yield f"{called(found.agent, found.name)} {begins} {other} at the start"
    yield from (f"note: {printable(note)}" for note in found.notes)
    for change in found.changes:
        yield ""
        seen = "" if change.post is None else f", with post {change.post} in view"
        yield f"tick {change.tick:,}: {change.kind}{seen}"
        yield from _wrapped("  ", _cause_words(change.cause))
    yield ""
    yield f"{counted(len(found.changes), 'change')} of this tie in {found.ticks:,} ticks"
    if found.changes:
        yield "--agent A --tick T explains a turn in full"


def _post_lines(post: explanation.ExplainedPost, *, is_asked: bool) -> Iterator[str]:
    indent = "  " * min(post.depth, DEEPEST)
    marked = "  <- asked for" if is_asked else ""
    done = {"publish": "posts", "reply": "replies to"}.get(post.kind, f"{post.kind}s")
    about = "" if post.parent is None else f" {post.parent}"
    deep = f" ({post.depth} deep)" if post.depth > DEEPEST else ""
    yield from _wrapped(
        indent, f"tick {post.tick:,}: {called(post.agent, post.name)} {done}{about}: post {post.post}{deep}{marked}"
    )
    if post.text:
        yield from _wrapped(f"{indent}  | ", post.text)
    yield from _wrapped(f"{indent}  ", _cause_words(post.cause))
    for like in post.likes:
        yield from _wrapped(f"{indent}  ", f"+ tick {like.tick:,}: {called(like.agent, like.name)} likes it")
        yield from _wrapped(f"{indent}    ", _cause_words(like.cause))


def _cause_words(cause: explanation.Cause | None) -> str:
    if cause is None:
        return "from outside, by an intervention"
    moved = f"agent {cause.agent}, tick {cause.tick:,}: {cause.state} -> {cause.to_state} on {cause.trigger}"
    if cause.asked is not None:
        why = f", {cause.reason}" if cause.reason else ""
        among = f"among {', '.join(cause.options)}, asked in tick {cause.asked:,}"
        return f"why: {moved}, chosen by {cause.source}{why} {among}"
    values = ", ".join(f"{name} {compact(value)}" for name, value in cause.values.items())
    given = f" because {cause.guard}" if cause.guard else ""
    return f"why: {moved}, by {cause.source}{given}{f' ({values})' if values else ''}"


@_harmless
def quarter_lines(found: explanation.ExplainedQuarter) -> Iterator[str]:
    """Yield a quarter of an economy: the indicators, and the way of each nation through it."""
    yield f"quarter {found.quarter:,} (tick {found.tick:,}) of {found.ticks:,}"
    yield from (f"note: {printable(note)}" for note in found.notes)
    for name, before in found.before.items():
        yield printable(f"  {name:<22}{compact(before):>12} -> {compact(found.after.get(name))}")
    for done in found.interventions:
        given = {name: value for name, value in done.items() if value is not None}
        yield from _labelled("outside", f"an intervention: {compact(given)}")
    for proposal in found.proposals:
        yield ""
        yield from _proposal_lines(proposal)


def _proposal_lines(proposal: explanation.ExplainedProposal) -> Iterator[str]:
    yield f"{called(proposal.agent, proposal.name)}: {proposal.outcome}"
    if proposal.action:
        yield from _labelled("proposal", proposal.action)
    if proposal.is_valid is not None:
        yield from _labelled("review", "valid" if proposal.is_valid else "not valid")
    if proposal.rate_before is not None and proposal.rate_after is not None:
        yield from _labelled("rate", f"{number(proposal.rate_before)}% -> {number(proposal.rate_after)}%")
    for chain in proposal.chains:
        word = "probability" if chain["model"] == EMBEDDED else "confidence"  # a formula has no confidence
        sure = "" if chain["confidence"] is None else f", {word} {number(chain['confidence'])}"
        model = f" ({chain['model']})" if chain["model"] else ""
        yield from _labelled(chain["component"], f"{chain['reasoning']}{model}{sure}")
    for turn in proposal.turns:
        if not turn.is_decision:
            yield f"  tick {turn.tick:,}: {printable(turn.trigger)} in {printable(turn.state)}"
            if turn.question is not None:
                yield from question_lines(turn.question)


@_harmless
def what_if_lines(found: explanation.WhatIf) -> Iterator[str]:
    """Yield what would have been different."""
    yield f"{called(found.agent, found.name)}, question of tick {found.asked:,}: {found.trigger} in {found.state}"
    yield from _labelled("answer", f"{found.would_be} instead of {found.was}, of {', '.join(found.options)}")
    yield from _labelled("compared", f"ticks {found.decided_in:,} to {found.until - 1:,}")
    yield from _labelled("answered", _answerers(found))
    for note in found.notes:
        yield from _labelled("note", note)
    yield from _two_paths(found)
    yield ""
    yield from _apart(found.ticks)
    engagements = tuple(replace(each, name=f"post {each.name}") for each in found.posts)
    groups = (("took place", found.events), ("states", found.states), ("totals", found.totals))
    for title, counts in (*groups, ("engagements", engagements)):
        if counts:
            yield ""
            yield f"{title:<26}{'as it was':>12}{'would be':>12}"
            yield from map(_counted, counts)
    if found.agents:
        yield ""
        yield "agents that did something else in most ticks"
    for each in found.agents:
        yield from _wrapped(
            "  ", f"{called(each.agent, each.name)}: {counted(each.ticks, 'tick')}, from {each.first:,}"
        )


@_harmless
def added_lines(added: AgentCauses) -> Iterator[str]:
    """Yield what an agent's presence and decisions have added to an outcome."""
    found = added.found
    yield called(added.agent, added.name)
    why = f": {added.why}" if added.why else ""
    yield from _wrapped("  ", f"{found.of} is {amount(found.value)} after {counted(found.ticks, 'tick')}{why}")
    presence = [each for each in (*found.causes, *found.smaller) if each.kind == PEOPLE]
    told = [added_words(each) for each in presence]
    if not presence and any(each.kind == PEOPLE for each in found.tried):
        told = [f"its presence from tick {found.since:,} on: no effect on the outcome"]
    told += [added_words(each) for each in found.causes if each.kind == DECISIONS]
    for place, words in enumerate(told or ["no effect: any other decision gives the same outcome"]):
        yield from _labelled("" if place else "added", words)
    if smaller := sum(each.kind == DECISIONS for each in found.smaller):
        yield from _labelled("", f"{counted(smaller, 'smaller effect')} of decisions, which --json has")
    for tried in found.tried:
        if tried.kind == DECISIONS:
            yield from _labelled(
                "tried", tried_words(tried, found.value) if tried.candidates else "it has made no decision since"
            )
    for note in found.notes:
        yield from _labelled("note", note)


def _answerers(found: explanation.WhatIf) -> str:
    """Return who answered the questions of the other future."""
    parts = [(found.recorded, "as recorded, being the same"), (found.taped, "by the tape")]
    parts += [(found.asked_now, "by the model, now"), (found.computed, "by the embedded choice")]
    words = ", ".join(f"{count:,} {how}" for count, how in parts if count)
    return f"questions of the other future: {words}" if words else "the other future has no further question"


def _two_paths(found: explanation.WhatIf) -> Iterator[str]:
    """Yield the agent's two paths side by side, a line for each tick with a turn of either."""
    paths = []
    for path in (found.path_was, found.path_would_be):
        moves: dict[int, list[str]] = {}
        for turn in path:
            now = moves.setdefault(turn.tick, [])
            now += [] if turn.options else [", ".join([turn.to_state, *(event["kind"] for event in turn.events)])]
        paths.append({tick: "; ".join(each) or "asks the oracle" for tick, each in moves.items()})
    yield ""
    yield f"{'tick':>7}  {'as it was':<34}would be"
    for tick in sorted(paths[0].keys() | paths[1].keys()):
        was, would = (printable(path.get(tick, "-")) for path in paths)
        yield f"{tick:>7,}  {was:<34}{'the same' if was == would else would}"


def _apart(ticks: Sequence[explanation.TickDifference]) -> Iterator[str]:
    """Yield how many agents differ in each tick; consecutive ticks without a difference share a line."""
    if not any(each.agents for each in ticks):
        yield "no agent's journal differs in any tick"
        return
    yield f"{'tick':>7}  {'agents whose journals differ':<34}that did something else"
    quiet: list[int] = []
    for each in ticks:
        if not each.agents:
            quiet.append(each.tick)
            continue
        yield from _quiet_line(quiet)
        quiet = []
        yield f"{each.tick:>7,}  {each.agents:<34,}{each.acting:,}"
    yield from _quiet_line(quiet)


def _quiet_line(ticks: Sequence[int]) -> Iterator[str]:
    if ticks:
        yield f"{ticks[0]:>7,}  0{f', up to tick {ticks[-1]:,}' if len(ticks) > 1 else ''}"


def _counted(each: explanation.Counted) -> str:
    return printable(f"  {each.name:<24}{compact(each.was):>12}{compact(each.would_be):>12}")


def _request_lines(request: explanation.ModelRequest, *, is_sent: bool) -> Iterator[str]:
    ways = {"letters": "as a chat that is answered with a letter", "systemone": "for probabilities (systemone)"}
    yield from _labelled("sent" if is_sent else "would read", ways.get(request.kind, "as a chat"))
    for message in request.messages:
        yield from _text_lines(message.role, message.content)
    if request.kind == "systemone":
        yield from _text_lines("instructions", request.instructions)
        yield from _text_lines("state", request.state)
        for option, meaning in request.options.items():
            yield from _text_lines("option", option if meaning is None else f"{option}: {meaning}")
    if request.reply is None and is_sent:
        yield from _labelled("replied", "not on a tape; the answer below is from oracle.log")
    elif request.reply is not None:
        yield from _reply_lines(request.reply)


def _reply_lines(reply: explanation.ModelReply) -> Iterator[str]:
    tokens = f"{reply.prompt_tokens:,} tokens in, {reply.completion_tokens:,} out, {reply.latency_s:.3f} s"
    yield from _labelled("replied", f"{reply.model or 'the server'}, {tokens}")
    if reply.problem:
        yield from _text_lines("problem", reply.problem)
    if reply.probabilities is not None:
        yield from _text_lines("shares", shares(reply.probabilities))
    if reply.text:
        yield from _text_lines("text", reply.text)


def _text_lines(name: str, text: str) -> Iterator[str]:
    """Yield a text line by line behind a bar; a question mark replaces each character that a terminal would act on."""
    yield f"    {printable(name)}"
    for line in text.split("\n"):
        yield from _wrapped("    | ", line)


PARTS: Final = {
    "asked for all": "this question was asked for all of its archetype, which shares",
    "audited": "this question is an audit: it was asked by itself, though its archetype shares",
    "shared": "what its archetype shared, and it drew from",
}
"""`{part of a question among those that share: what comes before the probabilities}`."""
IDENTICAL: Final = "an identical question was under way, or a tape had the answer"
NO_CALL: Final = {"shared": "drawn from a judgement that it shares with questions like it"}
"""`{method of an answer: why its question took no call}`."""


def _answer_words(answer: explanation.ExplainedAnswer) -> str:
    how = f", {answer.reason}" if answer.reason else f" by {answer.method}" if answer.method else ""
    parts = [f"{answer.state}, from {answer.source}{how}"]
    if answer.latency_s is not None:
        parts.append(f"after {answer.latency_s:.3f} s")
    if answer.attempts:
        parts.append(f"asked again after {', '.join(answer.attempts)}")
    parts += [
        f"{each.calls} {each.outcome} ({each.prompt_tokens:,} tokens in, {each.completion_tokens:,} out)"
        for each in answer.spent
    ]
    if answer.is_shared and answer.latency_s is not None:
        parts.append(f"no call of its own: {NO_CALL.get(answer.method, IDENTICAL)}")
    if answer.cost_usd is not None:
        parts.append(usd(answer.cost_usd))
    parts.append("not in the journal yet" if answer.decided_in is None else f"decided in tick {answer.decided_in:,}")
    return "; ".join(parts)


def _context_lines(context: Mapping[str, Any] | None) -> Iterator[str]:
    if context is None:
        return
    words = ", ".join(f"{name} {compact(value)}" for name, value in context.items())
    yield from _labelled("context", words)


def _row_lines(rows: Sequence[explanation.ExplainedRow]) -> Iterator[str]:
    if not rows:
        yield from _labelled("rows", "none: the chart has no row for this trigger here, so nothing comes of it")
    shown: dict[str, Any] = {}
    for index, row in enumerate(rows):
        mark = _MARKS.get(row.outcome, "no")
        target = row.target or "as the oracle decides"
        outer = f", {counted(row.level, 'state')} around it" if row.level else ""
        taken = "  <- taken" if row.is_taken else ""
        yield from _labelled("rows" if not index else "", f"{mark:<5} {row.name} -> {target}{outer}{taken}")
        if row.guard:
            yield from _wrapped(f"{'':{_LABEL}}        ", f"if {row.guard}")
        if row.error:
            yield from _wrapped(f"{'':{_LABEL}}        ", row.error)
        shown.update(row.values)
    if shown:
        yield from _labelled("values", ", ".join(f"{name} {compact(value)}" for name, value in shown.items()))


def _done(turn: explanation.ExplainedTurn) -> str:
    if turn.source == "question":
        return "asked the oracle, and deliberates"
    moved = f"{turn.state} -> {turn.to_state}" if turn.to_state != turn.state else f"stayed in {turn.state}"
    effect = "" if turn.effect is None else f"; effect {compact(_without_chain(turn.effect))}"
    return f"{moved}, by {turn.source}{f', {turn.reason}' if turn.reason else ''}{effect}"


def _without_chain(value: Any) -> Any:
    """Return the step of a policy without its chain of reasoning, which repeats other lines."""
    return {name: each for name, each in value.items() if name != "chain"} if isinstance(value, Mapping) else value


def _profile_words(profile: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {compact(value)}" for name, value in profile.items() if name != "name")


def called(agent: int, name: str) -> str:
    """Return an agent's number and name."""
    return f"agent {agent}{f' ({printable(name)})' if name else ''}"


def shares(probabilities: Mapping[str, float]) -> str:
    """Return probabilities in words, the largest first."""
    ordered = sorted(probabilities.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {share:.3f}" for name, share in ordered)


def _labelled(label: str, text: str) -> Iterator[str]:
    return _wrapped(f"  {label:<{_LABEL - 3}} ", text, f"{'':{_LABEL}}")


def _wrapped(head: str, text: str, rest: str | None = None) -> Iterator[str]:
    """Yield a text in lines of `WIDTH` columns, the first after `head` and each other one after `rest`."""
    rest = head if rest is None else rest
    line, before = "", head
    for word in printable(text).split(" "):
        longer = f"{line} {word}" if line else word
        if line and cell_len(before) + cell_len(longer) > WIDTH:
            yield f"{before}{line}"
            line, before = word, rest
        else:
            line = longer
    yield f"{before}{line}".rstrip()
