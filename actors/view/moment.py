"""A run at one tick: when it is, the agents in each state, an economy's council, and the panel of one agent."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from actors.factory.domains import show_of
from actors.pages.page import Element, Node, facts, tag
from actors.pages.words import SOURCES, count, share, text_of
from actors.store.followed import Followed
from actors.store.messages import of_agent, read_messages
from actors.studies.causes.record import added_words, kept_causes
from actors.view.viewed_run import ViewedRun
from prism.agents import Question, Update
from prism.clock import SimulatedClock
from prism.config import Config
from prism.events import AttributeSet, FeedShown, Intervened, PostEvent, TieChanged
from prism.social.posts.post import author_of
from prism.social.ties.graph import tie_changes
from prism.wording import counted

PROBABILITY: Final = (
    "It is no belief. Of a changed rate: that the new rate is nearer than the old one to the right rate. Of a kept "
    "rate: that the right rate is within one step of it. The rule's rate is taken as right, with an error of "
    "economy.taylor.rate_error. Of a judgement: the rule of succession over the words that led to it."
)
_STAGES: Final = {"proposed": "proposes", "reviewed": "judged", "applied": "applied"}


def moment_of(run: ViewedRun, config: Config, journal: Followed, tick: int) -> list[Node]:
    """Return the parts of the page that a tick changes."""
    inside = np.bincount(journal.states_at(tick), minlength=len(journal.states))
    legend = [tag("li", run.chip(name), tag("b", count(inside[style.number]))) for name, style in run.styles.items()]
    # The questions up to this tick by their outcome, from the samples of the run's course.
    course = journal.course()
    place = bisect_right(course.ticks, tick) - 1
    asked, answered, fallbacks = course.counted[place] if place >= 0 else (0, 0, 0)
    told = (asked, max(0, asked - answered - fallbacks), answered, fallbacks)
    parts: list[Node] = [
        tag("p", when(config, tick), class_="quiet when"),
        tag("ul", *legend, class_="legend", aria_label="Agents in each state"),
        facts(
            [*zip(("questions so far", "open at this tick", "answered", "fallbacks"), map(count, told), strict=True)]
        ),
    ]
    if "quarters" in run.show.pictures:
        parts += _council(run, run.show.council(tick, [*read_messages(journal.record, first=tick, until=tick + 1)]))
    return parts


def when(config: Config, tick: int) -> str:
    """Return the place of a tick in simulated time: its round, and the name of the round or the moment."""
    simulation = config.simulation
    length = simulation.ticks_per_round
    names = show_of(config).round_names([*range(length - 1, tick + length, length)])
    if names:
        return names[-1]
    number = f"round {tick // length + 1:,}"
    try:
        at = SimulatedClock(simulation.epoch, simulation.tick_seconds).at(tick)
    except OverflowError:  # later than the last year that a date can have
        return number
    return f"{number} · {at:%Y-%m-%d %H:%M} UTC"


def _council(run: ViewedRun, council: Any) -> Iterator[Node]:
    """Yield the nations of an economy in a quarter, with what each proposed and why."""
    if council.before:
        seen = ", ".join(f"{name} {value:.2f}%" for name, value in council.before.items())
        yield tag("p", f"What the nations saw: {seen}.", class_="quiet")
    seats = [
        tag(
            "article",
            tag("h3", tag("span", seat.name), run.chip(seat.state)),
            tag("p", f"{share(seat.share)} of all economic strength", class_="quiet"),
            tag("ol", *map(_stage, seat.stages)) if seat.stages else tag("p", "No answer in this quarter."),
            class_="seat",
            aria_label=seat.name,
        )
        for seat in council.seats
    ]
    yield tag("div", *seats, class_="council")
    if any(one.source == "oracle" and one.confidence is not None for seat in council.seats for one in seat.stages):
        yield tag("details", tag("summary", "What the probability of a formula is"), tag("p", PROBABILITY))


def _stage(one: Any) -> Element:
    by = {"oracle": "formula", "llm": one.model or "the model"}.get(one.source, one.source)
    sure = ""
    if one.confidence is not None:
        said = f"which says that it is {share(one.confidence)} sure"
        sure = f", {said if one.source == 'llm' else f'probability {share(one.confidence)}'}"
    told = f"{_STAGES.get(one.kind, one.kind)}, by {by}{sure}{f': {one.reason}' if one.reason else ''}"
    return tag(
        "li",
        tag("div", told, class_="quiet"),
        tag("strong", one.text or "\N{EN DASH}"),
        tag("p", one.reasoning) if one.reasoning else None,
        tag("details", tag("summary", "What the model read"), tag("pre", one.prompt)) if one.prompt else None,
    )


# An agent

T = TypeVar("T")
STRETCH_BYTES = 24 << 20  # bytes of the journal that are searched, from the tick back
LISTED_MAX = 40
FOLLOWED_SHOWN = 12
_DID: Final = {
    "publish": "✎ posted",
    "like": "♥ liked a post of",
    "reply": "↩ answered",
    "reshare": "⇄ reshared",
    "follow": "follows",
    "unfollow": "no longer follows",
    "mute": "mutes",
}


class AgentPanel:
    """The facts that are shown about an agent at a tick. Each list has the latest entry last."""

    def __init__(self, run: ViewedRun, journal: Followed, agent: int, tick: int) -> None:
        if not 0 <= agent < journal.agents:
            raise ValueError(f"expected an agent from 0 to {journal.agents - 1}, got {agent}")
        self._run, self.agent, self.tick = run, agent, tick
        self.state = journal.states[int(journal.states_at(tick)[agent])] if journal.states else ""
        self.since = journal.record.tick_before(max(tick, 0), STRETCH_BYTES)
        """The first tick that was searched; earlier messages are left out."""
        messages = [*of_agent(journal.record, agent, self.since, tick + 1)]
        self.questions = list[tuple[Question[Any], Update[Any] | None]]()
        """Each question with the first decided update on its trigger; None before."""
        for each in messages:
            if isinstance(each, Question):
                self.questions.append((each, None))
            elif isinstance(each, Update) and each.source in SOURCES and each.source != "rule":
                for place, (put, done) in enumerate(self.questions):
                    if (put.trigger, done) == (each.trigger, None):
                        self.questions[place] = put, each
                        break
        self.moves = [each for each in messages if isinstance(each, Update)]
        self.feed = next((each for each in reversed(messages) if isinstance(each, FeedShown)), None)
        self.acts = [each for each in messages if isinstance(each, PostEvent | TieChanged | AttributeSet)]
        # Whom the agent follows and its changes of ties and attributes since the start, with all interventions.
        population = run.network.population
        kept = {
            "ties": lambda columns: (columns["agent"] == agent) | (columns["whom"] == agent),
            "attributes": lambda columns: columns["agent"] == agent,
        }
        found = read_messages(journal.record, Intervened, TieChanged, AttributeSet, kept=kept, until=tick + 1)
        changed = [*found] if "edges" in run.show.event_tables else []
        self.person = [*run.show.panel(agent, messages).items()]
        """The name and value of each known fact about it, with its attributes after the tick."""
        self.follows, self.followers = set[int](), set[int]()
        if population is not None:
            self.follows = {*population.graph.following(agent).tolist()}
            self.followers = {*population.graph.followers(agent).tolist()}
            for _, one, other, follows in tie_changes(changed, population.number):
                if agent in (one, other):
                    of, whom = (self.follows, other) if one == agent else (self.followers, one)
                    (of.add if follows else of.discard)(whom)
            persona = population.personas[agent]
            became = {each.name: each.value for each in changed if isinstance(each, AttributeSet)}
            self.person = [
                ("interests", ", ".join(persona.interests)),
                ("personality", persona.personality),
                ("chance of a session in a round", persona.activity),
                ("ignores a post up to the relevance", persona.low_threshold),
                ("acts on a post from the relevance", persona.high_threshold),
                *{**persona.attributes, **became}.items(),
            ]

    def part(self) -> list[Node]:
        run, added = self._run, kept_causes(self._run.path).found
        said = [
            tag("li", f"{of.of}: {added_words(each)}")
            for of in added
            for each in (*of.causes, *of.smaller)
            if each.agent == self.agent
        ]
        known = [(name.replace("_", " "), text_of(value)) for name, value in self.person]
        feed = () if self.feed is None else self.feed.posts
        seen = (tag("li", "a post of ", self._person(author_of(post))) for post in feed)
        ties = None
        if self.follows or self.followers:
            more = " …" if len(self.follows) > FOLLOWED_SHOWN else ""
            shown = [self._person(each) for each in sorted(self.follows)[:FOLLOWED_SHOWN]]
            begin = f"{counted(len(self.followers), 'follower')}; follows {count(len(self.follows))}: "
            ties = tag("p", begin, *shown, more)
        who = tag("details", tag("summary", tag("strong", "Who it is")), facts(known), ties, data_part="who")
        parts = [
            tag("p", tag("strong", run.called(self.agent)), " is ", run.chip(self.state), f" after tick {self.tick:,}"),
            tag("p", f"Searched from tick {self.since:,} on.", class_="quiet") if self.since else None,
            _part("What it did", self.moves, self._history(), is_open=True),
            _part("What it asked", self.questions, *map(self._question, _latest(self.questions))),
            _part("What it posted, liked and changed", self.acts, tag("ul", *map(self._act, _latest(self.acts)))),
            _part("What it has added", said, tag("ul", *_latest(said))),
            _part("Its latest feed", feed, tag("ol", *seen)),
            who if known or ties else None,
        ]
        return [part for part in parts if part is not None]

    def _person(self, agent: int) -> Element:
        return tag("button", self._run.called(agent), type="button", class_="link", data_agent=agent)

    def _history(self) -> Node:
        rows = []
        for move in _latest(self.moves):
            stays = "stays " if move.from_state == move.to_state else ""
            effect = None if move.effect is None else self._run.show.effect_name(move.effect)
            by = f"{SOURCES.get(move.source, move.source)}{f' ({move.reason})' if move.reason else ''}"
            cells = (
                tag("td", count(move.tick), class_="number"),
                tag("td", move.trigger.replace("_", " ")),
                tag("td", stays, self._run.chip(move.to_state)),
                tag("td", f"{by}{f': {effect}' if effect else ''}"),
                tag("td", _why(move.tick, "why?")),
            )
            rows.append(tag("tr", *cells, class_="now" if move.tick == self.tick else None))
        heads = (tag("th", name, scope="col") for name in ("tick", "on", "goes to", "by"))
        table = tag("table", tag("thead", tag("tr", *heads, tag("td"))), tag("tbody", *rows))
        return tag("div", table, class_="scroller", tabindex=0, role="region", aria_label="What the agent did")

    def _question(self, of: tuple[Question[Any], Update[Any] | None]) -> Node:
        (asked, decided), became = of, "not answered up to this tick"
        taken = "" if decided is None else decided.to_state
        if decided is not None:
            by = SOURCES.get(decided.source, decided.source)
            became = f"{taken.replace('_', ' ')}, by {by}, in effect from tick {decided.tick:,} on"
        options = [tag("li", self._run.chip(name), " ✓ taken" if name == taken else "") for name in asked.options]
        seen = {} if asked.context is None else self._run.show.seen(asked.context)
        saw = ((name.replace("_", " "), text_of(value)) for name, value in seen.items())
        return tag(
            "details",
            tag("summary", f"tick {asked.tick:,}, on {asked.trigger.replace('_', ' ')}: {became}"),
            tag("ul", *options, class_="options", aria_label="Options"),
            tag("div", tag("h3", "What it saw"), facts(saw)) if seen else None,
            tag("p", _why(asked.tick, "Why? Work out again what led to this, and what the model read", "button")),
            class_="question",
            data_part=f"{asked.tick} {asked.trigger}",
        )

    def _act(self, one: PostEvent | TieChanged | AttributeSet) -> Node:
        if isinstance(one, AttributeSet):
            return tag("li", f"tick {one.tick:,}: {one.name.replace('_', ' ')} becomes {text_of(one.value)}")
        head = f"tick {one.tick:,}: {_DID.get(one.kind, one.kind)} "
        if isinstance(one, TieChanged):
            return tag("li", head, self._person(one.whom))
        if one.kind == "publish":
            return tag("li", head, ", ".join(one.topics))
        return tag("li", head, self._person(author_of(one.post if one.kind == "like" else one.parent or 0)))


def _latest(of: Sequence[T]) -> Sequence[T]:
    return of[::-1][:LISTED_MAX]


def _part(title: str, of: Sequence[Any], *content: Node, is_open: bool = False) -> Element | None:
    if not of:
        return None
    told = f"The latest {LISTED_MAX:,} are listed; prism explain shows all."
    note = tag("p", told, class_="quiet") if len(of) > LISTED_MAX else None
    head = tag("summary", tag("strong", f"{title} ({len(of):,})"))
    return tag("details", head, note, *content, data_part=title, open="" if is_open else None)


def _why(tick: int, said: str, looks: str = "link") -> Element:
    return tag("button", said, type="button", class_=looks, data_why=tick, aria_label=f"Why in tick {tick:,}?")
