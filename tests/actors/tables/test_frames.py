"""Tables of a real run as data frames, of pandas and of polars."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from actors import RunDirectoryError, RunResult, query, read_result, run
from actors.store.journal import JOURNAL
from tests.actors.tables.test_export import ends_of_ticks


@pytest.fixture(scope="module")
def result(embedded: Path) -> RunResult:
    return read_result(embedded)


def columns(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of a data frame as lists, with None for what is missing."""
    rows = (
        frame.to_dicts()
        if hasattr(frame, "to_dicts")
        else frame.astype(object).where(frame.notna(), None).to_dict("records")
    )
    return {name: [row[name] for row in rows] for name in frame.columns}


def test_engagements_have_names_and_texts_and_keep_the_numbers_at_the_end(result: RunResult) -> None:
    found, agents, posts = (columns(result.table(each, "polars")) for each in ("engagements", "agents", "posts"))
    totals = result.summary.world
    assert len(found["kind"]) == totals["likes"] + totals["replies"] + totals["reshares"] > 0
    assert "run" not in found
    assert list(found)[-5:] == ["agent_id", "post_id", "author_id", "root_id", "created_id"]
    names = dict(zip(agents["agent_id"], agents["name"], strict=True))
    texts = dict(zip(posts["post_id"], posts["text"], strict=True))
    assert len(set(names.values())) == 60
    assert found["agent"] == [names[number] for number in found["agent_id"]]
    assert found["author"] == [names[number] for number in found["author_id"]]
    assert found["post_text"] == [texts[number] for number in found["post_id"]]
    assert found["post"][0] == f"{found['author'][0]}, post {found['post_id'][0] % 2**24 + 1}"
    assert {number is None for number in found["created_id"]} == {True, False}
    assert [name is None for name in found["created"]] == [number is None for number in found["created_id"]]
    assert str(found["time"][0].tzinfo) == "UTC"


def test_cascades_are_those_of_the_summary_in_every_library(result: RunResult) -> None:
    pandas, polars, arrow = (result.table("cascades", library) for library in ("pandas", "polars", "arrow"))
    sizes = Counter(map(str, pandas["posts"]))
    assert sizes == result.summary.world["cascade_sizes"]
    assert columns(pandas) == columns(polars) == arrow.to_pydict()
    assert list(pandas)[:2] == ["root", "post_text"] or "root_id" in pandas


def test_a_query_on_runs_is_a_data_frame_with_texts_in_place_of_numbers(result: RunResult, few_run: Path) -> None:
    assert result.path is not None
    for library in ("pandas", "polars"):
        asked = "SELECT run, kind, count(*) AS n FROM engagements GROUP BY ALL HAVING kind = 'like' ORDER BY ALL"
        found = columns(query(asked, result.path, into=library))
        assert found == {"run": [result.path.name], "kind": ["like"], "n": [result.summary.world["likes"]]}
        assert len(query("FROM runs", result.path, few_run.parent / few_run.name, into=library)) == 2
    with pytest.raises(ValueError, match="there is no table cascade; did you mean cascades"):
        query("FROM cascade", result.path)


def test_a_library_that_is_not_there_is_named(result: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.tables.export.find_spec", lambda name: name == "pyarrow")
    assert result.table("cascades").num_rows > 0
    monkeypatch.setattr("actors.tables.export.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="a data frame of pandas or polars or pyarrow, not installed here"):
        result.table("engagements")
    with pytest.raises(ImportError, match="a data frame of polars, not installed here: pip install polars"):
        result.table("engagements", "polars")
    with pytest.raises(ValueError, match="expected pandas, polars or arrow, got 'excel'"):
        result.table("engagements", "excel")


def test_a_table_that_is_not_there_is_named(result: RunResult) -> None:
    with pytest.raises(LookupError, match="did you mean engagements"):
        result.table("engagement")
    with pytest.raises(RunDirectoryError, match="has no table feeds: feeds were not recorded: set run"):
        result.table("feeds")


def test_a_table_without_rows_has_its_columns(few_run: Path, tmp_path: Path) -> None:
    for library in ("pandas", "polars"):
        run = shutil.copytree(few_run, tmp_path / library)
        (run / JOURNAL).write_bytes((run / JOURNAL).read_bytes()[: ends_of_ticks(run)[0]])
        frame = read_result(run).table("engagements", library)
        assert len(frame) == 0
        assert list(frame.columns)[-2:] == ["root_id", "created_id"]


def test_a_run_in_memory_has_its_rounds_alone(result: RunResult) -> None:
    result = run(result.config, ticks=12)
    assert result.table("rounds")["likes"].tolist() == result.rounds["likes"]
    with pytest.raises(RunDirectoryError, match="keeps no journal, so it has no table posts: name a directory"):
        result.table("posts")
