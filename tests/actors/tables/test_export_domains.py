"""Exports of economies, of domains and charts of one's own, of people with attributes, and of hostile texts."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from actors import read_result
from prism.errors import ConfigError
from tests.actors.store.independent_reader import read_run
from tests.actors.tables.exports import exported, moment
from tests.actors.tables.test_export import check_posts, check_transitions, updates_of
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.own_domains import CROSSING, path_restored, write_study
from tests.recorded import EMBEDDED, make_run
from tests.standin import ModelServer


def test_chains_and_indicators_of_an_economy_are_those_of_its_journal(economy_run: Path, tmp_path: Path) -> None:
    run = economy_run
    read = exported("csv", tmp_path / "out", run)[1]
    assert exported("parquet", tmp_path / "parquet", run)[1] == read
    updates, asked = check_transitions(read, read_run(run)), ("tick", "agent", "trigger")
    assert len(updates) == len(read["chains"]) == 4 * 3 * 3
    questions = [tuple(row[name] for name in asked) for row in read_run(run).rows("questions")]
    assert [tuple(row[name] for name in asked) for row in read["questions"]] == questions
    assert [row["answer"] for row in read["questions"]] == [row["to_state"] for row in updates]
    for row, update in zip(read["chains"], updates, strict=True):
        chain, decision = update["effect"]["chain"], update["effect"]["decision"]
        assert [row[name] for name in asked] == [update[name] for name in asked]
        assert row["nation"] == ("Ada", "=Bo", "Cy")[update["agent"]] == chain["agent_name"]
        assert row["response"] == chain["response"]
        assert (row["component"], row["reasoning"]) == (chain["component"], decision["reasoning"])
        assert row["is_valid"] == decision.get("is_valid")
        assert row["new_interest_rate"] == decision.get("new_interest_rate")
    with (run / "rounds.csv").open(newline="") as file:
        rounds = list(csv.DictReader(file))
    whole = [row for row in read["indicators"] if row["agent"] is None]
    assert [row["quarter"] for row in whole] == [int(row["tick"]) for row in rounds] == list(range(1, 5))
    for name in ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value"):
        assert [row[name] for row in whole] == [float(row[name]) for row in rounds]
    nations = [row for row in read["indicators"] if row["agent"] is not None]
    assert Counter(row["outcome"] for row in nations)["applied"] == int(rounds[-1]["applied"])
    last = [row for row in nations if row["quarter"] == 4 and row["outcome"] == "applied"][-1]
    assert round(last["interest_rate"], 4) == whole[-1]["interest_rate"]
    assert [row["economic_strength"] for row in read["agents"]] == [3.0, 2.0, 1.0]


def test_runs_of_different_domains_go_into_the_same_files(tmp_path: Path, economy_run: Path, embedded: Path) -> None:
    read = exported("parquet", tmp_path / "out", economy_run, embedded)[1]
    assert [row["domain"] for row in read["runs"]] == ["economy", "social"]
    names = [row["run"] for row in read["runs"]]
    assert names == [str(economy_run), str(embedded)], "both directories are called run, so their paths tell them apart"
    counts = Counter(row["run"] for row in read["agents"])
    assert counts == {names[0]: 3, names[1]: 60}
    assert {row["run"] for row in read["posts"]} == {names[1]}
    for row in read["rounds"]:
        assert (row["interest_rate"] is None) == (row["run"] == names[1])
        assert (row["likes"] is None) == (row["run"] == names[0])


BAD_ROWS = """

from prism.show import Show
from prism.tables import INTEGER, RUN, Table, column


class SHOW(Show):
    tables = (
        Table(
            name="turns",
            about="a turn",
            columns=(RUN, column("tick", INTEGER, "its tick"), column("agent", INTEGER, "who")),
            query="SELECT run, tick FROM journal.updates",
        ),
    )
