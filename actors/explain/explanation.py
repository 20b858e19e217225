"""The records of an explanation: turns, questions and answers, posts, quarters, and what would have been different.

They are plain data: `plain` gives the JSON values that `prism explain --json` prints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from prism.llm.port import Message
from prism.llm.spending import Spending


class PathTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of an agent as the journal has it."""

    tick: int
    trigger: str
    from_state: str  # from_state, to_state: the states before and after it; equal if it asked, or stayed
    to_state: str
    source: str  # what moved it, a `prism.agents.Source`; `question` if it asked the oracle instead
    reason: str = ""  # why a decision is a fallback, or why it had no effect; empty otherwise
    options: tuple[str, ...] = ()  # the states that the oracle was asked to choose from; empty for any other turn
    effect: Any = None  # the effect that the turn had on the world, as JSON values; None if there is none
    # what took place because of it: `{"kind": "like", "post": 12, "parent": null}` each; of a tie `{"kind":
    # "unfollow", "whom": 40, "post": 12}`, and of an attribute `{"kind": "set", "name": "opinion", "value": 0.5}`.
    # Each also has its `words`
    events: tuple[dict[str, Any], ...] = ()


class AgentPath(msgspec.Struct, frozen=True, kw_only=True):
    """The path of an agent through a run."""

    agent: int  # agent, name: the agent's number and name; the name is empty if it has none
    name: str
    ticks: int  # the whole ticks of the run so far
    turns: tuple[PathTurn, ...]  # the turns that were asked for, in order
    turns_in_all: int
    questions_in_all: int  # how many of all turns asked the oracle
    notes: tuple[str, ...] = ()  # what a reader has to know besides, a sentence each


class ExplainedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the chart that might have been taken."""

    name: str  # the row's label, or the row in one line
    target: str | None  # the state that it leads to; None if the oracle is to choose among all targets
    level: int  # 0 for a row of the state itself, 1 for one of the state around it, and so on
    guard: str  # the guard: an expression as its author wrote it, or the name of a function; empty for an else
    values: dict[str, Any]  # `{field: value}` of the fields that an expression reads
    # `true`, `false`, `needs_oracle`, `raised` (which counts as false), `else`, `not_needed` (an else beside an
    # enabled row) or `not_asked` (a row around one that is enabled)
    outcome: str
    error: str = ""
    is_candidate: bool = False  # whether the row is enabled
    is_taken: bool = False  # whether it is the one that led the agent on


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply of a model, as the tape has it."""

    text: str = ""  # the text of a chat, unchanged; empty for probabilities
    probabilities: dict[str, float] | None = None  # `{option: probability}`; None for a chat
    model: str = ""
    problem: str = ""  # why it is not usable: the reason of a failure, or the fault in the reply; empty otherwise
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    latency_s: float = 0.0


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model, as its server got it."""

    kind: str  # `chat`; `letters`, a chat whose answer is the probability of each letter; or `systemone`
    # of a chat and of letters, in order; each content is byte for byte what the server got
    messages: tuple[Message, ...] = ()
    state: str = ""  # state, instructions: of `systemone`; empty otherwise
    instructions: str = ""
    options: dict[str, str | None] = {}  # `{option: its meaning}` of letters and of `systemone`, in their order
    schema: dict[str, Any] | None = None  # the JSON schema of the answer; None if there is none
    reply: ModelReply | None = None  # what came back; None if no tape has it


class ExplainedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question."""

    state: str
    source: str  # `oracle`, `llm`, `fallback` or `timeout`
    reason: str = ""  # why it is a fallback; empty otherwise
    # how the oracle found it: `embedded`, `json`, `systemone`, `logprobs` or `shared`; empty for a fallback
    method: str = ""
    content: Any = None  # what the oracle answered besides the option, as JSON values; None for nothing
    # from the question's arrival at the oracle to this answer; None for the embedded oracle
    latency_s: float | None = None
    # the calls that failed before, after which the question was asked again: the reason of each
    attempts: tuple[str, ...] = ()
    # the calls to a model that it took, by outcome, with those of the attempts before
    spent: Spending = ()
    cost_usd: float | None = None  # their cost; None without prices
    # whether it took no call of its own: it drew from a shared judgement, an identical question was under way, or a
    # tape had the answer
    is_shared: bool = False
    # the tick in which the decision took effect; None if the journal does not have it yet
    decided_in: int | None = None


