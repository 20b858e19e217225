"""The local page on runs that grow, were killed, are damaged or are none."""

import os
from pathlib import Path
from urllib.parse import quote

from actors.core.frames import HEAD
from actors.results.run_record import differing
from actors.store.journal import JOURNAL
from actors.store.run import runs_in
from actors.view.run_list import differences_of
from prism.answers import MadeOf
from tests.actors.tables.test_export import ends_of_ticks
from tests.actors.view.asking import Asked, copied
from tests.catalogue import catalogue


def test_a_journal_that_grows_is_read_on(embedded: Path, tmp_path: Path) -> None:
    run = copied(embedded, tmp_path, "grows")
    whole = (run / JOURNAL).read_bytes()
    ends = ends_of_ticks(run)
    (run / JOURNAL).write_bytes(whole[: ends[10]])
    asked = Asked(tmp_path, "grows")
    assert asked.json("runs/grows")["read_ticks"] == 10
    (run / JOURNAL).write_bytes(whole[: ends[30] + 5])
    asked.read("grows")
    page = asked.json("runs/grows")
    assert page["read_ticks"] == 30
    assert "ends within tick 30" in page["head"]
    (run / JOURNAL).write_bytes(whole)
    asked.read("grows")
    page = asked.json("runs/grows")
    assert (page["read_ticks"], "alert" in page["head"]) == (48, False)
    (run / JOURNAL).write_bytes(whole[: ends[5]])  # a shorter one was put back
    asked.read("grows")
    assert asked.json("runs/grows")["read_ticks"] == 5


def test_a_directory_of_any_name_is_listed_and_shown(embedded: Path, tmp_path: Path) -> None:
    name = b"not-utf-8-\xff 100%25 ?#x\n<img>"
    copied(embedded, tmp_path, os.fsdecode(name))
    asked = Asked(tmp_path)
    (line,) = asked.lines()
    assert line.name == name.decode("utf-8", "backslashreplace")
    assert "alert" not in asked.json(f"runs/{quote(line.name, safe='')}")["head"]


def test_damage_is_named_with_its_tick_and_all_before_it_is_shown(embedded: Path, tmp_path: Path) -> None:
    run = copied(embedded, tmp_path, "damaged")
    data = bytearray((run / JOURNAL).read_bytes())
    ends = ends_of_ticks(run)
    data[ends[20] + HEAD.size + 3] ^= 1
    (run / JOURNAL).write_bytes(data)
    asked = Asked(tmp_path, "damaged")
    page = asked.json("runs/damaged")
    assert page["read_ticks"] == 20
    assert f"damaged at byte {ends[20]:,}, in tick 20" in page["head"]
    assert asked.get("/api/runs/damaged/states?tick=19").status_code == 200
    assert asked.get("/api/runs/damaged/states?tick=20").status_code == 422


def test_runs_are_listed_from_the_latest_on_and_a_damaged_one_leaves_the_labels_of_the_others(
    embedded: Path, tmp_path: Path
) -> None:
    for name, begun_s in (("a", 2), ("b", 3), ("c", 1)):
        os.utime(copied(embedded, tmp_path, name) / "manifest.json", (begun_s, begun_s))
    config = tmp_path / "c" / "config.yaml"
    config.write_text(config.read_text().replace("seed: ", "seed: 1"))
    for damaged in ("manifest.json", "config.yaml", JOURNAL):
        (tmp_path / "c" / damaged).write_text("{")
        os.utime(tmp_path / "c" / "manifest.json", (1, 1))
        listed = Asked(tmp_path).lines()
        assert [line.run.domain for line in listed][:2] == ["social", "social"]
        assert ([line.name for line in listed], differences_of(listed)) == (["b", "a", "c"], {})


def test_kept_inputs_are_labelled_by_their_names_and_never_by_their_hashes() -> None:
    one, other = (f"inputs/{digit * 64}" for digit in "ab")
    cases = {
        (f"{one}/edges.csv", f"{other}/ties.csv"): ["edges.csv", "ties.csv"],
        (f"{one}/edges.csv", f"{other}/edges.csv"): ["edges.csv", "edges.csv (version 2)"],
        (f"{one}/edges.csv", "null"): ["edges.csv", "null"],
        (one, other): ["code", "code (version 2)"],
        (f'["{one}/a.csv", "{one}/b.csv"]', "[]"): ['["a.csv", "b.csv"]', "[]"],
        (f'{one}/q"uote.csv', f'["{one}/q\\"uote.csv"]'): ['q"uote.csv', '["q\\"uote.csv"]'],
    }
    for values, expected in cases.items():
        found = differing([{"population.graph.path": value} for value in values])
        assert found == {"population.graph.path": expected}
    assert str(MadeOf(prism=["0.1.0"], inputs={"edges.csv": "a" * 64})) == "PRISM 0.1.0; inputs: edges.csv."


@catalogue("path", ["api/runs/nobody", "api/runs/..%2f..", "api/runs/%00", "part/compare?left=a&right=b"])
def test_a_run_that_is_not_listed_is_not_there(tmp_path: Path, path: str) -> None:
    assert Asked(tmp_path).lines() == []
    answer = Asked(tmp_path).get(f"/{path}")
    assert answer.status_code == 404
    assert answer.headers["content-security-policy"]


@catalogue("query", ["agent?agent=60&tick=1", "agent?agent=-1&tick=1", "agent?agent=x&tick=1", "moment"])
def test_a_number_that_does_not_exist_is_refused_in_words(embedded: Path, query: str) -> None:
    answer = Asked(embedded, embedded.name).get(f"/part/runs/{embedded.name}/{query}")
    assert answer.status_code == 422
    assert "expected" in answer.json()["problem"]


def test_nothing_is_written_beside_a_run(embedded: Path, tmp_path: Path) -> None:
    run = copied(embedded, tmp_path, "run")
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in run.iterdir()}
    asked = Asked(tmp_path, "run")
    for path in ("", "/cascades", "/network"):
        asked.json(f"runs/run{path}")
    for path in ("runs", "runs/run/moment?tick=20", "runs/run/agent?agent=1&tick=20", "runs/run/sections"):
        asked.part(path)
    assert {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in run.iterdir()} == before


def test_one_bad_run_is_one_bad_row(embedded: Path, tmp_path: Path) -> None:
    contents = ["[" * 100_000, '{"ticks": 48, "largest_cascade": {"size": 1' + "0" * 400 + "}}"]
    files = ("summary.json", "manifest.json", "causes/likes.json")
    good = copied(embedded, tmp_path, "good")
    for file in files:
        for number, content in enumerate(contents):
            run = copied(embedded, tmp_path, f"{file.replace('/', '-')}-{number}")
            (run / file).parent.mkdir(exist_ok=True)
            (run / file).write_text(content)
    asked = Asked(tmp_path)
    rows = {row.name: row for row in asked.lines()}
    assert len(rows) == 1 + len(files) * len(contents)
    assert (rows[good.name].state, len(rows[good.name].figures) > 2) == ("done", True)
    listed = {line.path.name: line for line in runs_in(tmp_path)}
    assert {name: line.status for name, line in listed.items()} == {name: row.state for name, row in rows.items()}
    for file in files:
        assert asked.get(f"/api/runs/{file.replace('/', '-')}-1").status_code in (200, 422)
