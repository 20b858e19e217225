"""The search for causes: candidates are undone one by one, and those that mattered are looked at under other draws."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import anyio
import numpy as np
from anyio import to_thread

from actors.core.errors import ActorError, RunDirectoryError
from actors.explain.futures import Change, Futures, Outcome, seed_of_draws
from actors.explain.turns import chosen_agent
from actors.factory.own_code import known_code
from actors.logs.output import output
from actors.logs.setup import logging_to
from actors.studies.causes.candidates import Candidate, candidates_of, change_of, kinds_of, only_of, words_of
from actors.studies.causes.record import KINDS, POSTS, Cause, Causes, Tried
from actors.studies.causes.track import MeasureTrack, futures_of
from actors.studies.experiments.cells import Pool
from prism.columns import Floats, Ints
from prism.experiment.hypothesis_tests import Interval, described
from prism.rng import WORLD, Draw, uniform, uniforms

P = TypeVar("P")
W = TypeVar("W")
R = TypeVar("R")


class Undone(NamedTuple):
    """A future that is to be run."""

    tick: int  # where it forks off the run
    candidate: Candidate | None  # what is undone; None for nothing
    draw: int | None = None  # the number of other draws; None for those of the run
    drawn_at: int = 0  # the tick from which these are used


async def outcomes_of(
    futures: Futures[MeasureTrack], wanted: Sequence[Undone], on_outcome: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    found: dict[int, Outcome] = {}
    by_tick: defaultdict[int, list[int]] = defaultdict(list)
    for place, each in enumerate(wanted):
        by_tick[each.tick].append(place)
    await to_thread.run_sync(futures.run.prepare, len(wanted))
    async for at in futures.walk(sorted(by_tick)):
        for place in by_tick[at.tick]:
            each, seed = wanted[place], futures.run.config.simulation.seed
            drawn = None if each.draw is None else seed_of_draws(seed, each.draw)
            change = Change() if each.candidate is None else change_of(futures.run, each.candidate, futures.known)
            found[place] = await futures.future(at, change, drawn, each.drawn_at)
            on_outcome(found[place])
    return [found[place] for place in range(len(wanted))]


SHARES = 8  # the parts of its work that each process gets one by one, so that progress can be seen


class Processes(AbstractContextManager["Processes[Any]"], Generic[P]):
    """Processes of this machine that run futures. They end with the block.

    Args:
        opened: returns what the work needs; each process calls it once. It may block.
    """

    def __init__(self, number: int, opened: Callable[[], P]) -> None:
        self._number = number
        self._pool = Pool(number, partial(_begin, opened, known_code.trusts))

    async def done(
        self,
        work: Callable[[P, Sequence[W]], Awaitable[Sequence[R]]],
        wanted: Sequence[W],
        key: Callable[[W], Any],
        on_done: Callable[[R], None],
    ) -> list[R]:
        """Return the results of work, in its order.

        Args:
            key: work with neighbouring keys goes to one process, so that less of the run is done again.
        """
        order = sorted(range(len(wanted)), key=lambda place: key(wanted[place]))
        each = -(-len(order) // (self._number * SHARES)) or 1
        left = {
            self._pool.submit(_worked, work, [wanted[place] for place in share]): share
            for share in (order[start : start + each] for start in range(0, len(order), each))
        }
        found: dict[int, R] = {}
        while left:
            ended = await to_thread.run_sync(partial(wait, left, return_when=FIRST_COMPLETED), abandon_on_cancel=True)
            for future in ended.done:
                try:
                    results = future.result()
                except Exception as error:  # noqa: BLE001  # a user's code may raise anything
                    raise ActorError(f"a process that runs futures failed: {type(error).__name__}: {error}") from None
                found |= zip(left.pop(future), results, strict=True)
                for result in results:
                    on_done(result)
        return [found[place] for place in range(len(wanted))]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.stop(at_once=error is not None)


_begun = ExitStack()  # of a process, until it ends
_opened: list[Callable[[], Any]] = []  # what the work of a process needs, opened when it is first asked for


def _begin(opened: Callable[[], Any], trusts: bool) -> None:  # a pool passes them by position
    known_code.trusts = trusts
    output.level = logging.ERROR  # the first process has logged the run's warnings
    _begun.enter_context(logging_to(None))
    _opened.append(cache(opened))


def _worked(work: Callable[[Any, Sequence[Any]], Awaitable[Sequence[Any]]], wanted: Sequence[Any]) -> Sequence[Any]:
    return anyio.run(work, _opened[0](), wanted)


OnProgress = Callable[[int, int], None]  # called with the futures that are done, and how many there are to be so far


async def causes(  # noqa: PLR0913  # one for each option of the command
    path: Path,
    of: str,
    *,
    by: Collection[str] = (),
    agent: int | str | None = None,
    since: int | None = None,
    budget: int = 500,
    top: int = 10,
    draws: int = 10,
    jobs: int = 1,
    on_progress: OnProgress = lambda *_: None,
) -> Causes:
    """Return the things that made an outcome of a run, whatever the number of jobs. No file of it changes.

    Args:
        of: the measure, as experiments name it, or `cascade:POST`, the posts in the cascade of a post.
        by: the kinds of things that are undone; none for all that the domain has.
        agent: undo only the presence, decisions, ties and posts of this agent, by number or name; None for all.
        since: the tick from which people fall silent and ties end; by default 0, or that in which the post was made.
        budget: the most things that are undone under the run's own draws.
        top: the causes that are returned; `draws`: the other draws under which each of these is looked at.
    """
    futures = await to_thread.run_sync(futures_of, path, of)
    with ExitStack() as stack:
        opened = partial(futures_of, path, of, futures.run.length)
        place = stack.enter_context(Processes(jobs, opened)) if jobs > 1 else None
        search = _Search(futures, of, since, on_progress, place)
        number = None if agent is None else chosen_agent(futures.run, agent)
        return await search.causes(by or kinds_of(futures.run), number, budget, top, draws)


class _Search:
    def __init__(
        self,
        futures: Futures[MeasureTrack],
        of: str,
        since: int | None,
        on_progress: OnProgress,
        place: Processes[Futures[MeasureTrack]] | None,
    ) -> None:
        self._futures, self._of, self._on_progress, self._place = futures, of, on_progress, place
        self._run, self._root = futures.run, futures.track.root
        self._since = (0 if self._root is None else self._root.tick) if since is None else since
        if not 0 <= self._since < self._run.length:
            problem = f"there is no tick {self._since:,}; the run has the ticks 0 to {self._run.length - 1:,}"
            raise RunDirectoryError(f"{self._run.path}: {problem}")
        self._seen = list[Outcome]()  # the outcomes of all futures so far
        self._wanted = self._later = 0

    async def causes(self, by: Collection[str], agent: int | None, budget: int, top: int, draws: int) -> Causes:
        """Undo candidates, look at the largest effects under other draws, and return the causes."""
        run, seed = self._run, self._run.config.simulation.seed
        everything = await to_thread.run_sync(candidates_of, run, self._futures.track, self._since, by)
        everything = everything if agent is None else [only_of(each, agent) for each in everything]
        value = (await self._futures.recorded()).value
        numbers = shares([len(each.each) for each in everything], budget)
        chosen = [
            (each.each[place], float(each.weights[place]))
            for each, number in zip(everything, numbers, strict=True)
            for place in sample(each.weights, number, seed, KINDS.index(each.kind)).tolist()
        ]
        if self._futures.may_draw_anew:  # at most: a total that grows tells nobody the end
            self._later = 2 * draws * min(top, len(chosen))
        outcomes = await self._outcomes([Undone(each.tick, each) for each, _ in chosen])
        effects = [value - each.value for each in outcomes]
        order = sorted(range(len(chosen)), key=lambda at: (-abs(effects[at]), -chosen[at][1], at))
        with_effect = [at for at in order if effects[at]]
        shown = with_effect[:top]
        self._later = 0
        intervals = await self._under_other_draws([chosen[at][0] for at in shown], draws)
        found = [
            self._cause(chosen[at][0], outcomes[at], effects[at], interval)
            for at, interval in zip(shown, intervals, strict=True)
        ]
        mattered = Counter(chosen[at][0].kind for at in with_effect)
        tried = [
            Tried(kind=each.kind, candidates=len(each.each), tried=number, with_effect=mattered[each.kind])
            for each, number in zip(everything, numbers, strict=True)
        ]
        notes = [*self._run.notes]
        if draws and not self._futures.may_draw_anew:
            notes.append(f"a domain such as {self._run.domain_name} cannot be run under other draws")
        return Causes(
            run=str(run.path),
            of=self._of,
            value=value,
            ticks=run.length,
            since=self._since,
            tried=tuple(tried),
            causes=tuple(found),
            smaller=tuple(self._cause(chosen[at][0], outcomes[at], effects[at], None) for at in with_effect[top:]),
            futures=len(self._seen),
            kept=sum(each.kept for each in self._seen),
            computed=sum(each.computed for each in self._seen) if self._futures.known else 0,
            notes=tuple(notes),
        )

    def _cause(self, one: Candidate, outcome: Outcome, effect: float, other_draws: Interval | None) -> Cause:
        return Cause(
            **{name: value for name, value in one._asdict().items() if name != "trigger"},
            what=words_of(self._run, one),
            value=outcome.value,
            effect=effect,
            other_draws=other_draws,
        )

    async def _under_other_draws(self, shown: Sequence[Candidate], draws: int) -> list[Interval | None]:
        """Return the effect of each candidate under other draws, with its interval.

        Other draws begin in the tick in which the future forks off the run. For a cascade, or for a post as the
        candidate, they begin after the tick of the post, so that the post itself is given.
        """
        if not draws or not self._futures.may_draw_anew:
            return [None] * len(shown)
        after = 0 if self._root is None else self._root.tick + 1
        starts = [max(each.tick + (each.kind == POSTS), after) for each in shown]
        last = self._run.length - 1
        without = [
            Undone(each.tick, each, draw, start)
            for each, start in zip(shown, starts, strict=True)
            for draw in range(draws)
        ]
        whole = [Undone(min(start, last), None, draw, start) for start in sorted({*starts}) for draw in range(draws)]
        found = await self._outcomes([*without, *whole])
        value = {(each.drawn_at, each.draw): one.value for each, one in zip(whole, found[len(without) :], strict=True)}
        effects = [
            value[each.drawn_at, each.draw] - one.value
            for each, one in zip(without, found[: len(without)], strict=True)
        ]
        return [described(effects[start : start + draws]) for start in range(0, len(effects), draws)]

    async def _outcomes(self, wanted: Sequence[Undone]) -> list[Outcome]:
        self._wanted += len(wanted)
        if self._place is None:
            return await outcomes_of(self._futures, wanted, self._note)
        return await self._place.done(outcomes_of, wanted, lambda each: each.tick, self._note)

    def _note(self, outcome: Outcome) -> None:
        self._seen.append(outcome)
        self._on_progress(len(self._seen), self._wanted + self._later)


def shares(counts: Sequence[int], budget: int) -> list[int]:
    """Return how many candidates of each kind are undone: equal shares, and what one kind leaves goes to the others."""
    found = [0] * len(counts)
    for left, kind in enumerate(sorted(range(len(counts)), key=lambda kind: counts[kind])):
        found[kind] = min(counts[kind], (budget - sum(found)) // (len(counts) - left))
    return found


def sample(weights: Floats, number: int, seed: int, purpose: int) -> Ints:
    """Return the numbers of exactly so many candidates, ascending.

    Args:
        weights: above zero.
        purpose: a number that tells this sample from others of the same seed.
    """
    # The chance of each: in proportion to its weight, at most 1.
    certain = np.full(len(weights), number >= len(weights))
    chances = np.ones(len(weights))
    while not certain.all():
        rest = number - int(certain.sum())
        chances = np.where(certain, 1.0, rest * weights / weights[~certain].sum())
        if not (now := (chances >= 1.0) & ~certain).any():
            break
        certain |= now
    others, size = np.flatnonzero(~certain), number - int(certain.sum())
    if not len(others) or not size:
        return np.flatnonzero(certain)
    order = others[np.argsort(uniforms(seed, others, 0, Draw.CAUSE_SAMPLE, purpose), kind="stable")]
    ends = np.cumsum(chances[order])
    ends[-1] = size
    marks = np.floor(ends - uniform(seed, WORLD, 0, Draw.CAUSE_SAMPLE, purpose))
    return np.sort(np.concatenate((np.flatnonzero(certain), order[np.diff(marks, prepend=-1.0) > 0])))
