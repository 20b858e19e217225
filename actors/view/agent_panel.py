"""An agent at a tick: its state, the way to it, its questions, its posts and last feed, and its profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from actors.factory.domains import show_of
from actors.pages.html import Element, Node, tag
from actors.pages.words import count, plural
from actors.store.answers import answers_in
from actors.store.followed import Followed
from actors.store.messages import messages_where
from actors.studies.causes.record import kept_causes
from actors.studies.causes.words import added_words
from actors.view.viewed_run import ViewedRun, facts
from prism.agents import Question, Update
from prism.answers import figure
from prism.config import Config
from prism.events import AttributeSet, FeedShown, Intervened, PostEvent, TieChanged
from prism.llm.question_id import question_id
from prism.show import Show
from prism.social.people.population import Population
from prism.social.posts.post import author_of
from prism.social.ties.changes import Changed, tie_changes

T = TypeVar("T")
STRETCH_BYTES = 24 << 20
"""Bytes of the journal that are searched, from the tick back."""
MOVES_MAX, QUESTIONS_MAX, POSTS_MAX, CHANGES_MAX = 60, 12, 30, 30
"""The latest of each that are shown."""
FOLLOWED_SHOWN = 12
_BY: Final = {
    "rule": "a rule",
    "oracle": "the embedded oracle",
    "llm": "the model",
    "fallback": "a fallback",
    "timeout": "a fallback, too late",
}
_DID: Final = {
    "publish": "✎ posted",
    "like": "♥ liked a post of",
    "reply": "↩ answered",
    "reshare": "⇄ reshared",
    "follow": "follows",
    "unfollow": "no longer follows",
    "mute": "mutes",
}


class Put(msgspec.Struct, kw_only=True):
    """A question that was put to the oracle, and what became of it."""

    id: str
    question: Question[Any]
    answer: Any = None  # of a log; None if none has it
    decided: Update[Any] | None = None  # the first decided update on its trigger; None before


class AgentPanel(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that are shown about an agent. Each list has the latest entry last."""

    agent: int
    tick: int
    since: int  # the first tick that was searched; earlier messages are left out
    state: str
    moves: list[Update[Any]]
    questions: list[Put]
    feed: FeedShown | None  # the latest that was recorded; None without one
    posts: list[PostEvent]
    # the name and value of each known fact about the person, with its attributes after the tick
    person: list[tuple[str, Any]]
    follows: list[int]  # after the tick
    followers: int
    changes: list[TieChanged | AttributeSet]  # of ties and attributes, since the start


def panel_of(run: ViewedRun, journal: Followed, agent: int, tick: int) -> AgentPanel:
    if not 0 <= agent < journal.agents:
        raise ValueError(f"expected an agent from 0 to {journal.agents - 1}, got {agent}")
    state = journal.states[int(journal.states_at(tick)[agent])] if journal.states else ""
    since = journal.start_before(max(tick, 0), STRETCH_BYTES)
    show = Show(Config()) if run.opened is None else show_of(run.opened.config)
    messages, questions = [*journal.of_agent(agent, since, tick)], list[Put]()
    for message in messages:
        if isinstance(message, Question):
            number = question_id(journal.header.seed, message.tick, agent, msgspec.msgpack.encode(message))
            questions.append(Put(id=number, question=message))
        elif isinstance(message, Update) and message.source in _BY and message.source != "rule":
            open_ = (each for each in questions if each.decided is None and each.question.trigger == message.trigger)
            if (put := next(open_, None)) is not None:
                put.decided = message
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
    _find_answers(run, agent, questions[-QUESTIONS_MAX:])
    return AgentPanel(
        agent=agent,
        tick=tick,
        since=since,
        state=state,
        moves=[each for each in messages if isinstance(each, Update)],
        questions=questions,
        feed=next((each for each in reversed(messages) if isinstance(each, FeedShown)), None),
        posts=[each for each in messages if isinstance(each, PostEvent)],
        person=person,
        follows=following,
        followers=followers,
        changes=own,
    )


