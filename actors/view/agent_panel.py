"""An agent at a tick: its state, the way to it, its questions, its last feed, and its profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.factory.domains import show_of
from actors.store.answers import answers_in
from actors.store.followed import Followed
from actors.store.messages import messages_where
from actors.view.viewed_run import ViewedRun
from prism.agents import Question, Update
from prism.config import Config
from prism.events import AttributeSet, FeedShown, Intervened, PostEvent, TieChanged
from prism.llm.question_id import question_id
from prism.show import Show
from prism.social.effects import ON_TIES
from prism.social.people.population import Population
from prism.social.ties.changes import Changed, tie_changes

STRETCH_BYTES = 24 << 20
"""Bytes of the journal that are searched, from the tick back."""
MOVES_MAX, QUESTIONS_MAX, POSTS_MAX, CHANGES_MAX = 60, 12, 30, 30
"""The latest of each that are shown."""
FOLLOWED_SHOWN = 12


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that moved the agent, or did not."""

    tick: int
    trigger: str
    before: str
    after: str
    source: str
    effect: str | None = None
    reason: str = ""


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was put to the oracle."""

    tick: int
    id: str
    trigger: str
    state: str
    options: tuple[str, ...]
    context: Any = None  # what the agent saw, by name
    answer: dict[str, Any] | None = None  # the answer by field, if a log has it
    taken: str = ""  # the state that the agent went to; empty as long as there is no answer
    decided_tick: int | None = None
    source: str = ""
    reason: str = ""


class AgentPanel(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that are shown about an agent."""

    agent: int
    tick: int
    since: int  # the first tick that was searched; earlier messages are left out
    state: str
    name: str = ""
    # moves, questions, posts: the latest of each; `moves_in_all` and the like: how many there are since then
    moves: list[Move]
    moves_in_all: int
    questions: list[Put]
    questions_in_all: int
    feed: list[int] | None = None  # the posts of the latest feed that was recorded; None without one
    feed_tick: int | None = None
    posts: list[PostEvent]
    posts_in_all: int
    # the name and value of each known fact about the person, with its attributes after the tick
    person: list[tuple[str, Any]]
    follows: list[int]  # some of the people it follows after the tick; `follows_count`, `followers_count`: all of them
    follows_count: int = 0
    followers_count: int = 0
    changes: list[TieChanged | AttributeSet]  # its latest changes of ties and attributes since the start
    changes_in_all: int


def panel_of(run: ViewedRun, journal: Followed, agent: int, tick: int) -> AgentPanel:
    if not 0 <= agent < journal.agents:
        raise ValueError(f"expected an agent from 0 to {journal.agents - 1}, got {agent}")
    state = journal.states[int(journal.states_at(tick)[agent])] if journal.states else ""
    since = journal.start_before(max(tick, 0), STRETCH_BYTES)
    show = Show(Config()) if run.opened is None else show_of(run.opened.config)
    messages, moves, questions = list[Any](), list[Move](), list[Put]()
    for message in journal.of_agent(agent, since, tick):
        at = message.tick
        messages.append(message)
        if isinstance(message, Update):
            moves.append(
                Move(
                    tick=at,
                    trigger=message.trigger,
                    before=message.from_state,
                    after=message.to_state,
                    source=message.source,
                    effect=None if message.effect is None else show.effect_name(message.effect),
                    reason=message.reason,
                )
            )
            _settle(questions, message, at)
        elif isinstance(message, Question):
            questions.append(
                Put(
                    tick=message.tick,
                    id=question_id(journal.header.seed, at, agent, msgspec.msgpack.encode(message)),
                    trigger=message.trigger,
                    state=message.state,
                    options=message.options,
                    context=None if message.context is None else show.seen(message.context),
                )
            )
    posts = [each for each in messages if isinstance(each, PostEvent)]
    feed = next((each for each in reversed(messages) if isinstance(each, FeedShown)), None)
    population = None if run.opened is None else run.opened.network.population
    changed = _changed(run, journal, agent, tick) if "edges" in show.event_tables else []
    following, followers = _ties(population, changed, agent)
    own = [each for each in changed if not isinstance(each, Intervened) and each.agent == agent]
    if population is None:
        person = [*show.panel(agent, messages).items()]
    else:
        persona = population.personas[agent]
        became = {each.name: each.value for each in own if isinstance(each, AttributeSet)}
        person = [
            ("interests", ", ".join(persona.interests)),
            ("personality", persona.personality),
            ("chance of a session in a round", persona.activity),
            ("ignores a post up to the relevance", persona.low_threshold),
            ("acts on a post from the relevance", persona.high_threshold),
            *{**persona.attributes, **became}.items(),
        ]
    return AgentPanel(
        agent=agent,
        tick=tick,
        since=since,
        state=state,
        name=show.name(agent) if population is None else population.name(agent),
        moves=moves[-MOVES_MAX:],
        moves_in_all=len(moves),
        questions=_with_answers(run, agent, questions[-QUESTIONS_MAX:]),
        questions_in_all=len(questions),
        feed=None if feed is None else list(feed.posts),
        feed_tick=None if feed is None else feed.tick,
        posts=posts[-POSTS_MAX:],
        posts_in_all=len(posts),
        person=person,
        follows=following[:FOLLOWED_SHOWN],
        follows_count=len(following),
        followers_count=followers,
        changes=own[-CHANGES_MAX:],
        changes_in_all=len(own),
    )


