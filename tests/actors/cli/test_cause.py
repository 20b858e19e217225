"""`prism cause`: its lines, its JSON, and the file in which it is kept."""

import json
import shutil
from pathlib import Path

import pytest

from actors.studies.causes.record import kept_causes
from tests.command import Prism


@pytest.fixture
def own(embedded: Path, tmp_path: Path) -> Path:
    """Return a copy of the run, in which causes are kept."""
    return Path(shutil.copytree(embedded, tmp_path / "own"))


def test_a_search_is_kept_and_packed_and_the_run_stays_as_it_was(own: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()}
    few = ("--budget", "6", "--draws", "1", "--top", "2", "--by", "people,decisions")
    found = json.loads(prism("cause", "own", "--of", "likes", *few, "--json").out)
    assert (found["of"], [each["kind"] for each in found["tried"]]) == ("likes", ["people", "decisions"])
    assert found["value"] == json.loads((own / "summary.json").read_text())["likes"]
    assert json.loads((own / "causes" / "likes.json").read_text()) == {**found, "run": "own"}
    assert {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()} == before
    assert prism("pack", "own").code == prism("unpack", "own.prism", "--out", "there").code == 0
    assert kept_causes(Path("there")) == kept_causes(own)


def test_a_search_is_shown_also_if_it_cannot_be_kept(own: Path, prism: Prism) -> None:
    few = ("--of", "likes", "--by", "people", "--budget", "1", "--draws", "0")
    assert prism("pack", "own").code == 0
    (own / "causes").write_text("a file is in the way")
    for run, told in (("own", "not kept: own/causes: cannot be written"), ("own.prism", "not kept: own.prism is a p")):
        ended = prism("cause", run, *few)
        assert (ended.code, "people: 1 of 60 tried" in ended.out, told in ended.err) == (0, True, True), ended


def test_without_scipy_it_says_what_to_install(embedded: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.cli.options.find_spec", lambda _: None)
    ended = prism("cause", str(embedded), "--of", "likes")
    assert (ended.code, "prism-sim[experiments]" in ended.err) == (2, True)
