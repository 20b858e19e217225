"""Exported tables are what independent readers of the files of a run find in them, also before its end."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from actors.core.errors import DamagedError, JournalError
from actors.store.journal import JOURNAL
from actors.store.lock import locked
from actors.store.manifest import SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from actors.tables.schema import shipped_tables
from tests.actors.store.independent_reader import MADE, Run, frames, read_posts, read_run
from tests.actors.tables.exports import READERS, Read, exported, moment

TABLES = shipped_tables()

KIND = {"publish": "original", "reply": "reply", "reshare": "reshare"}
MOVED = {"rule", "oracle", "llm", "fallback", "timeout"}


@pytest.fixture(scope="session")
def tables(embedded: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    return exported("csv", tmp_path_factory.mktemp("tables") / "out", embedded)[1]


@pytest.fixture(scope="session")
def live_tables(live: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    return exported("csv", tmp_path_factory.mktemp("tables") / "out", live)[1]


def updates_of(run: Run) -> list[dict[str, Any]]:
    """Return the updates that moved their agents, each with its effect."""
    own, updates = dict[tuple[int, int, int], Any](), list[dict[str, Any]]()
    for tick, tables in enumerate(run.ticks):
        for place, wave in enumerate(tables.get("effects", [])):
            own |= {(tick, place, row["agent"]): row["value"] for row in wave}
        for place, wave in enumerate(tables.get("updates", [])):
            for row in wave:
                kind = run.kinds[row["kind"]]
                effect = kind["effect"] or own.get((tick, place, row["agent"]))
                updates.append({**row, **kind, "tick": tick, "effect": effect})
    return [row for row in updates if row["source"] in MOVED]


def check_transitions(tables: Read, run: Run) -> list[dict[str, Any]]:
    """Compare the transitions with the updates that the independent reader finds, and return these."""
    columns = ("tick", "agent", "trigger", "from_state", "to_state", "source", "reason", "effect")
    updates = updates_of(run)
    expected = []
    for row in updates:
        effect = row["effect"]
        name = effect["type"] if isinstance(effect, dict) else effect[0] if isinstance(effect, list) else effect
        expected.append((*(row[column] for column in columns[:-2]), row["reason"] or None, name))
    assert [tuple(row[name] for name in columns) for row in tables["transitions"]] == expected
    return updates


def check_posts(tables: Read, run: Path) -> None:
    """Compare posts, likes and cascades with those that the independent reader rebuilds."""
    posts, likes = read_posts(run)
    names = ("post", "tick", "kind", "parent", "root", "depth")
    assert [tuple(row[name] for name in names) for row in tables["posts"]] == [
        (post, tick, KIND[kind], parent, root, depth) for post, (tick, kind, parent, root, depth) in posts.items()
    ]
    liked = Counter(post for _, post in likes)
    replies = Counter(parent for _, kind, parent, _, _ in posts.values() if kind == "reply")
    reshares = Counter(parent for _, kind, parent, _, _ in posts.values() if kind == "reshare")
    for row in tables["posts"]:
        post = row["post"]
        assert (row["likes"], row["replies"], row["reshares"]) == (liked[post], replies[post], reshares[post])
        assert row["author"] == post >> 24
    given = [(row["agent"], row["post"]) for row in tables["engagements"] if row["kind"] == "like"]
    assert given == likes
    answered = [
        (row["tick"], row["agent"], row["kind"], row["post"], row["created"], row["root"], row["author"])
        for row in tables["engagements"]
        if row["kind"] != "like"
    ]
    assert answered == [
        (tick, post >> 24, kind, parent, post, root, parent >> 24)
        for post, (tick, kind, parent, root, _) in posts.items()
        if parent is not None
    ]


def test_transitions_posts_likes_and_cascades_are_those_of_the_independent_readers(
    tables: Read, embedded: Path
) -> None:
    found = read_run(embedded)
    header = found.header
    check_transitions(tables, found)
    check_posts(tables, embedded)
    (run,) = tables["runs"]
    assert (run["run"], run["ticks"], run["digest"], run["status"]) == ("run", len(found.ticks), found.digest, "done")
    assert {name: run[name] for name in ("seed", "agents", "config_sha256")}.items() <= header.items()
    assert json.loads(run["config"]) == header["config"]
    assert len(tables["transitions"]) > 500
    assert {row["kind"] for row in tables["posts"]} == {"original", "reply", "reshare"}


def test_a_transition_names_the_post_that_it_made_or_liked(tables: Read, embedded: Path) -> None:
    run, rows = read_run(embedded), tables["transitions"]
    named = Counter((row["agent"], row["tick"], row["post"]) for row in rows if row["post"] is not None)
    done = [*run.rows("posts"), *run.rows("likes")]
    assert named == Counter((row["agent"], row["tick"], row["post"]) for row in done)


def test_times_are_those_of_the_ticks(tables: Read, embedded: Path) -> None:
    simulation = yaml.safe_load((embedded / "config.yaml").read_text())["simulation"]
    for name in ("transitions", "posts", "engagements", "questions"):
        for row in tables[name]:
            assert row["time"] == moment(str(simulation["epoch"]), row["tick"] * simulation["tick_seconds"])


def test_rounds_are_the_rows_of_the_file(tables: Read, embedded: Path) -> None:
    with (embedded / "rounds.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [{name: str(row[name]) for name in rows[0]} for row in tables["rounds"]] == rows


def test_agents_end_in_the_state_of_their_last_update(tables: Read, embedded: Path) -> None:
    run = read_run(embedded)
    moved = updates_of(run)
    last = {row["agent"]: (row["to_state"], row["tick"]) for row in moved}
    count = Counter(row["agent"] for row in moved)
    made = Counter((row["agent"], MADE[row["what"]]) for row in run.rows("posts"))
    made += Counter((row["agent"], "like") for row in run.rows("likes"))
    assert [row["agent"] for row in tables["agents"]] == list(range(60))
    for row in tables["agents"]:
        agent = row["agent"]
        assert (row["state"], row["state_since_tick"]) == last.get(agent, ("idle", 0))
        assert row["transitions"] == count[agent]
        kinds = {"posts": "publish", "replies": "reply", "reshares": "reshare", "likes": "like"}
        assert {name: row[name] for name in kinds} == {name: made[agent, kind] for name, kind in kinds.items()}


def test_ties_agree_with_the_counts_of_agents_and_with_whom_people_were_said_to_follow(
    tables: Read, embedded: Path
) -> None:
    ties = {(row["follower"], row["followee"]) for row in tables["edges"]}
    assert len(ties) == len(tables["edges"]) > 100
    followers, following = Counter(followee for _, followee in ties), Counter(follower for follower, _ in ties)
    for row in tables["agents"]:
        assert (row["followers"], row["following"]) == (followers[row["agent"]], following[row["agent"]])
    questions = [*read_run(embedded).rows("questions")]
    followed = {((row["agent"], row["author"]), bool(row["followed"])) for row in questions}
    assert {is_followed for _, is_followed in followed} == {True, False}
    assert all((tie in ties) == is_followed for tie, is_followed in followed)


def test_texts_of_posts_are_those_that_people_had_in_view(tables: Read, embedded: Path) -> None:
    questions = read_run(embedded).rows("questions")
    seen = {row["id"]: (row["text"], row["topics"], row["author_name"]) for row in questions}
    names = {row["agent"]: row["name"] for row in tables["agents"]}
    rows = [row for row in tables["posts"] if row["post"] in seen]
    assert len(rows) > 10
    for row in rows:
        assert (row["text"], json.loads(row["topics"]), names[row["author"]]) == seen[row["post"]]
        assert row["text_by"] == "template"


def check_questions(tables: Read, run: Path) -> None:
    """Compare the questions with those in the journal, their ids with their bytes, and answers with the log."""
    found = read_run(run)
    asked = [*found.rows("questions")]
    columns = [(name, dtype) for name, dtype in dict(found.header["tables"])["questions"][3:]]
    answers = {(each[1], each[2], each[3]): each for each in found.decided}
    assert len(asked) == len(tables["questions"]) > 20
    for row, each in zip(tables["questions"], asked, strict=True):
        name, options = (each["tick"], each["agent"], each["trigger"]), json.loads(each["effect"])
        fields = ((each[column], dtype) for column, dtype in columns)
        seen = [bool(value) if dtype == "|u1" else value for value, dtype in fields if value is not None]
        encoded = msgspec.msgpack.encode([3, *name, each["from_state"], options, seen])
        digits = sha256(f"{found.header['seed']}:".encode() + encoded).hexdigest()[:16]
        assert row["question"] == f"{each['tick']}-{each['agent']}-{digits}"
        assert (row["tick"], row["agent"], row["trigger"], row["state"]) == (*name, each["from_state"])
        assert json.loads(row["options"]) == options
        answer = answers.get(name)
        if answer is None:
            assert row["latency_s"] is None
            continue
        assert row["latency_s"] == answer[8]
        assert row["method"] == (answer[10] or None)
        assert row["calls"] == sum(spent[1] for spent in answer[9])
        assert row["prompt_tokens"] == sum(spent[3] for spent in answer[9])
        assert row["completion_tokens"] == sum(spent[5] for spent in answer[9])
        if row["answer"] is not None:
            assert (row["answer"], row["source"], row["reason"]) == (answer[4], answer[5], answer[6] or None)


def test_questions_are_those_of_the_journal(tables: Read, embedded: Path) -> None:
    check_questions(tables, embedded)
    rows = [row for row in tables["questions"] if row["answer"] is not None]
    assert len(rows) > 0.8 * len(tables["questions"]), "the others are still open"
    updates = [row for row in updates_of(read_run(embedded)) if row["source"] == "oracle"]
    assert Counter(row["answer"] for row in rows) == Counter(row["to_state"] for row in updates)


def test_questions_to_a_model_have_their_answers_and_costs_from_the_log(live_tables: Read, live: Path) -> None:
    check_questions(live_tables, live)
    rows = live_tables["questions"]
    assert {row["source"] for row in rows if row["answer"] is not None} <= {"llm", "fallback", "timeout"}
    assert sum(row["calls"] or 0 for row in rows) > 20
    assert all(row["decided_tick"] == row["tick"] + 2 for row in rows if row["answer"] is not None)


def test_both_formats_are_equal_cell_by_cell(embedded: Path, tables: Read, tmp_path: Path) -> None:
    for form in READERS:
        done, read = exported(form, tmp_path / form, embedded)
        assert read == tables, form
        assert done.rows == {name: len(rows) for name, rows in tables.items()}
        assert done.bytes == sum(path.stat().st_size for path in (tmp_path / form).iterdir())


def test_neither_blocks_nor_batches_change_a_table(
    live: Path, live_tables: Read, changed_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = exported("csv", tmp_path / "whole", changed_run)[1]
    monkeypatch.setattr("actors.store.record.BLOCK_TICKS", 5)
    monkeypatch.setattr("actors.tables.arrow.PART_ROWS", 7)
    monkeypatch.setattr("actors.tables.made.PART_ROWS", 7)
    assert exported("parquet", tmp_path / "live", live)[1] == live_tables
    assert exported("csv", tmp_path / "changed", changed_run)[1] == whole
    assert len(whole["attribute_changes"]) > 64


def test_keys_join_without_orphans(tables: Read) -> None:
    for name, rows in tables.items():
        for column in TABLES[name].columns:
            if column.key:
                other, _, key = column.key.partition(".")
                known = {row[key] for row in tables[other]}
                assert {row[column.name] for row in rows} - {None} <= known, f"{name}.{column.name}"
        primary = TABLES[name].primary
        if primary:
            assert len({tuple(row[key] for key in primary) for row in rows}) == len(rows)


def test_tables_that_a_run_does_not_have_are_not_written_and_it_is_said_why(embedded: Path, tmp_path: Path) -> None:
    done, read = exported("csv", tmp_path / "out", embedded)
    missing = {"ties", "attribute_changes", "feeds"}
    assert set(TABLES) - set(read) == {*missing, "chains", "indicators"}
    assert set(done.left_out) == missing
    assert done.left_out["feeds"] == "feeds were not recorded: set run.record_feeds"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(f"{name}.csv" for name in read)


def test_some_tables_are_the_same_alone(embedded: Path, tables: Read, tmp_path: Path) -> None:
    names = ("engagements", "posts")
    done, read = exported("csv", tmp_path / "out", embedded, names=names)
    assert read == {name: tables[name] for name in names}
    assert list(done.rows) == ["posts", "engagements"]
    for name in ("agents", "questions", "transitions"):
        assert exported("csv", tmp_path / name, embedded, names=(name,))[1] == {name: tables[name]}


# Runs that are going on, were killed, forked or damaged: a part of a run has the first rows of it

HAPPENED = ("transitions", "engagements", "feeds")
GROWING = {
    "posts": {"likes", "replies", "reshares"},
    "questions": {"answer", "source", "reason", "method", "decided_tick", "content", "latency_s", "calls"},
}
"""The columns of a row that may change after it was made."""


def ends_of_ticks(run: Path) -> list[int]:
    """Return the offset after the header, and after each tick."""
    payloads = [payload for payload, _ in frames(run / JOURNAL, b"PRISMJ\r\n")]
    return [*accumulate((40 + len(payload) for payload in payloads), initial=8)][1:]


def cut(run: Path, to: Path, size: int) -> Path:
    """Return a copy of a run whose journal has only its first bytes, as a crash leaves it."""
    shutil.copytree(run, to)
    (to / SUMMARY).unlink()
    with (to / JOURNAL).open("r+b") as journal:
        journal.truncate(size)
    return to


def without(rows: Sequence[dict[str, Any]], names: set[str]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def check_begins(part: Read, whole: Read) -> None:
    for name in HAPPENED:
        if name in whole:
            assert part[name] == whole[name][: len(part[name])], name
    for name, changing in GROWING.items():
        ours, theirs = part[name], whole[name][: len(part[name])]
        assert without(ours, changing) == without(theirs, changing)
    for our, their in zip(part["questions"], whole["questions"], strict=False):
        if our["answer"] is not None:
            assert our == their
    assert part["rounds"] == whole["rounds"][: len(part["rounds"])]
    ticks = part["runs"][0]["ticks"]
    assert len(part["transitions"]) == sum(row["tick"] < ticks for row in whole["transitions"])
    assert len(part["posts"]) == sum(row["tick"] < ticks for row in whole["posts"])


def test_a_run_that_is_cut_anywhere_has_the_first_rows_of_the_whole_run(few_run: Path, tmp_path: Path) -> None:
    whole = exported("csv", tmp_path / "whole", few_run)[1]
    for ticks, torn in ((0, 0), (31, 200)):
        end = ends_of_ticks(few_run)[ticks]
        (tmp_path / str(ticks)).mkdir()
        run = cut(few_run, tmp_path / str(ticks) / "run", end + torn)
        part = exported("csv", tmp_path / f"part-{ticks}", run)[1]
        check_begins(part, whole)
        (row,) = part["runs"]
        assert (row["ticks"], row["status"]) == (ticks, "crashed")
        assert len(part["rounds"]) == ticks // 12
        assert len(part["feeds"]) == sum(row["tick"] < ticks for row in whole["feeds"])
        with (run / JOURNAL).open("r+b") as journal:
            journal.truncate(end)
        assert row["digest"] == read_run(run).digest


def test_a_run_under_way_says_so_and_is_not_disturbed(embedded: Path, tmp_path: Path) -> None:
    run = cut(embedded, tmp_path / "run", ends_of_ticks(embedded)[20] + 7)
    with locked(run):
        before = {path.name: path.read_bytes() for path in run.iterdir()}
        part = exported("csv", tmp_path / "part", run)[1]
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert (part["runs"][0]["status"], part["runs"][0]["ticks"]) == ("running", 20)


def test_damage_that_no_crash_explains_is_refused_and_nothing_is_written(embedded: Path, tmp_path: Path) -> None:
    run = shutil.copytree(embedded, tmp_path / "run")
    content = bytearray((run / JOURNAL).read_bytes())
    at = ends_of_ticks(run)[10] + 45
    content[at] ^= 1
    (run / JOURNAL).write_bytes(content)
    with pytest.raises(
        DamagedError,
        match=rf"run/{JOURNAL}: damaged at byte {at - 45}: .*CRC32.*shows the 10 ticks before.*prism verify",
    ):
        exported("csv", tmp_path / "out", run)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_answers_that_the_log_has_lost_are_counted_and_their_cost_is_empty(live: Path, tmp_path: Path) -> None:
    whole = exported("csv", tmp_path / "whole", live)
    assert whole[0].notes == []
    run = shutil.copytree(live, tmp_path / "run")
    with (run / ANSWERS).open("r+b") as log:
        log.truncate(log.seek(0, 2) // 2)
    done, read = exported("csv", tmp_path / "out", run)
    lost = [row for row in read["questions"] if row["source"] == "llm" and row["latency_s"] is None]
    assert done.notes == [f"run: oracle.log lacks {len(lost)} answers, whose latency and cost are not known"]
    assert 0.3 < len(lost) / len(read["questions"]) < 0.7
    measured = {"latency_s", "calls", "failed_calls", "prompt_tokens", "cached_tokens", "completion_tokens"}
    changing = measured | {"content", "method"}
    assert without(read["questions"], changing) == without(whole[1]["questions"], changing)


def test_rounds_that_are_missing_are_said_and_rounds_that_are_no_numbers_are_refused(
    embedded: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(embedded, tmp_path / "run")
    rows = (run / ROUNDS).read_bytes()
    (run / ROUNDS).unlink()
    done, read = exported("csv", tmp_path / "out", run)
    assert done.notes == ["run: rounds.csv has no rows; `prism resume` writes them again"]
    assert read["rounds"] == []
    assert len(read["transitions"]) > 500
    (run / ROUNDS).write_bytes(rows.replace(b"\n1,12,", b"\n1,12,x", 1))
    with pytest.raises(JournalError, match=r"run/rounds.csv: cannot be read as rounds: activations: .*prism verify"):
        exported("csv", tmp_path / "other", run)
