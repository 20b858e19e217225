"""The candidates for a cause: all that can be undone in a run, each with a weight that the record gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from actors.core.errors import RunDirectoryError
from actors.core.kinds import ASKED
from actors.core.messages import Decided, QuestionName
from actors.explain.futures import Change
from actors.explain.retrace import OpenRun
from actors.explain.what_if import answer_as
from actors.runs.summary import what as what_it_did
from actors.store.course import POST_COLUMNS, posts_until
from actors.store.oracle_log import KeptAnswers
from actors.store.record import Block, tick_of_rows
from actors.studies.causes.record import DECISIONS, INTERVENTIONS, KINDS, PEOPLE, POSTS, TIES
from actors.studies.causes.track import MeasureTrack
from prism.agents import DECIDED, Source
from prism.agents.waves import Kind
from prism.columns import Floats, Ints, OnAccess, distinct, places_among
from prism.config import InterventionConfig
from prism.config.interventions import KINDS_OF, planned
from prism.domain import HasFutures
from prism.events import MADE

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
    weights: Floats


def kinds_of(run: OpenRun) -> tuple[str, ...]:
    """Return the kinds that the domain of a run can undo."""
    can = KINDS_OF.get(run.domain_name, ())
    needs = {PEOPLE: "silence", TIES: "unfollow", POSTS: "publish"}
    return tuple(kind for kind in KINDS if kind not in needs or needs[kind] in can)


def candidates_of(run: OpenRun, track: MeasureTrack, since: int, by: Collection[str]) -> list[Candidates]:
    """Return the candidates of the wanted kinds in a run. It reads the record, and blocks.

    Args:
        track: of the measure; a cascade's candidates are weighed by what they did in it.
        since: the tick from which people fall silent, ties end, and decisions and posts are undone.
    """
    for kind in by:
        if kind not in kinds_of(run):
            can = ", ".join(kinds_of(run))
            raise RunDirectoryError(f"{run.path}: a run of {run.domain_name} has no {kind} to undo; expected {can}")
    found = _Recorded(run, track, since, with_decisions=DECISIONS in by)
    makers = (found.interventions, found.people, found.decisions, found.ties, found.posts)  # in the order of `KINDS`
    return [make() for kind, make in zip(KINDS, makers, strict=True) if kind in by]


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
    decided = None
    if (kept := known.named(name)) is not None:
        decided = answer_as(name, candidate.would_be, kept)
    elif run.domain.oracle().judges:  # then an answer is an option alone; otherwise only the oracle can work it out
        decided = Decided(candidate.tick, agent, candidate.trigger, candidate.would_be, str(Source.ORACLE))
    return Change(asked=name, option=candidate.would_be, decided=decided)


def words_of(run: OpenRun, candidate: Candidate) -> str:
    """Return a candidate in words, with the names of its agents."""
    if candidate.kind == INTERVENTIONS:
        each = run.config.interventions[candidate.place or 0]
        return f"{each.kind} {what_it_did(each)}"
    who = run.called(candidate.agent or 0)
    if candidate.kind == PEOPLE:
        return who
    if candidate.kind == TIES:
        return f"{who} follows {run.called(candidate.whom or 0)}"
    if candidate.kind == POSTS:
        return f"{who}: {candidate.was} {candidate.post}"
    return f"{who}: {candidate.was}, not {candidate.would_be}"


class _Made(OnAccess[Candidate]):
    """A number of candidates, each made when it is asked for: most of millions of ties are never asked for."""

    def __init__(self, number: int, make: Callable[[int], Candidate]) -> None:
        self._number, self._make = number, make

    def __len__(self) -> int:
        return self._number

    def made(self, place: int) -> Candidate:
        return self._make(place)


class _Recorded:
    """The record of a run as candidates need it: its posts and likes, and its questions and decisions, in columns."""

    def __init__(self, run: OpenRun, track: MeasureTrack, since: int, *, with_decisions: bool) -> None:
        self._run, self._since, self._size = run, since, run.domain.size
        answers = dict.fromkeys(("questions", "updates"), ("agent", "kind")) if with_decisions else {}
        wanted = {"posts": POST_COLUMNS, "likes": ("agent", "post"), "interventions": (), **answers}
        events, said = [np.empty((6, 0), np.int64)], [np.empty((3, 0), np.int64)]
        for block in run.record.blocks(until=run.length, wanted=wanted):
            events += [_events_in(block, self._size)] if "posts" in block.tables else []
            said += [_answers_in(block, self._size, run.record.kinds)] if with_decisions else []
        self._answers = np.concatenate(said, axis=1)
        self._ticks, self._agents, self._posts, self._abouts, self._whats, self._is_own = np.concatenate(events, axis=1)
        # How much followed from each event: itself, and all posts and likes below its post.
        made = self._made = posts_until(run.record, run.length)
        places, is_like = made.places(self._posts), self._whats < 0
        above = made.places(made.parents).tolist()
        below = np.bincount(places[is_like], minlength=len(above)).tolist()
        for place in reversed(range(len(above))):  # a parent comes before its children
            if above[place] >= 0:
                below[above[place]] += 1 + below[place]
        counts = self._ticks >= since
        if (root := track.root) is not None:
            is_root = (self._ticks == root.tick) & (self._agents == root.agent) & (self._whats == MADE.index(root.kind))
            [first] = self._posts[is_root][root.place : root.place + 1].tolist()
            counts &= np.isin(self._posts, [each.post for each in made.tree(first)])
        self._caused = counts * (1.0 + np.where(is_like, 0, np.array([*below, 0])[places]))

    def interventions(self) -> Candidates:
        """Return the interventions that the run has carried out. All weigh the same."""
        config = self._run.config
        places = {id(each): place for place, each in enumerate(config.interventions)}
        done = planned(config.interventions, config.simulation.ticks_per_round)
        each = [Candidate(INTERVENTIONS, tick, place=places[id(one)]) for tick, one in done if tick < self._run.length]
        return Candidates(INTERVENTIONS, each, np.ones(len(each)))

    def people(self) -> Candidates:
        """Return all people, weighed by the events that followed from theirs, and by their followers."""
        each = _Made(self._size, lambda agent: Candidate(PEOPLE, self._since, agent=agent))
        weights = np.bincount(self._agents, self._caused, self._size).astype(np.float64)
        return Candidates(PEOPLE, each, _weighed(weights, 1.0 + _followers(self._run)))

    def decisions(self) -> Candidates:
        """Return the decisions of questions, weighed by the events that followed from the agent's next one.

        A decision for the first option, from which nothing follows, weighs as much as others do on average: another one
        might have had as much effect.
        """
        # 1. A question is decided if a decision is what follows it among the agent's answers to its trigger.
        kinds, (ticks, agents, codes) = self._run.record.kinds, self._answers
        triggers = sorted({kind.trigger for kind in kinds})
        of_kinds = np.array([(triggers.index(kind.trigger), kind.source == ASKED) for kind in kinds], np.int64)
        groups, is_asked = agents * len(triggers) + of_kinds[codes, 0], of_kinds[codes, 1] == 1
        order = np.argsort(groups, kind="stable")
        asked, then = order[:-1], order[1:]
        is_decided = (groups[asked] == groups[then]) & is_asked[asked] & ~is_asked[then] & (ticks[asked] >= self._since)
        # 2. The agent's next event after it.
        by_agent, many = np.argsort(self._agents, kind="stable"), self._run.length
        places = np.searchsorted((self._agents * many + self._ticks)[by_agent], agents * many + ticks)
        is_next = np.append(self._agents[by_agent], -1)[places] == agents
        after = np.where(is_next, np.append(self._caused[by_agent], 0.0)[places], 0.0)
        found, weights = [], []
        for decision, question in sorted(zip(then[is_decided].tolist(), asked[is_decided].tolist(), strict=True)):
            kind, option = kinds[codes[question]], kinds[codes[decision]].to_state
            options = msgspec.json.decode(kind.effect, type=tuple[str, ...])
            if option not in options or len(options) < 2:  # only a decision that had another option can be undone
                continue
            other = options[0] if option != options[0] else options[1]
            of = int(ticks[question]), int(agents[question])
            found.append(Candidate(DECISIONS, *of, trigger=kind.trigger, was=option, would_be=other))
            weights.append(after[decision] if option != options[0] else math.nan)
        known = np.array(weights, dtype=np.float64)
        usual = float(np.nanmean(known)) if np.isfinite(known).any() else 1.0
        return Candidates(DECISIONS, found, _weighed(np.nan_to_num(known, nan=usual), np.ones(len(found))))

    def posts(self) -> Candidates:
        """Return the posts that people have published, weighed by the events that followed, and by followers."""
        own = np.flatnonzero((self._whats >= 0) & (self._ticks >= self._since) & (self._is_own == 1))
        columns = (column[own].tolist() for column in (self._ticks, self._agents, self._posts, self._whats))
        each = [
            Candidate(POSTS, tick, agent, post=post, was=KIND_OF_POST[MADE[what]])
            for tick, agent, post, what in zip(*columns, strict=True)
        ]
        return Candidates(POSTS, each, _weighed(self._caused[own], 1.0 + _followers(self._run)[self._agents[own]]))

    def ties(self) -> Candidates:
        """Return the ties at the start, weighed by what followed from the follower's acts on the other's posts."""
        domain: Any = self._run.domain
        tails, heads = domain.ties()
        about = self._made.places(self._abouts)
        acts = about >= 0
        pairs = self._agents[acts] * self._size + self._made.authors[about[acts]]
        known = distinct(pairs)
        along = np.bincount(places_among(known, pairs), self._caused[acts], len(known))
        weights = np.append(along, 0.0)[places_among(known, tails.astype(np.int64) * self._size + heads)]
        ends = np.array((tails, heads)).T
        each = _Made(len(ends), lambda place: Candidate(TIES, self._since, *ends[place].tolist()))
        return Candidates(TIES, each, _weighed(weights, 1.0 + _followers(self._run)[tails]))


def _events_in(block: Block, size: int) -> Ints:
    """Return the posts and likes of a block, in the order in which they took place.

    Each has its tick, its agent, the post that was made or liked, the post that this is about, or -1, the place of its
    kind in `MADE`, or -1 for a like, and whether a person has done it.
    """
    made, liked, done = (block.tables[name] for name in ("posts", "likes", "interventions"))
    of_posts, of_interventions = (np.repeat((each.ticks << 20) + each.waves, each.rows) for each in (made, done))
    agents, whats, posts, parents = (made.columns[name].astype(np.int64) for name in POST_COLUMNS)
    by, likes = (liked.columns[name].astype(np.int64) for name in ("agent", "post"))
    rows = tick_of_rows(made), agents, posts, parents, whats, ~np.isin(of_posts, of_interventions)
    of_likes = tick_of_rows(liked), by, likes, likes, np.full_like(likes, -1), np.ones_like(likes)
    order = np.argsort(np.append(block.keys("posts", size), block.keys("likes", size)), kind="stable")
    return np.concatenate((rows, of_likes), axis=1)[:, order]


def _answers_in(block: Block, size: int, kinds: Sequence[Kind]) -> Ints:
    """Return the questions and decisions of a block in their order, each with its tick, agent and kind."""
    is_wanted, found = np.array([kind.source in (ASKED, *DECIDED) for kind in kinds], np.bool_), list[Ints]()
    for name in ("questions", "updates"):
        table = block.tables[name]
        agents, codes = table.columns["agent"], table.columns["kind"]
        rows = np.array([block.keys(name, size), tick_of_rows(table), agents, codes], np.int64)
        found.append(rows[:, is_wanted[codes]])
    answers = np.concatenate(found, axis=1)
    return answers[1:, np.argsort(answers[0], kind="stable")]


def _followers(run: OpenRun) -> Floats:
    """Return how many followers each agent has at the start: 0 for each if agents have no ties."""
    if not isinstance(run.domain, HasFutures):
        return np.zeros(run.domain.size)
    return np.bincount(run.domain.ties()[1], minlength=run.domain.size).astype(np.float64)


def _weighed(weights: Floats, least: Floats) -> Floats:
    if not len(weights):
        return weights
    return np.asarray(weights + (EQUAL * weights.sum() or 1.0) * least / least.sum())
