"""The candidates for a cause: all that can be undone in a run, each with a weight that the journal gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.core.errors import RunDirectoryError
from actors.core.messages import Decided, QuestionName
from actors.record.answers import KeptAnswers
from actors.record.messages import those_of, ticks_of
from actors.results.retrace import OpenRun
from actors.results.what_if import answer_as
from actors.runs.interventions import what as what_it_did
from actors.studies.causes.futures import Change
from actors.studies.causes.track import LIKE, Root, Track
from prism.agents import DECIDED, Question, Source, Update
from prism.config import InterventionConfig
from prism.config.interventions import KINDS_OF, planned
from prism.domain import HasFutures
from prism.events import Intervened, PostEvent

INTERVENTIONS, PEOPLE, DECISIONS, TIES, POSTS = "interventions", "people", "decisions", "ties", "posts"
KINDS: Final = (INTERVENTIONS, PEOPLE, DECISIONS, TIES, POSTS)
"""The kinds of candidates, in the order in which they are shown."""
KIND_OF_POST: Final = {"publish": "original", "reply": "reply", "reshare": "reshare"}  # `{kind of event: kind of post}`
EQUAL: Final = 1.0
"""The weights that candidates have in any case, over those by the journal: one half of the chances, in sum.

Source: Hesterberg (1995), weighted average importance sampling and defensive mixture distributions.
"""


class Candidate(NamedTuple):
    kind: str
    tick: int  # the tick from which the other future departs
    # agent, whom, place, post, was, would_be: as for `actors.studies.causes.record.Cause`
    agent: int | None = None
    whom: int | None = None
    place: int | None = None
    post: int | None = None
    trigger: str = ""  # of a decision's question
    was: str = ""
    would_be: str = ""


class Candidates(NamedTuple):
    """The candidates of one kind, and the weight of each, by which some are chosen if there are too many."""

    kind: str
    each: Sequence[Candidate]
    weights: NDArray[np.float64]


def kinds_of(run: OpenRun) -> tuple[str, ...]:
    """Return the kinds that the domain of a run can undo."""
    can = KINDS_OF.get(run.domain_name, ())
    needs = {PEOPLE: "silence" in can, TIES: "unfollow" in can, POSTS: "publish" in can}
    return tuple(kind for kind in KINDS if needs.get(kind, True))


def candidates_of(run: OpenRun, track: Track, since: int, by: Collection[str]) -> list[Candidates]:
    """Return the candidates of a run. It reads the journal, and blocks.

    Args:
        track: of the measure; a cascade's candidates are weighed by what they did in it.
        since: the tick from which people fall silent, ties end, and decisions and posts are undone.
        by: the kinds that are wanted.
    """
    for kind in by:
        if kind not in kinds_of(run):
            can = ", ".join(kinds_of(run))
            raise RunDirectoryError(f"{run.path}: a run of {run.domain_name} has no {kind} to undo; expected {can}")
    found = _Journal(run, track, since, with_decisions=DECISIONS in by)
    made: dict[str, Callable[[], Candidates]] = {
        INTERVENTIONS: partial(_interventions, run),
        PEOPLE: found.people,
        DECISIONS: found.decisions,
        TIES: found.ties,
        POSTS: found.posts,
    }
    return [made[kind]() for kind in KINDS if kind in by]


def only_of(candidates: Candidates, agent: int) -> Candidates:
    """Return the candidates of one agent: its presence, decisions, ties and posts."""
    places = [place for place, each in enumerate(candidates.each) if each.agent == agent]
    return Candidates(candidates.kind, [candidates.each[place] for place in places], candidates.weights[places])


def change_of(run: OpenRun, candidate: Candidate, known: KeptAnswers) -> Change:
    """Return the change that undoes a candidate."""
    if candidate.kind == INTERVENTIONS:
        return Change(undone=run.config.interventions[candidate.place or 0])
    if candidate.kind == POSTS:
        return Change(withheld=candidate.post)
    agent = candidate.agent or 0
    if candidate.kind == PEOPLE:
        return Change(added=InterventionConfig(tick=candidate.tick, silence=(agent,)))
    if candidate.kind == TIES:
        return Change(added=InterventionConfig(tick=candidate.tick, unfollow=((agent, candidate.whom or 0),)))
    name: QuestionName = agent, candidate.tick, candidate.trigger
    kept, decided = known.named(name), None
    if kept is not None:
        decided = answer_as(name, candidate.would_be, kept)
    elif run.domain.oracle().judges:  # then an answer is an option alone; otherwise only the oracle can work it out
        decided = Decided(candidate.tick, agent, candidate.trigger, candidate.would_be, str(Source.ORACLE))
    return Change(asked=name, option=candidate.would_be, decided=decided)


def words_of(run: OpenRun, candidate: Candidate) -> str:
    """Return a candidate in words, with the names of its agents."""
    if candidate.kind == INTERVENTIONS:
        each = run.config.interventions[candidate.place or 0]
        return f"{each.kind} {what_it_did(each)}"
    who = _called(run, candidate.agent or 0)
    if candidate.kind == PEOPLE:
        return who
    if candidate.kind == TIES:
        return f"{who} follows {_called(run, candidate.whom or 0)}"
    if candidate.kind == POSTS:
        return f"{who}: {candidate.was} {candidate.post}"
    return f"{who}: {candidate.was}, not {candidate.would_be}"


def _called(run: OpenRun, agent: int) -> str:
    name = run.name_of(agent)
    return f"{name} ({agent})" if name else f"agent {agent}"


def _interventions(run: OpenRun) -> Candidates:
    """Return the interventions that the run has carried out. All weigh the same."""
    places = {id(each): place for place, each in enumerate(run.config.interventions)}
    done = planned(run.config.interventions, run.config.simulation.ticks_per_round)
    each = [Candidate(INTERVENTIONS, tick, place=places[id(one)]) for tick, one in done if tick < run.length]
    return Candidates(INTERVENTIONS, each, np.ones(len(each)))


class _Taken(NamedTuple):
    """A decision that the journal has: its question, the tick in which it took effect, and the option taken."""

    question: Question[Any]
    tick: int
    option: str


class _Journal:
    """The journal of a run as candidates need it."""

    def __init__(self, run: OpenRun, track: Track, since: int, *, with_decisions: bool) -> None:
        self._run, self._since = run, since
        self._events: list[PostEvent] = []
        self._from_outside: set[int] = set()  # the posts that interventions have published
        self._taken: list[_Taken] = []
        kinds = (PostEvent, Intervened, *((Question, Update) if with_decisions else ()))
        asked: dict[tuple[int, str], Question[Any]] = {}
        for tick, messages in enumerate(ticks_of(run.path, until=run.length)):
            is_outside = False
            for each in those_of(messages, *kinds):
                if isinstance(each, Intervened):
                    is_outside = each.kind == "publish"
                elif isinstance(each, PostEvent):
                    self._events.append(each)
                    self._from_outside |= {each.post} if is_outside else set()
                    is_outside = False
                elif isinstance(each, Question):
                    asked[each.agent, each.trigger] = each
                elif each.source in DECIDED and (each.agent, each.trigger) in asked:
                    question, option = asked.pop((each.agent, each.trigger)), str(each.to_state)
                    # Only a decision that had another option can be undone.
                    if question.tick >= since and option in question.options and len(question.options) > 1:
                        self._taken.append(_Taken(question, tick, option))
        # How much followed from each event: itself, and all posts and likes below its post.
        tree = None if track.root is None else _tree(self._events, track.root)
        below: dict[int, int] = {}
        parents = {event.post: event.parent for event in self._events if event.kind != LIKE}
        for event in self._events:
            post: int | None = event.post if event.kind == LIKE else event.parent
            while post is not None:
                below[post] = below.get(post, 0) + 1
                post = parents.get(post)
        counts = (event.post in tree if tree is not None else True for event in self._events)
        self._below = [
            (1 + (0 if event.kind == LIKE else below.get(event.post, 0))) * (is_counted and event.tick >= self._since)
            for event, is_counted in zip(self._events, counts, strict=True)
        ]

    def people(self) -> Candidates:
        """Return all people, weighed by the events that followed from theirs, and by their followers."""
        run, weights = self._run, np.zeros(self._run.domain.size)
        for event, caused in zip(self._events, self._below, strict=True):
            weights[event.agent] += caused
        each = [Candidate(PEOPLE, self._since, agent=agent) for agent in range(run.domain.size)]
        return Candidates(PEOPLE, each, _weighed(weights, 1.0 + _followers(run)))

    def decisions(self) -> Candidates:
        """Return the decisions of questions, weighed by the events that followed from the agent's next one.

        A decision for the first option, from which nothing follows, weighs as much as others do on average: another one
        might have had as much effect.
        """
        first_after: dict[int, list[tuple[int, int]]] = {}
        for event, caused in zip(self._events, self._below, strict=True):
            first_after.setdefault(event.agent, []).append((event.tick, caused))
        found, weights = [], []
        for taken in self._taken:
            question, options = taken.question, taken.question.options
            other = options[0] if taken.option != options[0] else options[1]
            agent, trigger = question.agent, question.trigger
            found.append(Candidate(DECISIONS, question.tick, agent, trigger=trigger, was=taken.option, would_be=other))
            after = (caused for tick, caused in first_after.get(agent, ()) if tick >= taken.tick)
            weights.append(next(after, 0) if taken.option != options[0] else math.nan)
        known = np.array(weights, dtype=np.float64)
        usual = float(np.nanmean(known)) if np.isfinite(known).any() else 1.0
        return Candidates(DECISIONS, found, _weighed(np.nan_to_num(known, nan=usual), np.ones(len(found))))

    def posts(self) -> Candidates:
        """Return the posts that people have published, weighed by the events that followed, and by followers."""
        own = [
            (event, caused)
            for event, caused in zip(self._events, self._below, strict=True)
            if event.kind != LIKE and event.tick >= self._since and event.post not in self._from_outside
        ]
        each = [Candidate(POSTS, one.tick, one.agent, post=one.post, was=KIND_OF_POST[one.kind]) for one, _ in own]
        least = 1.0 + _followers(self._run)[np.array([one.agent for one, _ in own], dtype=np.int64)]
        return Candidates(POSTS, each, _weighed(np.array([caused for _, caused in own], dtype=np.float64), least))

    def ties(self) -> Candidates:
        """Return the ties at the start, weighed by what followed from the follower's acts on the other's posts."""
        domain: Any = self._run.domain
        tails, heads = domain.ties()
        authors = {event.post: event.agent for event in self._events if event.kind != LIKE}
        along: dict[tuple[int, int], int] = {}
        for event, caused in zip(self._events, self._below, strict=True):
            about = event.post if event.kind == LIKE else event.parent
            if about is not None:
                pair = event.agent, authors.get(about, -1)
                along[pair] = along.get(pair, 0) + caused
        pairs = [*zip(tails.tolist(), heads.tolist(), strict=True)]
        each = [Candidate(TIES, self._since, agent=one, whom=other) for one, other in pairs]
        weights = np.array([along.get(pair, 0) for pair in pairs], dtype=np.float64)
        return Candidates(TIES, each, _weighed(weights, 1.0 + _followers(self._run)[tails]))


def _tree(events: Iterable[PostEvent], root: Root) -> set[int]:
    """Return the posts of the cascade whose size is the measure."""
    tree: set[int] = set()
    place = 0
    for event in events:
        if tree:
            if event.kind != LIKE and event.parent in tree:
                tree.add(event.post)
        elif (event.tick, event.agent, event.kind) == root[:3]:
            if place == root.place:
                tree.add(event.post)
            place += 1
    return tree


def _followers(run: OpenRun) -> NDArray[np.float64]:
    """Return how many followers each agent has at the start: 0 for each if agents have no ties."""
    if not isinstance(run.domain, HasFutures):
        return np.zeros(run.domain.size)
    return np.bincount(run.domain.ties()[1], minlength=run.domain.size).astype(np.float64)


def _weighed(weights: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(weights):
        return weights
    return np.asarray(weights + (EQUAL * weights.sum() or 1.0) * least / least.sum())