class ExplainedSharing(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a question among those that share a judgement."""

    part: str  # `asked for all`, `audited` or `shared`
    archetype: str = ""  # in words; empty if not known
    shared: dict[str, float] | None = None  # `{option: probability}` that its archetype shares; None if not known
    # `{option: probability}` of its own judgement; None for a question that was not asked by itself
    judged: dict[str, float] | None = None


class ExplainedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that an agent asked."""

    id: str  # its id, as a model's server was told it in `X-Request-Id`
    tick: int
    agent: int
    trigger: str
    state: str
    options: tuple[str, ...]  # the states to choose from; the first one is the fallback
    # what the model was asked, or would have been, in order; empty for an oracle that asks none
    requests: tuple[ModelRequest, ...] = ()
    # false if no call was made for it: it has no answer yet, drew from judgements of others, shared the answer of
    # an identical question, or fell back before a call
    is_sent: bool = True
    answer: ExplainedAnswer | None = None  # what came back; None if there is none yet
    # `{option: probability}` for this agent by the embedded choice; None if the domain has none
    embedded: dict[str, float] | None = None
    # of what the question is about, from 0 to 1, as the embedded choice sees it; None if there is none
    relevance: float | None = None
    sharing: ExplainedSharing | None = None  # its place among questions that share a judgement; None if it shares none


class ExplainedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one of the agent's attributes by the row that was taken."""

    name: str
    to: str  # the expression of its new value
    when: str  # its condition, empty if there is none
    # `{field: value}` of the fields that both read; empty where they need a post in view, and none was
    values: dict[str, Any]
    holds: bool  # whether the value is computed: the condition holds, and all fields that are read exist
    found: Any  # the value of the expression, before it is kept in its range; None if it has no value or does not hold
    before: Any  # before, after: the attribute's value in this tick, and from the next one on
    after: Any


class ExplainedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of an agent, worked out again and equal to the journal.

    An agent that asks the oracle takes two turns: one that asks, and one with the decision.
    """

    tick: int
    agent: int
    name: str
    # the known facts about the agent, as JSON values: interests, personality and attributes of a person, or the
    # panel of a user's own domain
    profile: dict[str, Any]
    trigger: str
    context: dict[str, Any] | None  # the trigger's context by field, such as the post in view
    state: str
    ticks_in_state: int
    # the rows of the chart for this state and trigger, in order. With a decision, as of the question's tick
    rows: tuple[ExplainedRow, ...]
    # the question that the agent asked, or whose decision has come; None if a rule settled the turn
    question: ExplainedQuestion | None
    is_decision: bool  # whether the turn carries out a decision
    to_state: str  # the state after; equal to `state` if it asked, or stayed
    source: str  # what moved it, a `prism.agents.Source`; `question` if it asked
    reason: str = ""  # why a decision is a fallback, or why nothing came of it
    effect: Any = None  # the effect on the world, as JSON values
    changes: tuple[ExplainedChange, ...] = ()  # the attributes that the row sets
    events: tuple[dict[str, Any], ...] = ()  # what took place because of it


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of one agent, explained."""

    agent: int
    name: str
    ticks: int  # the whole ticks of the run so far
    turns: tuple[ExplainedTurn, ...]  # in order
    notes: tuple[str, ...] = ()  # what a reader has to know besides, a sentence each


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that decided on an engagement or a post. `prism explain RUN --agent A --tick T` explains it in full."""

    agent: int
    tick: int
    trigger: str
    state: str
    to_state: str
    source: str  # who decided, a `prism.agents.Source`
    reason: str = ""  # why a decision is a fallback; empty otherwise
    row: str = ""  # the row that was taken; `guard` and `values`: its guard, with the fields that it reads
    guard: str = ""
    values: dict[str, Any] = {}
    asked: int | None = None  # the tick of the question, if it was a decision; None for a rule
    options: tuple[str, ...] = ()  # the states that were to choose from; empty for a rule


class ExplainedTieChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a tie."""

    # when it was made. That of a person holds from the next tick on, that of an intervention from this one on
    tick: int
    kind: str  # `follow`, `unfollow` or `mute`
    post: int | None = None  # the post in view; None for an intervention
    cause: Cause | None = None  # the turn that decided on it; None for an intervention


class ExplainedTie(msgspec.Struct, frozen=True, kw_only=True):
    """The tie from one person to another."""

    # agent, name: the number and name of the person whose tie it is; `whom`, `whom_name`: those of the other
    agent: int
    name: str
    whom: int
    whom_name: str
    ticks: int  # the whole ticks of the run so far
    follows_at_start: bool
    changes: tuple[ExplainedTieChange, ...]  # what people and interventions have changed, in order
    notes: tuple[str, ...] = ()  # what a reader has to know besides, a sentence each


class ExplainedLike(msgspec.Struct, frozen=True, kw_only=True):
    """A like of a post."""

    agent: int
    name: str
    tick: int
    cause: Cause | None


class ExplainedPost(msgspec.Struct, frozen=True, kw_only=True):
    """A post of a cascade, and why it was written."""

    post: int
    kind: str  # `publish`, `reply` or `reshare`
    agent: int
    name: str
    tick: int
    parent: int | None  # the post that it answers or reshares; None for the original
    depth: int
    text: str  # text, topics: what it says; the text is empty if the world does not keep texts
    topics: tuple[str, ...]
    likes: tuple[ExplainedLike, ...]  # in their order
    cause: Cause | None  # the turn that decided on it; None for a post that an intervention has published


class ExplainedCascade(msgspec.Struct, frozen=True, kw_only=True):
    """The whole tree of a post, up to the last whole tick of the run."""

    post: int
    root: int
    ticks: int  # the whole ticks of the run so far
    posts: tuple[ExplainedPost, ...]  # in the order in which they were made, the original first
    depth: int
    likes: int
    notes: tuple[str, ...] = ()  # what a reader has to know besides, a sentence each


class ExplainedProposal(msgspec.Struct, frozen=True, kw_only=True):
    """The way of one nation through a quarter."""

    agent: int  # agent, name: the nation's number and name
    name: str
    outcome: str  # `applied`; `accepted`, `rejected` or `proposed` if it came no further; `none` without a proposal
    action: str  # the proposal in words; empty if there is none
    is_valid: bool | None  # what the validator said; None if it was not asked
    # rate_before, rate_after: the interest rate that the engine got and the one that it set, in percent; None if
    # the proposal was not applied
    rate_before: float | None
    rate_after: float | None
    # the reasoning of the agent, the validator and the engine, in this order, as far as they were asked: the
    # records of the journal with `component`, `prompt`, `response`, `reasoning`, `model` and `confidence`
    chains: tuple[dict[str, Any], ...]
    turns: tuple[ExplainedTurn, ...]


class ExplainedQuarter(msgspec.Struct, frozen=True, kw_only=True):
    """A quarter of an economy."""

    quarter: int  # its number, from 1
    tick: int  # its tick, from 0
    ticks: int  # the quarters of the run so far
    before: dict[str, Any]  # before, after: the indicators before the first proposal and after the last effect
    after: dict[str, Any]
    interventions: tuple[dict[str, Any], ...]  # what was done to the economy from outside in this quarter
    proposals: tuple[ExplainedProposal, ...]  # of each nation, in the order in which they were applied
    notes: tuple[str, ...] = ()  # what a reader has to know besides, a sentence each


class TickDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The distance of two futures in one tick."""

    tick: int
    agents: int  # the agents whose records in the journal differ in any byte, such as in a post that they have in view
    acting: int  # those of them that acted differently: another trigger, another state, another effect


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """A number in both futures: as it was, and as it would have been."""

    name: str
    was: float
    would_be: float


class AgentDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that acted differently."""

    agent: int
    name: str
    first: int
    ticks: int


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The differences that another answer to one question would have made."""

    agent: int
    name: str
    asked: int  # in which tick; `trigger`, `state`: on what, and in which state
    trigger: str
    state: str
    decided_in: int  # the tick in which the decision takes effect, the first one that can differ
    options: tuple[str, ...]
    was: str
    would_be: str
    until: int  # the ticks are compared up to this one, which is not among them
    path_was: tuple[PathTurn, ...]  # path_was, path_would_be: the agent's own turns in these ticks
    path_would_be: tuple[PathTurn, ...]
    ticks: tuple[TickDifference, ...]  # how far the futures are apart in each tick
    # `{kind of event on the feed: how often}`, in these ticks; both numbers, even if they are equal
    events: tuple[Counted, ...]
    states: tuple[Counted, ...]  # the agents in each state at the end, where it differs
    # the numbers of the world at the end, where they differ: those of `summary.json` that are plain numbers
    totals: tuple[Counted, ...]
    agents: tuple[AgentDifference, ...]  # the agents that did something else, those first that did so in most ticks
    posts: tuple[Counted, ...]  # the posts with the largest difference of engagements; `name` is the post's id
    # recorded, taped, computed, asked_now: the questions of the other future by who answered: the same question in
    # the log; the same prompt on the tape; the embedded choice; the model, with `--ask`
    recorded: int
    taped: int
    computed: int
    asked_now: int
    notes: tuple[str, ...] = ()  # what a reader has to know besides, a sentence each


def plain(value: Any) -> Any:
    """Return a value as JSON values: a record as an object with its fields, even if it is encoded as an array.

    A number that JSON cannot express, and a value of any other kind, becomes a text as Python shows it.
    """
    match value:
        case msgspec.Struct():
            found: Any = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Enum():
            found = plain(value.value)
        case Mapping():
            found = {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            found = [plain(each) for each in value]
        case set() | frozenset():
            found = [plain(each) for each in sorted(value, key=repr)]
        case float() if not math.isfinite(value):
            found = repr(value)
        case _:
            try:
                found = msgspec.to_builtins(value)
            except (TypeError, ValueError):
                found = repr(value)
    return found