"""


def test_a_domain_of_ones_own_has_the_tables_that_every_run_has_and_rows_that_do_not_fit_are_refused(
    tmp_path: Path,
) -> None:
    with path_restored():
        study = write_study(tmp_path / "study", CROSSING + BAD_ROWS)
        run = tmp_path / "own"
        assert prism_alone("run", str(study.config), "-q", "--out", str(run)).code == 0
        with pytest.raises(ConfigError, match=r"turns cannot be read: .* not have a column named"):
            exported("csv", tmp_path / "none", run)
        assert not (tmp_path / "none").exists()
        names = ("runs", "rounds", "agents", "transitions", "questions", "posts")
        done, read = exported("parquet", tmp_path / "out", run, names=names)
    assert set(read) == {*names} - {"posts"}
    assert done.left_out["posts"] == "no posts on a feed in this domain"
    found = read_run(run)
    updates = updates_of(found)
    assert [row["to_state"] for row in read["transitions"]] == [row["to_state"] for row in updates]
    assert [row["state"] for row in read["agents"]] == [
        next(row["to_state"] for row in reversed(updates) if row["agent"] == agent) for agent in range(3)
    ]


NOTED = """

from prism.events import AGENT_COLUMN
from prism.tables import BOOLEAN, NAME, NUMBER, PACKED, TEXT, Table, column
from tests.domains import Crossing

NOTES = Table(
    name="notes",
    about="a note on a turn",
    columns=(
        AGENT_COLUMN,
        column("colour", NAME, "the new colour", names=("red", "green", "amber")),
        column("text", TEXT, "what is noted"),
        column("share", NUMBER, "some share", "of 1"),
        column("is_even", BOOLEAN, "whether the number is even"),
        column("more", PACKED, "anything else"),
    ),
)


class Noting(Crossing):
    tables = (*Crossing.tables, NOTES)

    def take_rows(self):
        turned, self.updates = self.updates, []
        notes = [
            (each.agent, each.to_state, f"=light {each.agent}, ü", each.agent / 2, each.agent % 2 == 0, {"was": [1]})
            for each in turned
        ]
        return {**super().take_rows(), "notes": notes}


class Noted(TrafficDomain):
    def __init__(self, size):
        super().__init__(size)
        self.world = Noting(size)


def build(config: Config, settings: Settings) -> TrafficDomain:
    return Noted(settings.lights)
