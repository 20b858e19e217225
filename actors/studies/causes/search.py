"""The search for causes: candidates are undone one by one, and those that mattered are looked at under other draws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from anyio import to_thread
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.results.retrace import OpenRun
from actors.studies.causes.asked import tape_beside
from actors.studies.causes.candidates import (
    KINDS,
    POSTS,
    Candidate,
    Candidates,
    candidates_of,
    kinds_of,
    only_of,
    words_of,
)
from actors.studies.causes.futures import Futures, Outcome
from actors.studies.causes.groups import groups_of, orders_of, shares_of
from actors.studies.causes.plan import sample, shares, total
from actors.studies.causes.processes import Processes
from actors.studies.causes.record import Cause, Causes, GroupShare, Tried
from actors.studies.causes.undone import Undone, outcomes_of
from actors.studies.experiments.driver import PROCESSES, refuse_unless_ray
from prism.experiment.intervals import Interval, described

if TYPE_CHECKING:
    from actors.studies.causes.on_ray import OnRay

OnProgress = Callable[[int, int], None]  # called with the futures that are done, and how many there are to be so far


async def causes(  # noqa: PLR0913  # one for each option of the command
    path: Path,
    of: str,
    *,
    by: Collection[str] = (),
    groups: str = "",
    agent: int | None = None,
    since: int | None = None,
    budget: int = 500,
    top: int = 10,
    draws: int = 10,
    jobs: int | None = None,
    on: str = PROCESSES,
    ask: int = 0,
    tape: Path | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Causes:
    """Return the things that made an outcome of a run. No file of it changes.

    Args:
        path: the run's directory.
        of: the measure, as experiments name it, or `cascade:POST`, the posts in the cascade of a post.
        by: the kinds of things that are undone; none for all that the domain has, or for no such thing with `groups`.
        groups: an attribute of people: the outcome is shared out among the groups that it makes; empty for no groups.
        agent: undo only the presence, decisions, ties and posts of this agent; None for all agents.
        since: the tick from which people fall silent and ties end; by default 0, or that in which the post was made.
        budget: the most things that are undone under the run's own draws; and the most futures with silent groups.
        top: the causes that are returned; draws: the other draws under which each of these is looked at.
        jobs: futures at once, by default one, and on a cluster as many as there is room for; the result is the same.
        on: where futures are run: `processes` of this machine, or a Ray cluster, as experiments have it.
        ask: the most new questions that the run's model answers; above 0, one process alone runs futures.
        tape: where these answers are kept; by default beside the run.
        on_progress: called after each future.
    """
    futures = await to_thread.run_sync(Futures, path, of)
    async with AsyncExitStack() as stack:
        if ask:
            await stack.enter_async_context(futures.asking(ask, tape or tape_beside(path)))
        place = None if ask else stack.enter_context(_place(futures.run, of, on, jobs))
        search = _Search(futures, of, since, on_progress, place)
        shared = await search.shared_out(groups, budget) if groups else {}
        found = await search.causes(by or (() if groups else kinds_of(futures.run)), agent, budget, top, draws)
    return replace(found, **shared)


def _place(run: OpenRun, of: str, on: str, jobs: int | None) -> AbstractContextManager[Processes | OnRay | None]:
    if on == PROCESSES:
        return nullcontext() if (jobs or 1) == 1 else Processes(run.path, (of,), run.length, jobs or 1)
    refuse_unless_ray(on)
    from actors.studies.causes.on_ray import OnRay  # noqa: PLC0415  # an extra

    return OnRay(run.path, of, run.length, on, jobs)


class _Search:
    def __init__(
        self, futures: Futures, of: str, since: int | None, on_progress: OnProgress, place: Processes | OnRay | None
    ) -> None:
        self._futures, self._of, self._on_progress, self._place = futures, of, on_progress, place
        self._run, self._root = futures.run, futures.course.root
        self._since = (0 if self._root is None else self._root.tick) if since is None else since
        if not 0 <= self._since < self._run.length:
            problem = f"there is no tick {self._since:,}; the run has the ticks 0 to {self._run.length - 1:,}"
            raise RunDirectoryError(f"{self._run.path}: {problem}")
        self._done = self._wanted = self._later = self._kept = self._computed = self._asked = self._taped = 0

    async def causes(self, by: Collection[str], agent: int | None, budget: int, top: int, draws: int) -> Causes:
        """Undo candidates, look at the largest effects under other draws, and return the causes."""
        run, seed = self._run, self._run.config.simulation.seed
        everything = await to_thread.run_sync(candidates_of, run, self._futures.course, self._since, by)
        everything = everything if agent is None else [only_of(each, agent) for each in everything]
        value = (await self._futures.recorded()).value
        numbers = shares([len(each.each) for each in everything], budget)
        samples = [
            sample(each.weights, number, seed, KINDS.index(each.kind))
            for each, number in zip(everything, numbers, strict=True)
        ]
        chosen = [
            (each.each[place], float(chance), float(each.weights[place]))
            for each, (places, chances) in zip(everything, samples, strict=True)
            for place, chance in zip(places.tolist(), chances.tolist(), strict=True)
        ]
        if self._futures.may_draw_anew:  # at most: a total that grows tells nobody the end
            self._later = 2 * draws * min(top, len(chosen))
        outcomes = await self._outcomes([Undone(each.tick, each) for each, *_ in chosen])
        effects = [value - each.value for each in outcomes]
        tried = self._tried(everything, [len(each.chosen) for each in samples], effects, [each[1] for each in chosen])
        order = sorted(range(len(chosen)), key=lambda at: (-abs(effects[at]), -chosen[at][2], at))
        with_effect = [at for at in order if effects[at]]
        shown = with_effect[:top]
        self._later = 0
        intervals = await self._under_other_draws([chosen[at][0] for at in shown], draws)
        found = [
            self._cause(chosen[at][:2], outcomes[at], effects[at], interval)
            for at, interval in zip(shown, intervals, strict=True)
        ]
        return Causes(
            run=str(run.path),
            of=self._of,
            value=value,
            ticks=run.length,
            since=self._since,
            tried=tuple(tried),
            causes=tuple(found),
            smaller=tuple(self._cause(chosen[at][:2], outcomes[at], effects[at], None) for at in with_effect[top:]),
            futures=self._done,
            kept=self._kept,
            computed=self._computed if self._futures.known else 0,
            asked=self._asked,
            taped=self._taped,
            notes=tuple(self._notes(draws)),
        )

    async def shared_out(self, attribute: str, budget: int) -> dict[str, Any]:
        """Return the shares of groups of people in the outcome, and the outcome without all of them."""
        groups, since = groups_of(self._run, attribute), self._since
        orders = orders_of(len(groups), budget, self._run.config.simulation.seed)
        everybody = frozenset(range(len(groups)))
        coalitions = [each for each in orders.coalitions() if each != everybody]
        silent = [tuple(chain.from_iterable(groups[at].people for at in everybody - each)) for each in coalitions]
        outcomes = await self._outcomes([Undone(since, None, silent=tuple(sorted(each))) for each in silent])
        values = {each: outcome.value for each, outcome in zip(coalitions, outcomes, strict=True)}
        values[everybody] = (await self._futures.recorded()).value
        shares = shares_of(orders, values.__getitem__)
        found = [
            GroupShare(group=group.name, people=len(group.people), share=share)
            for group, share in zip(groups, shares, strict=True)
        ]
        return {"attribute": attribute, "groups": tuple(found), "without_groups": values[frozenset()]}

    def _notes(self, draws: int) -> list[str]:
        notes = [*self._run.notes]
        if draws and not self._futures.may_draw_anew:
            notes.append(f"a domain such as {self._run.domain_name} cannot be run under other draws")
        return notes

    def _cause(
        self, candidate: tuple[Candidate, float], outcome: Outcome, effect: float, other_draws: Interval | None
    ) -> Cause:
        one, chance = candidate
        return Cause(
            kind=one.kind,
            what=words_of(self._run, one),
            tick=one.tick,
            agent=one.agent,
            whom=one.whom,
            place=one.place,
            post=one.post,
            was=one.was,
            would_be=one.would_be,
            chance=chance,
            value=outcome.value,
            effect=effect,
            other_draws=other_draws,
        )

    def _tried(
        self, everything: Iterable[Candidates], numbers: Iterable[int], effects: list[float], chances: list[float]
    ) -> Iterable[Tried]:
        start = 0
        for each, number in zip(everything, numbers, strict=True):
            own = np.array(effects[start : start + number])
            found = total(own, np.array(chances[start : start + number])) if number else (None, None, None)
            start += number
            yield Tried(
                kind=each.kind,
                candidates=len(each.each),
                tried=number,
                with_effect=int(np.count_nonzero(own)),
                total=0.0 if not each.each else found[0],
                low=found[1],
                high=found[2],
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
        return await self._place.outcomes_of(wanted, self._note)

    def _note(self, outcome: Outcome) -> None:
        self._done += 1
        self._kept += outcome.kept
        self._computed += outcome.computed
        self._asked += outcome.asked
        self._taped += outcome.taped
        self._on_progress(self._done, self._wanted + self._later)
