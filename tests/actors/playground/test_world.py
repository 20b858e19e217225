"""A run for the page: by recorded answers, with the embedded choice where there is none, and in a notebook."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

import actors
from actors.playground.app import Move, playable
from actors.playground.world import Played, play
from prism.config import Config, load_config
from tests.standin import ModelServer

SMALL = {"population.size": 200, "population.ambiguity": 0.6, "simulation.rounds": 3}
MODEL = {"oracle.backend": "ollama", "llm.model": "llama3.2"}


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let a run open its tape: the processes of a page do nothing else meanwhile."""


def played(config: Config, directory: Path) -> Played:
    found = play(config, {}, directory)
    assert isinstance(found, Played), found
    return found


def test_recorded_answers_decide_and_the_embedded_choice_where_there_is_none(tmp_path: Path) -> None:
    with ModelServer() as server:
        asked = {**SMALL, **MODEL, "llm.host": server.url, "oracle.tape": "record"}
        recorded = actors.run(load_config(overrides=asked), out=tmp_path / "taped").summary
    tape = {**asked, "oracle.tape": "replay", "oracle.tape_path": str(tmp_path / "taped" / "tape.sqlite")}
    config, note = playable(load_config(overrides=tape))
    assert note.startswith("Recorded answers of llama3.2 decide")
    same = played(config, tmp_path / "same")
    assert same.digest == recorded.digest
    assert same.words[0] == f"Recorded answers: {recorded.oracle_questions}; by the embedded choice: 0."
    other, _ = playable(load_config(overrides={**tape, "simulation.seed": 7}))
    assert not played(other, tmp_path / "other").words[0].endswith("by the embedded choice: 0.")


def test_a_model_is_never_asked_without_a_tape(tmp_path: Path) -> None:
    config, note = playable(load_config(overrides={**SMALL, **MODEL, "llm.host": "http://127.0.0.1:9"}))
    assert note == "The embedded choice decides here: llama3.2 is not asked while playing."
    expected = actors.run(load_config(overrides=SMALL)).summary.digest
    assert played(config, tmp_path / "run").digest == expected


@pytest.mark.slow
def test_a_notebook_shows_the_page_and_has_the_kept_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = actors.play(load_config(overrides=SMALL))
    try:
        assert f'<iframe src="{page.address}"' in page._repr_html_()
        with urllib.request.urlopen(page.address) as answer:
            assert "frame-ancestors http://localhost:*" in answer.headers["Content-Security-Policy"]
        kept = page._site.keep(Move(changes={"feed.algorithm": "hot"}))
        run = page.run
        assert run is not None
        assert run.summary.digest == kept["digest"]
    finally:
        page.close()