"""


@catalogue("form", ["csv", "parquet"])
def test_tables_that_a_world_declares_are_exported_as_they_are(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with path_restored():
        study = write_study(tmp_path / "study", CROSSING + NOTED)
        run = tmp_path / "own"
        assert prism_alone("run", str(study.config), "-q", "--out", str(run)).code == 0
        read = exported(form, tmp_path / "out", run)[1]
        frame = read_result(run).table("notes")
    found = [*read_run(run).rows("notes")]
    colours = ("red", "green", "amber")
    assert len(found) > 20
    for row, own, told in zip(read["notes"], found, frame.to_dict("records"), strict=True):
        assert (row["run"], row["tick"], row["agent"]) == ("own", own["tick"], own["agent"])
        assert row["time"] == moment("2026-01-01T00:00:00+00:00", 60.0 * own["tick"])
        assert (row["colour"], row["text"], row["share"]) == (colours[own["colour"]], own["text"], own["share"])
        assert (row["is_even"], json.loads(row["more"])) == (own["agent"] % 2 == 0, {"was": [1]})
        assert (told["agent_id"], told["colour"], told["text"]) == (own["agent"], row["colour"], own["text"])
    assert sum(row["cars"] for row in read["passes"]) == sum(row["cars"] for row in read_run(run).rows("passes"))
    # Without the code there are the names and the numbers of the journal.
    monkeypatch.setattr("actors.tables.schema.look_at_domain", gone)
    again = exported(form, tmp_path / "again", run, names=("notes",))[1]["notes"]
    assert [row["text"] for row in again] == [row["text"] for row in found]
    assert [row["colour"] for row in again] == [row["colour"] for row in found]
    assert [json.loads(row["more"]) for row in again] == [row["more"] for row in found]


def gone(_: object) -> None:
    raise ConfigError("config.yaml", "its code is gone")


def test_a_chart_of_ones_own_gives_the_cascades_of_its_journal(changed_run: Path, tmp_path: Path) -> None:
    read = exported("csv", tmp_path / "out", changed_run)[1]
    check_transitions(read, read_run(changed_run))
    check_posts(read, changed_run)
    assert {row["state"] for row in read["agents"]} <= {"away", "reading", "judging", "leaving", "joining", "sharing"}
    assert max(row["depth"] for row in read["posts"]) >= 2


@pytest.mark.slow
def test_attributes_ties_and_posts_of_interventions_are_in_the_tables(tmp_path: Path) -> None:
    people = {
        **EMBEDDED["population"],
        "attributes": {
            "age": {"type": "int", "min": 13, "max": 99},
            "trust": {"type": "float", "default": 1.5, "description": "0 is none"},
            "Trust": {"type": "bool", "probability": 1.0},
            "note": {"type": "text", "default": "=1+1"},
        },
    }
    done = [
        {"tick": 5, "publish": {"author": 17, "text": "=cmd|' /C calc'!A0", "topics": ["<b>tea</b>"]}},
        *({"tick": 1, "publish": {"author": author, "text": "news"}} for author in range(60)),
        {"tick": 6, "unfollow": [[0, 1]]},
        {"tick": 7, "follow": [[0, 1], [2, 3]]},
        {"tick": 9, "unfollow": [[2, 3]]},
    ]
    run = make_run(tmp_path, {**EMBEDDED, "population": people, "interventions": done})
    before = run_of_ties(tmp_path / "before")
    read = exported("parquet", tmp_path / "out", run)[1]
    for row in read["agents"]:
        assert 13 <= row["attribute_age"] <= 99
        assert (row["attribute_trust_"], row["attribute_Trust"], row["attribute_note"]) == (1.5, True, "=1+1")
    published = [row for row in read["posts"] if row["text_by"] == "intervention"]
    assert [row["author"] for row in published] == [*range(60), 17], "those of one tick in the order of the list"
    author_of = {row["post"]: row["author"] for row in read["posts"]}
    named = {row["post"] for row in read["transitions"] if author_of.get(row["post"]) == row["agent"]}
    assert {row["agent"] for row in read["transitions"] if row["tick"] == 1}, "their authors moved in the same tick"
    assert not named & {row["post"] for row in published}, "what is done from outside is no turn of anybody"
    made = {row["post"] for row in read["posts"]} - {row["post"] for row in published}
    assert made == named
    post = published[-1]
    assert (post["author"], post["tick"], post["text"]) == (17, 5, "=cmd|' /C calc'!A0")
    assert json.loads(post["topics"]) == ["<b>tea</b>"]
    times: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
    for row in read["edges"]:
        times.setdefault((row["follower"], row["followee"]), []).append((row["from_tick"], row["until_tick"]))
    assert times[0, 1] == ([(0, 6), (7, None)] if (0, 1) in before else [(7, None)])
    assert times[2, 3] == ([(0, 9)] if (2, 3) in before else [(7, 9)])
    assert {tie for tie, spans in times.items() if spans[0][0] == 0} == before
    check_posts(read, run)


def run_of_ties(directory: Path) -> set[tuple[int, int]]:
    directory.mkdir()
    read = exported("csv", directory / "out", make_run(directory, EMBEDDED), names=("edges",))[1]
    return {(row["follower"], row["followee"]) for row in read["edges"]}


WRITES = """
simulation: {{rounds: 3, ticks_per_round: 16, seed: 5}}
population:
  {{size: 60, deliberation_minutes: 2, ambiguity: 0.9, posts_per_session: 0.5, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama}}
llm: {{host: "{host}", timeout_s: 120.0, writes: true}}
run: {{checkpoint_every_ticks: 7}}
"""


@pytest.mark.slow
def test_texts_that_a_model_wrote_are_those_that_people_had_in_view(tmp_path: Path) -> None:
    with ModelServer() as server:
        run = make_run(tmp_path, yaml.safe_load(WRITES.format(host=server.url)))
    read = exported("csv", tmp_path / "out", run)[1]
    found = read_run(run)
    seen = {row["id"]: row["text"] for row in found.rows("questions")}
    rows = [row for row in read["posts"] if row["post"] in seen]
    assert [row["text"] for row in rows] == [seen[row["post"]] for row in rows]
    written: Callable[[str], int] = lambda by: sum(row["text_by"] == by for row in rows)  # noqa: E731
    assert written("template") > 5
    drafts = [row["value"][1] for row in found.rows("effects") if isinstance(row["value"], list)]
    texts = Counter(row["text"] for row in read["posts"] if row["text_by"] == "llm")
    assert len(texts) > 5
    assert not texts - Counter(drafts)