def agent_part(run: ViewedRun, journal: Followed, agent: int, tick: int) -> list[Node]:
    """Return what the page shows of an agent."""
    found = panel_of(run, journal, agent, tick)
    show = Show(Config()) if run.opened is None else show_of(run.opened.config)
    ties: list[Node] = []
    if found.follows or found.followers:
        more = " …" if len(found.follows) > FOLLOWED_SHOWN else ""
        shown = [_person(run, each) for each in found.follows[:FOLLOWED_SHOWN]]
        begin = f"{plural(found.followers, 'follower')}; follows {count(len(found.follows))}: "
        ties = [tag("p", begin, *shown, more)]
    known = [(name.replace("_", " "), text(value)) for name, value in found.person]
    asked = _latest(found.questions, QUESTIONS_MAX, partial(_question, run, show))
    head = tag("p", tag("strong", run.called(agent)), " is ", run.chip(found.state), f" at the end of tick {tick:,}")
    early = tag("p", f"Searched from tick {found.since:,} on.", class_="quiet") if found.since else None
    parts = [
        head,
        early,
        _part("What it did", found.moves, _history(run, show, found), most=MOVES_MAX, is_open=True),
        _part("What it asked", found.questions, *asked, most=QUESTIONS_MAX),
    ]
    if found.posts:
        listed = tag("ul", *_latest(found.posts, POSTS_MAX, partial(_post, run)))
        parts.append(_part("What it posted and liked", found.posts, listed, most=POSTS_MAX))
    if found.changes:
        listed = tag("ul", *_latest(found.changes, CHANGES_MAX, partial(_change, run)))
        parts.append(_part("What it changed", found.changes, listed, most=CHANGES_MAX))
    added = [
        tag("li", f"{of.of}: {added_words(each)}")
        for of in kept_causes(run.path).found
        for each in (*of.causes, *of.smaller)
        if each.agent == agent
    ]
    if added:
        parts.append(_part("What it has added", added, tag("ul", *added)))
    if found.feed is not None:
        feed = tag("ol", *(tag("li", "a post of ", _person(run, author_of(post))) for post in found.feed.posts))
        parts.append(_part(f"Its feed of tick {found.feed.tick:,}", found.feed.posts, feed))
    if known or ties:
        parts.append(tag("details", tag("summary", tag("strong", "Who it is")), facts(known), *ties, data_part="who"))
    return [part for part in parts if part is not None]


def _latest(of: Sequence[T], most: int, shown: Callable[[T], Node]) -> list[Node]:
    """Return the latest entries, the last one first."""
    return [shown(each) for each in of[::-1][:most]]


def _part(title: str, of: Sequence[Any], *content: Node, most: int = 0, is_open: bool = False) -> Element:
    """Return a part that opens; `most`: how many of the entries are shown, if not all."""
    told = "Nothing up to this tick." if not of else ""
    told = f"The latest {most:,} are listed; prism explain shows all." if 0 < most < len(of) else told
    note = tag("p", told, class_="quiet") if told else None
    head = tag("summary", tag("strong", f"{title} ({len(of):,})"))
    shown = content if of else ()
    return tag(
        "details", head, note, *shown, data_part=title.split(" of tick", maxsplit=1)[0], open="" if is_open else None
    )


def _person(run: ViewedRun, agent: int) -> Element:
    return tag("button", run.called(agent), type="button", class_="link", data_agent=agent)


def _why(tick: int, said: str, looks: str = "link") -> Element:
    return tag("button", said, type="button", class_=looks, data_why=tick, aria_label=f"Why in tick {tick:,}?")


def _history(run: ViewedRun, show: Show, found: AgentPanel) -> Node:
    """Return the table of what the agent did, the latest first."""
    rows = []
    for move in found.moves[::-1][:MOVES_MAX]:
        stays = "stays " if move.from_state == move.to_state else ""
        effect = None if move.effect is None else show.effect_name(move.effect)
        by = f"{_BY.get(move.source, move.source)}{f' ({move.reason})' if move.reason else ''}"
        cells = (
            tag("td", count(move.tick), class_="number"),
            tag("td", move.trigger.replace("_", " ")),
            tag("td", stays, run.chip(move.to_state)),
            tag("td", f"{by}{f': {effect}' if effect else ''}"),
            tag("td", _why(move.tick, "why?")),
        )
        rows.append(tag("tr", *cells, class_="now" if move.tick == found.tick else None))
    heads = (tag("th", name, scope="col") for name in ("tick", "on", "goes to", "by"))
    table = tag("table", tag("thead", tag("tr", *heads, tag("td"))), tag("tbody", *rows))
    return tag("div", table, class_="scroller", tabindex=0, role="region", aria_label="What the agent did")


