"""Other futures of a run: with nothing changed it is the run, with a decision changed it is what `what_if` tells."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from actors.explain.futures import Change, Outcome
from actors.explain.what_if import what_if
from actors.results.measures import numbers_of
from actors.store.journal import JOURNAL
from actors.studies.causes.candidates import Candidate, candidates_of, change_of
from actors.studies.causes.search import Undone, causes, outcomes_of
from actors.studies.causes.track import futures_of
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.recorded import ECONOMY, FEW, content, make_run

MakeRun = Callable[[Path], Path]


def forked(place: Path) -> Path:
    """Return a run that was forked off another one within a round, with another feed."""
    parent, child = make_run(place, FEW), place / "child"
    settings = ("--at", "17", "--set", "feed.algorithm=chronological")
    ended = prism_alone("fork", str(parent), *settings, "-q", "--out", str(child))
    assert ended.code == 0, ended.err
    return child


def torn(place: Path) -> Path:
    """Return a run whose journal lacks its end, and whose later checkpoints are gone."""
    run = make_run(place, FEW)
    for checkpoint in run.glob("checkpoint-*"):
        checkpoint.unlink()
    journal = (run / JOURNAL).read_bytes()
    (run / JOURNAL).write_bytes(journal[: 3 * len(journal) // 4])
    return run


def shared(place: Path) -> Path:
    """Return a run whose people draw from judgements that they share."""
    return make_run(place, {**FEW, "oracle": {"sharing": {"by": "archetype", "audit": 0.1}}})


def undelayed(place: Path) -> Path:
    """Return a run whose people decide in the tick in which they ask."""
    return make_run(place, {**FEW, "population": {**FEW["population"], "deliberation_minutes": 0.0}})


def economy(place: Path) -> Path:
    return make_run(place, {**ECONOMY, "interventions": [{"round": 2, "shock": {"inflation": 2.0}}]})


async def unchanged(run: Path, of: str, every: int) -> tuple[float, list[float]]:
    """Return a measure of a run, and of its futures from some ticks on in which nothing is changed."""
    futures = futures_of(run, of)
    ticks = range(0, futures.run.length, every)
    values = [(await futures.future(at, Change())).value async for at in futures.walk(ticks)]
    return (await futures.recorded()).value, values


def expect_unchanged(run: Path, of: str, every: int) -> None:
    value, values = anyio.run(unchanged, run, of, every)
    assert values == [value] * len(values)
    assert len(values) > 3


def test_a_future_with_nothing_changed_is_the_run(few_run: Path) -> None:
    expect_unchanged(few_run, "likes", 9)


@pytest.mark.slow
@catalogue(
    ("make", "of", "every"),
    [
        (undelayed, "engagement", 7),
        (shared, "largest_cascade", 11),
        (forked, "rounds.mean.posts", 8),
        (torn, "transitions", 6),
        (economy, "rounds.inflation", 1),
    ],
)
def test_so_it_is_in_every_kind_of_run(tmp_path: Path, make: MakeRun, of: str, every: int) -> None:
    expect_unchanged(make(tmp_path), of, every)


async def start(run: Path, of: str, tick: int) -> int:
    """Return the tick from which a run is done again for the futures that fork off it at a tick."""
    futures = futures_of(run, of)
    return (await futures.start(tick, futures.track.copy()))[0].tick


def test_a_run_is_done_again_from_the_nearest_checkpoint_unless_the_measure_is_of_its_rounds(few_run: Path) -> None:
    kept = [int(file.stem.removeprefix("checkpoint-")) for file in few_run.glob("checkpoint-*")]
    nearest = max(tick for tick in kept if tick <= 33)  # a checkpoint that is not written in time is left out
    assert nearest > 0
    assert [anyio.run(start, few_run, "likes", tick) for tick in (0, 33)] == [0, nearest]
    assert anyio.run(start, few_run, "rounds.mean.likes", 33) == 0


def camps(place: Path) -> Path:
    """Return a run of two camps."""
    declared = {"camp": {"type": "text", "values": ["left", "right"]}}
    return make_run(place, {**FEW, "population": {**FEW["population"], "attributes": declared}})


@pytest.mark.slow
def test_measures_of_posts_and_people_are_those_that_experiments_work_out_of_the_journal(tmp_path: Path) -> None:
    run = camps(tmp_path)
    for of in ("cascades.depth.mean", "cascades.virality.max", "cascades.breadth.max", "by.camp.left.likes_per_person"):
        value, values = anyio.run(unchanged, run, of, 17)
        assert value > 0
        assert {value, *values} == {numbers_of(run).value(of)}


async def withheld(run: Path, number: int) -> list[list[float]]:
    """Return three counts for each of some posts, from futures in which it is not published.

    They are the posts if the future begins where the post was made, the posts if it begins at tick 0, and the posts of
    the cascade of the post.
    """
    futures = futures_of(run, "posts")
    (found,) = candidates_of(futures.run, futures.track, 0, ("posts",))
    begin = await anext(futures.walk([0]))
    told = []
    for each in found.each[:: max(1, len(found.each) // number)][:number]:
        change = change_of(futures.run, each, futures.known)
        async for at in futures.walk([each.tick]):
            values = [(await futures.future(start, change)).value for start in (at, begin)]
        cascade = futures_of(run, f"cascade:{each.post}")
        told.append([*values, (await cascade.future(begin._replace(track=cascade.track), change)).value])
    return told


def test_a_post_is_withheld_alike_wherever_its_future_begins_and_nothing_grows_from_it(few_run: Path) -> None:
    found = anyio.run(withheld, few_run, 2)
    assert len(found) == 2
    for forked_off, whole, cascade in found:
        assert forked_off == whole
        assert cascade == 0


async def decided_otherwise(run: Path, of: str, number: int) -> list[tuple[Candidate, Outcome]]:
    """Return some decisions of a run, and the futures in which each is another one."""
    futures = futures_of(run, of)
    (found,) = candidates_of(futures.run, futures.track, 0, ("decisions",))
    some = found.each[:: max(1, len(found.each) // number)][:number]
    outcomes = await outcomes_of(futures, [Undone(each.tick, each) for each in some])
    return [*zip(some, outcomes, strict=True)]


def would_be(run: Path, each: Candidate, total: str, otherwise: float) -> float:
    """Return a total at the end of a run if an agent had decided otherwise, as `what_if` tells it."""
    found = anyio.run(partial(what_if, run, each.agent or 0, each.tick, each.would_be, 10_000))
    return next((each.value["would_be"] for each in found.all("totals") if each.value["name"] == total), otherwise)


def test_another_decision_leads_to_the_same_future_as_in_what_if(few_run: Path) -> None:
    value = anyio.run(futures_of(few_run, "likes").recorded).value
    for each, outcome in anyio.run(decided_otherwise, few_run, "likes", 2):
        assert outcome.value == would_be(few_run, each, "likes", value), each


@pytest.mark.slow
def test_a_run_with_a_model_keeps_its_answers_and_others_are_computed_and_counted(live: Path) -> None:
    before = content(live)
    value = anyio.run(futures_of(live, "likes").recorded).value
    for each, outcome in anyio.run(decided_otherwise, live, "likes", 3):
        assert outcome.value == would_be(live, each, "likes", value), each
    told = list[tuple[int, int]]()
    search = partial(causes, live, "likes", on_progress=lambda *done: told.append(done))
    found = anyio.run(partial(search, by=("decisions", "people"), budget=8, draws=2, top=2))
    totals = [total for _, total in told]
    assert totals == sorted(totals, reverse=True)  # a total that grows under way tells nobody the end
    assert told[-1] == (found.futures, found.futures)
    assert found.kept > 0
    assert found.computed > 0
    assert content(live) == before


def test_the_run_is_as_it_was_and_the_answer_is_the_same_twice(few_run: Path) -> None:
    before = content(few_run)
    first, second = (anyio.run(partial(causes, few_run, "likes", budget=6, draws=1, top=1)) for _ in range(2))
    assert (first, bool(first.causes), content(few_run)) == (second, True, before)


@pytest.mark.slow
def test_two_processes_give_the_same_answer_as_one(embedded: Path) -> None:
    one, two = (anyio.run(partial(causes, embedded, "likes", budget=9, draws=2, top=2, jobs=jobs)) for jobs in (1, 2))
    assert one == two


def test_a_run_that_goes_on_counts_up_to_the_tick_at_which_the_search_began(embedded: Path) -> None:
    futures = futures_of(embedded, "transitions", ticks=30)
    assert futures.run.length == 30
    whole = futures_of(embedded, "transitions")
    assert anyio.run(futures.recorded).value < anyio.run(whole.recorded).value
