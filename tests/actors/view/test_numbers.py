"""The numbers of the local page are those that an independent reader of the journal finds."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from actors.pages.page import rendered, tag
from actors.store import followed, record
from actors.store.followed import Followed
from actors.store.rounds import read_rounds
from actors.view.moment import AgentPanel
from actors.view.viewed_run import ViewedRun
from prism.config import Config
from prism.social.show import SocialShow
from tests.actors.store.independent_reader import MADE, read_posts, read_run
from tests.actors.view.asking import Asked


@pytest.fixture(scope="module")
def asked(embedded: Path) -> Asked:
    return Asked(embedded, embedded.name)


def states_after(run: Path) -> Iterator[dict[int, str]]:
    """Yield `{agent: its state}` after each tick; nobody is in it who has not moved."""
    states: dict[int, str] = {}
    found = read_run(run)
    updates = {tick: [*rows] for tick, rows in groupby(found.rows("updates"), itemgetter("tick"))}
    for tick in range(len(found.ticks)):
        states |= {row["agent"]: row["to_state"] for row in updates.get(tick, ())}
        yield dict(states)


def acts_of(run: Path) -> dict[str, int]:
    found = read_run(run)
    return Counter([*(MADE[row["what"]] for row in found.rows("posts")), *("like" for _ in found.rows("likes"))])


def read(asked: Asked, name: str) -> tuple[ViewedRun, Followed]:
    run = asked.read(name)
    assert run.journal is not None
    return run, run.journal


def test_states_of_everybody_in_every_tick(asked: Asked, embedded: Path) -> None:
    name = embedded.name
    page, (_, journal) = asked.json(f"runs/{name}"), read(asked, name)
    numbers = {state: looks["number"] for state, looks in page["states"].items()}
    course = journal.course()
    assert course.ticks == list(range(48))
    for tick, states in enumerate(states_after(embedded)):
        expected = [numbers[states.get(agent, "idle")] for agent in range(page["agents"])]
        assert list(asked.get(f"/api/runs/{name}/states?tick={tick}").content) == expected
        assert course.states[tick] == np.bincount(expected, minlength=len(numbers)).tolist()
    told = asked.part(f"runs/{name}/moment?tick=47")
    for state, number in numbers.items():
        assert f"<span>{state.replace('_', ' ')}</span></span><b>{course.states[47][number]:,}</b>" in told


def test_cascades_are_the_trees_of_the_journal(asked: Asked, embedded: Path) -> None:
    posts, _ = read_posts(embedded)
    sizes = Counter(root for _, _, _, root, _ in posts.values())
    expected = sorted((size, -posts[root][0]) for root, size in sizes.items() if size > 1)[::-1]
    listed = asked.json(f"runs/{embedded.name}/cascades")
    assert [int(one["words"].split()[0]) for one in listed] == [size for size, _ in expected][: len(listed)]
    assert len(listed) > 1
    root = listed[0]["post"]
    tree = read(asked, embedded.name)[1].posts.tree(root)
    assert {one.post: (one.tick, one.kind, one.parent) for one in tree} == {
        post: (tick, kind, parent) for post, (tick, kind, parent, of, _) in posts.items() if of == root
    }
    assert len(listed[0]["ties"]) == len(tree) - 1
    card = asked.part(f"runs/{embedded.name}/cascade?post={root}")
    assert f"{len(tree)} posts with the original" in card


def test_an_agent_did_and_asked_what_the_journal_says(asked: Asked, embedded: Path) -> None:
    found = read_run(embedded)
    agent = next(found.rows("questions"))["agent"]
    tick = 40
    moved, put_to = (
        [row for row in found.rows(table) if row["agent"] == agent and row["tick"] <= tick]
        for table in ("updates", "questions")
    )
    panel = AgentPanel(*read(asked, embedded.name), agent, tick)
    moves = [(move.tick, move.trigger, move.from_state, move.to_state, move.source) for move in panel.moves]
    names = ("tick", "trigger", "from_state", "to_state", "source")
    assert moves == [tuple(row[name] for name in names) for row in moved]
    assert len(panel.questions) == len(put_to) > 0
    for (asked_of, _), row in zip(panel.questions, put_to, strict=True):
        expected = (row["tick"], row["trigger"], json.loads(row["effect"]))
        assert (asked_of.tick, asked_of.trigger, [*asked_of.options]) == expected
        seen = [*row.values()][[*row].index("seen") + 1 :]
        context = [*SocialShow(Config()).seen(asked_of.context).values()]
        assert context == seen[: len(context)]
    assert panel.state == moves[-1][3]
    shown = asked.part(f"runs/{embedded.name}/agent?agent={agent}&tick={tick}")
    assert f"What it did ({len(moves)})" in shown
    assert f"What it asked ({len(put_to)})" in shown
    assert shown.startswith(f"<p><strong>person {agent}</strong> is ")


def test_a_person_is_found_by_number_and_by_name_as_by_explain(asked: Asked, embedded: Path) -> None:
    run = asked.read(embedded.name)
    run.network.people()
    name = run.called(25)
    run.network.population = None
    for given in ("25", f" {name} "):
        assert asked.json(f"runs/{embedded.name}/person?called={given}") == 25
    for given, problem in (("999999", "there is no agent 999,999"), ("nobody", "no agent is called 'nobody'")):
        answer = asked.get(f"/api/runs/{embedded.name}/person?called={given}")
        assert answer.status_code == 422
        assert problem in answer.json()["problem"]
    run.network.population = None


def test_the_council_says_what_each_nation_proposed_and_why(economy_run: Path) -> None:
    told = Asked(economy_run, economy_run.name).part(f"runs/{economy_run.name}/moment?tick=3")
    effects = [
        row["value"]["decision"]["reasoning"] for row in read_run(economy_run).rows("effects") if row["tick"] == 3
    ]
    assert len(effects) == 9
    for reasoning in effects:
        assert rendered(tag("p", reasoning)) in told
    for share in ("50.0%", "33.3%", "16.7%"):
        assert f"{share} of all economic strength" in told
    assert told.startswith('<p class="quiet when">1986q1</p>')
    rate = read_rounds(economy_run)["interest_rate"][2]
    # what the nations see at the beginning of a quarter is what the one before has left
    (seen,) = re.findall(r"What the nations saw: interest rate ([\d.]+)%", told)
    assert float(seen) == pytest.approx(rate, abs=0.011)


def test_an_economy_has_a_target_and_history_from_the_file_that_it_starts_from(economy_run: Path) -> None:
    drawn = Asked(economy_run, economy_run.name).part(f"runs/{economy_run.name}/sections")
    assert "Dots: us-macro-quarterly.csv, the same quarters of history. Dashed: the target." in drawn


def test_a_list_has_the_figures_of_the_journal(asked: Asked, embedded: Path) -> None:
    (line,) = (line for line in asked.lines() if line.name == embedded.name)
    kinds = acts_of(embedded)
    posts, _ = read_posts(embedded)
    largest = max(Counter(root for _, _, _, root, _ in posts.values()).values())
    assert line.figures == {
        "posts": f"{kinds['publish']:,}",
        "likes": f"{kinds['like']:,}",
        "replies": f"{kinds['reply']:,}",
        "reshares": f"{kinds['reshare']:,}",
        "largest cascade, posts": f"{largest:,}",
    }


def test_every_tick_is_found_from_few_key_frames(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "BLOCK_BYTES", 2_000)
    monkeypatch.setattr(followed, "SPACING_BYTES", 2_000)
    monkeypatch.setattr(followed, "SAMPLES_MAX", 8)
    read = Followed(embedded)  # without a chart, the states are those of the journal
    while read.read_on():
        assert sum(map(len, read._counts)) < 8
    course = read.course()
    assert len(course.ticks) <= 8
    assert course.ticks[-1] == 47
    assert len(read._key_frames) <= followed.KEY_FRAMES_MAX + 1
    for tick, states in reversed(list(enumerate(states_after(embedded)))):
        names = [read.states[number] for number in read.states_at(tick)]
        assert names == [states.get(agent, "idle") for agent in range(read.agents)]
        if tick in course.ticks:
            counts = course.states[course.ticks.index(tick)]
            assert dict(zip(read.states, counts, strict=True)) == {**dict.fromkeys(read.states, 0), **Counter(names)}