def _question(run: ViewedRun, show: Show, put: Put) -> Node:
    """Return a question: what was seen, what could be done, and what came back."""
    asked, decided, answer = put.question, put.decided, put.answer
    taken = "" if decided is None else decided.to_state
    became = "not answered up to this tick"
    if decided is not None:
        became = f"{taken.replace('_', ' ')}, by {_BY.get(decided.source, decided.source)}"
    options = [
        tag("li", run.chip(name), " ✓ taken" if name == taken else "", class_="taken" if name == taken else None)
        for name in asked.options
    ]
    told: list[tuple[str, str]] = []
    if answer is not None:
        told = [("latency", f"{answer.latency_s:.3f} s"), ("found by", answer.method or answer.source)]
        told += [("a fallback, because of", answer.reason.replace("_", " "))] if answer.reason else []
        for each in answer.spent:
            tokens = f"{plural(each.prompt_tokens, 'token')} read, {count(each.completion_tokens)} written"
            told.append((f"calls: {each.outcome}", f"{plural(each.calls, 'call')}, {tokens}"))
    said = [tag("h3", "What the model said besides"), tag("pre", answer.content)] if answer and answer.content else []
    seen = {} if asked.context is None else show.seen(asked.context)
    saw = [tag("h3", "What it saw"), facts((name.replace("_", " "), text(value)) for name, value in seen.items())]
    since = "" if decided is None else f", in effect from tick {decided.tick:,} on"
    return tag(
        "details",
        tag("summary", f"tick {asked.tick:,}, on {asked.trigger.replace('_', ' ')}: {became}"),
        tag("ul", *options, class_="options", aria_label="Options"),
        facts(told) if told else None,
        *said,
        *(saw if seen else ()),
        tag("p", _why(asked.tick, "Why? Work out again what led to this, and what the model read", "button")),
        tag("p", "question ", tag("code", put.id), since, class_="quiet"),
        class_="question",
        data_part=put.id,
    )


def text(value: Any) -> str:
    """Return a value of a run as a text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return figure(value, 4)
    if isinstance(value, list | tuple):
        return ", ".join(map(text, value)) or "none"
    return str(value) if isinstance(value, str | int) else msgspec.json.encode(value, enc_hook=str).decode()


def _post(run: ViewedRun, one: PostEvent) -> Node:
    head = f"tick {one.tick:,}: {_DID.get(one.kind, one.kind)} "
    if one.kind == "publish":
        return tag("li", head, ", ".join(one.topics))
    return tag("li", head, _person(run, author_of(one.post if one.kind == "like" else one.parent or 0)))


def _change(run: ViewedRun, one: TieChanged | AttributeSet) -> Node:
    if isinstance(one, TieChanged):
        return tag("li", f"tick {one.tick:,}: {_DID.get(one.kind, one.kind)} ", _person(run, one.whom))
    return tag("li", f"tick {one.tick:,}: {one.name.replace('_', ' ')} becomes {text(one.value)}")


def _changed(run: ViewedRun, journal: Followed, agent: int, last: int) -> list[Changed]:
    """Return the changes of an agent's ties and attributes from the start on, in order; empty if none can change."""
    if run.opened is None:
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


def _find_answers(run: ViewedRun, agent: int, questions: Sequence[Put]) -> None:
    """Give questions their answers from the oracle's log."""
    asked = {put.question.tick for put in questions}
    logged = answers_in(run.path) if asked else ()
    answers = {(each.asked, each.trigger): each for each in logged if each.agent == agent and each.asked in asked}
    for put in questions:
        put.answer = answers.get((put.question.tick, put.question.trigger))
