"""The numbers of the local page are those that an independent reader of the journal finds."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from actors.store import followed, record
from actors.store.followed import Followed
from actors.store.messages import ticks_of
from actors.store.run import read_resolved
from actors.view.outcomes import outcomes_of
from tests.actors.store.independent_reader import MADE, read_posts, read_run
from tests.actors.view.asking import Asked, copied
from tests.command import prism_alone
from tests.paths import ROOT
from tests.recorded import DELIBERATION_TICKS


@pytest.fixture(scope="module")
def asked(embedded: Path) -> Asked:
    return Asked(embedded, embedded.name)


@pytest.fixture(scope="module")
def economy(economy_run: Path) -> Path:
    return economy_run


@pytest.fixture(scope="module")
def forks(embedded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("forks")
    one, other = copied(embedded, directory, "one"), directory / "other"
    settings = ("--at", "20", "--set", "feed.algorithm=random", "--quiet")
    ended = prism_alone("fork", str(one), *settings, "--out", str(other))
    assert ended.code == 0, ended.err
    return directory


def states_after(run: Path) -> Iterator[dict[int, str]]:
    """Yield `{agent: its state}` after each tick; nobody is in it who has not moved."""
    states: dict[int, str] = {}
    found = read_run(run)
    updates = {tick: [*rows] for tick, rows in groupby(found.rows("updates"), itemgetter("tick"))}
    for tick in range(len(found.ticks)):
        states |= {row["agent"]: row["to_state"] for row in updates.get(tick, ())}
        yield dict(states)


def acts_of(run: Path) -> dict[str, int]:
    """Count what was done to posts."""
    found = read_run(run)
    return Counter([*(MADE[row["what"]] for row in found.rows("posts")), *("like" for _ in found.rows("likes"))])


def test_states_over_time_and_of_everybody_in_every_tick(asked: Asked, embedded: Path) -> None:
    name = embedded.name
    page, course = asked.json(f"runs/{name}"), asked.json(f"runs/{name}/course")
    numbers = {style[0]: style[1] for style in page["states"]}
    agents = page["line"]["agents"]
    assert course["ticks"] == list(range(48))
    for tick, states in enumerate(states_after(embedded)):
        expected = [numbers[states.get(agent, "idle")] for agent in range(agents)]
        assert list(asked.get(f"/api/runs/{name}/states?tick={tick}").content) == expected
        assert course["states"][tick] == np.bincount(expected, minlength=len(numbers)).tolist()


def test_questions_and_posts_are_counted(asked: Asked, embedded: Path) -> None:
    course = asked.json(f"runs/{embedded.name}/course")
    counted, found = acts_of(embedded), read_run(embedded)
    counted["questions"] = len([*found.rows("questions")])
    counted["oracle"] = sum(row["source"] == "oracle" for row in found.rows("updates"))
    last = dict(zip(course["counted_names"], course["counted"][-1], strict=True))
    assert {name: count for name, count in last.items() if count} == {name: n for name, n in counted.items() if n}


def test_cascades_are_the_trees_of_the_journal(asked: Asked, embedded: Path) -> None:
    posts, _ = read_posts(embedded)
    sizes = Counter(root for _, _, _, root, _ in posts.values())
    expected = sorted((size, -posts[root][0]) for root, size in sizes.items() if size > 1)[::-1]
    listed = asked.json(f"runs/{embedded.name}/cascades")["largest"]
    assert [one["size"] for one in listed] == [size for size, _ in expected][: len(listed)]
    assert len(listed) > 1
    root = listed[0]["post"]
    tree = asked.json(f"runs/{embedded.name}/cascade?post={root}")
    found = {
        one["post"]: (one["tick"], one["kind"], tree[one["parent"]]["post"] if one["parent"] >= 0 else None)
        for one in tree
    }
    assert found == {post: (tick, kind, parent) for post, (tick, kind, parent, of, _) in posts.items() if of == root}


def test_an_agent_did_and_asked_what_the_journal_says(asked: Asked, embedded: Path) -> None:
    found = read_run(embedded)
    agent = next(found.rows("questions"))["agent"]
    tick = 40
    moved, put_to = (
        [row for row in found.rows(table) if row["agent"] == agent and row["tick"] <= tick]
        for table in ("updates", "questions")
    )
    panel = asked.json(f"runs/{embedded.name}/agent?agent={agent}&tick={tick}")
    moves = [(move["tick"], move["trigger"], move["before"], move["after"], move["source"]) for move in panel["moves"]]
    names = ("tick", "trigger", "from_state", "to_state", "source")
    assert moves == [tuple(row[name] for name in names) for row in moved][-60:]
    questions = [
        (put["tick"], put["trigger"], json.dumps(put["options"]), list(put["context"].values()))
        for put in panel["questions"]
    ]
    assert len(questions) == len(put_to[-12:]) > 0
    for (at, trigger, options, context), row in zip(questions, put_to[-12:], strict=True):
        assert (at, trigger, json.loads(options)) == (row["tick"], row["trigger"], json.loads(row["effect"]))
        seen = [*row.values()][[*row].index("seen") + 1 :]
        assert context == seen[: len(context)]
    assert panel["state"] == moves[-1][3]


def test_a_question_has_the_answer_of_the_log(live: Path) -> None:
    asked = Asked(live, live.name)
    *_, decided = read_run(live)
    _, tick, agent, trigger, state, source, _, _, latency_s = decided[0][:9]
    panel = asked.json(f"runs/{live.name}/agent?agent={agent}&tick={tick + DELIBERATION_TICKS}")
    put = next(put for put in panel["questions"] if (put["tick"], put["trigger"]) == (tick, trigger))
    assert (put["answer"]["state"], put["answer"]["source"], put["answer"]["latency_s"]) == (state, source, latency_s)
    assert put["decided_tick"] == tick + DELIBERATION_TICKS
    oracle = asked.json(f"runs/{live.name}/oracle")
    assert oracle["answers"] == len(decided)
    assert oracle["by_source"] == dict(Counter(answer[5] for answer in decided))
    latencies = [answer[8] for answer in decided]
    assert oracle["latencies_s"] == np.quantile(latencies, (0.5, 0.95, 1.0)).tolist()


def test_forks_differ_from_the_tick_in_which_their_bytes_do(forks: Path) -> None:
    ours, theirs = read_run(forks / "one").ticks, read_run(forks / "other").ticks
    first = next(tick for tick, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
    found = Asked(forks, "one", "other").json("compare?left=one&right=other")
    assert found["first"] == first >= 20
    one, other = (next(islice(ticks_of(forks / name), first, None)) for name in ("one", "other"))
    assert one[: found["place"]] == other[: found["place"]]
    assert one[found["place"]] != other[found["place"]]
    assert found["left"].startswith(f"agent {one[found['place']].agent}")
    assert found["contents"][0] != found["contents"][1]
    told = str(found["parts"])
    for words in ("with a random feed", "The settings that differ", "feed.algorithm", "Sizes of cascades"):
        assert words in told


def test_the_council_says_what_each_nation_proposed_and_why(economy: Path) -> None:
    asked = Asked(economy, economy.name)
    council = asked.json(f"runs/{economy.name}/council?tick=3")
    effects = [(row["agent"], row["value"]) for row in read_run(economy).rows("effects") if row["tick"] == 3]
    for seat in council["seats"]:
        expected = [effect["decision"]["reasoning"] for agent, effect in effects if agent == seat["agent"]]
        assert [stage["reasoning"] for stage in seat["stages"]] == expected
        assert [stage["kind"] for stage in seat["stages"]] == ["proposed", "reviewed", "applied"]
    assert [seat["share"] for seat in council["seats"]] == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    indicators = asked.json(f"runs/{economy.name}/outcomes")
    assert indicators["ticks"] == list(range(4))
    rate = next(one for one in indicators["outcomes"] if one["key"] == "interest_rate")
    # what the nations see at the beginning of a quarter is what the one before has left, which the file has rounded
    assert rate["values"][2] == pytest.approx(council["before"]["interest rate"], abs=1e-4)


def test_an_economy_has_quarters_a_target_and_history_from_the_file_that_it_starts_from(economy: Path) -> None:
    found = Asked(economy, economy.name).json(f"runs/{economy.name}/outcomes")
    assert found["names"] == ["1985q2", "1985q3", "1985q4", "1986q1"]
    assert found["source"] == "us-macro-quarterly.csv"
    by_key = {one["key"]: one for one in found["outcomes"]}
    assert {key: one["target"] for key, one in by_key.items() if one["target"] is not None} == {"inflation": 3.58}
    with (ROOT / "configs/data/us-macro-quarterly.csv").open(newline="") as file:
        real = {f"{row['year']}q{row['quarter']}": float(row["tbilrate"]) for row in csv.DictReader(file)}
    assert by_key["interest_rate"]["history"] == [real[quarter] for quarter in found["names"]]
    assert by_key["total_economic_value"]["history"] == []
    # History is not taken from a file that has changed.
    config = read_resolved(economy / "config.yaml")
    changed = outcomes_of(economy, config, {str(config.economy.initial.path): "0" * 64})
    assert (changed.source, {len(one.history) for one in changed.outcomes}) == ("", {0})


def test_a_feed_has_counts_by_round_that_add_up_to_the_figures_of_the_list(asked: Asked, embedded: Path) -> None:
    found = asked.json(f"runs/{embedded.name}/outcomes")
    line = asked.json(f"runs/{embedded.name}")["line"]
    totals = {one["name"]: sum(one["values"]) for one in found["outcomes"]}
    kinds = acts_of(embedded)
    assert totals == {
        "posts": kinds["publish"],
        "likes": kinds["like"],
        "replies": kinds["reply"],
        "reshares": kinds["reshare"],
    }
    largest = asked.json(f"runs/{embedded.name}/cascades")["largest"][0]["size"]
    assert {one["name"]: one["value"] for one in line["figures"]} == totals | {"posts in the largest cascade": largest}


def test_a_fork_counts_what_its_parent_did_before_it(forks: Path) -> None:
    found = Asked(forks, "other").json("runs/other/outcomes")
    likes = next(one for one in found["outcomes"] if one["key"] == "likes")
    assert likes["before"] + sum(likes["values"]) == acts_of(forks / "other")["like"]


def test_every_tick_is_found_from_few_key_frames(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "BLOCK_BYTES", 2_000)
    monkeypatch.setattr(followed, "SPACING_BYTES", 2_000)
    monkeypatch.setattr(followed, "SAMPLES_MAX", 8)
    read = Followed(embedded)  # without a chart, the states are those of the journal
    while read.read_on():
        pass
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