def _changed(run: ViewedRun, journal: Followed, agent: int, last: int) -> list[Changed]:
    """Return the changes of an agent's ties and attributes from the start on, in order; empty if none can change."""
    opened = run.opened
    if opened is None:
        return []
    chart = opened.chart
    may = chart is None or bool(chart.attributes_set) or not chart.effects.isdisjoint(ON_TIES)
    if not may and not opened.config.interventions:
        return []
    kept = {  # and all interventions, which may be of any tie
        "ties": lambda columns: (columns["agent"] == agent) | (columns["whom"] == agent),
        "attributes": lambda columns: columns["agent"] == agent,
    }
    return [*messages_where(journal.record, kept, Intervened, TieChanged, AttributeSet, until=last + 1)]


def _ties(population: Population | None, changed: Sequence[Changed], agent: int) -> tuple[list[int], int]:
    """Return whom an agent follows after these changes, and how many people follow it."""
    if population is None:
        return [], 0
    following = {*population.graph.following(agent).tolist()}
    followers = {*population.graph.followers(agent).tolist()}
    for _, one, other, follows in tie_changes(changed, population.number):
        if one == agent:
            (following.add if follows else following.discard)(other)
        if other == agent:
            (followers.add if follows else followers.discard)(one)
    return sorted(following), len(followers)


def _settle(questions: list[Put], update: Update[Any], tick: int) -> None:
    """Note the result of a question: the first decided update on its trigger."""
    if update.source not in ("oracle", "llm", "fallback", "timeout"):
        return
    for place, put in enumerate(questions):
        if not put.taken and put.trigger == update.trigger:
            questions[place] = msgspec.structs.replace(
                put, taken=update.to_state, decided_tick=tick, source=update.source, reason=update.reason
            )
            return


def _with_answers(run: ViewedRun, agent: int, questions: list[Put]) -> list[Put]:
    """Return the questions with their answers from the oracle's log."""
    asked = {put.tick for put in questions}
    logged = answers_in(run.path) if asked else ()
    answers = {(each.asked, each.trigger): each for each in logged if each.agent == agent and each.asked in asked}
    found = []
    for put in questions:
        answer = answers.get((put.tick, put.trigger))
        shown = (
            None
            if answer is None
            else {
                **{
                    name: getattr(answer, name)
                    for name in ("state", "source", "reason", "method", "latency_s", "content")
                },
                "calls": [
                    {
                        "outcome": spent.outcome,
                        "calls": spent.calls,
                        "read": spent.prompt_tokens,
                        "written": spent.completion_tokens,
                    }
                    for spent in answer.spent
                ],
            }
        )
        found.append(msgspec.structs.replace(put, answer=shown))
    return found
