"""The playground: a run by recorded answers, and what a move changed, in sentences."""

import urllib.request
from pathlib import Path
from typing import Any

import pytest

import actors
from actors.playground.app import Move, playable
from actors.playground.world import Measured, Measures, Played, changed_in_words, fan_in_words, play
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


def moved(likes: float, largest: float) -> Played:
    measures = [
        Measured("largest_cascade.size", "largest cascade", f"{largest:g}", largest),
        Measured("likes", "likes", f"{likes:g}", likes),
    ]
    rest: Any = {"words": (), "remarks": (), "rounds": {}, "cascades": [], "states": {}}
    return Played(seed="1", digest="", seconds=0.1, agents=9, measures=measures, **rest)


def fan(likes: int, shift: int, seeds: int = 8) -> dict[str, Measures]:
    return {str(seed): moved(likes + seed, 40 + (seed + shift) % 3).values for seed in range(seeds)}


def test_a_move_says_what_changed_and_by_how_much() -> None:
    assert changed_in_words(None, moved(10, 4), is_same=False) == []
    assert changed_in_words({}, moved(10, 4), is_same=True) == ["This run is the run before, to the byte."]
    assert changed_in_words(moved(100, 40).values, moved(150, 40), is_same=False) == [
        "Beside the run before: likes 50% more (100 → 150).",
        "The same: largest cascade.",
    ]


def test_a_fan_says_its_interval_and_which_changes_are_beyond_chance() -> None:
    mean, clear, unclear = fan_in_words(fan(200, 1), fan(100, 0), moved(200, 40))
    intervals = "largest cascade 41.1 (40.4 to 41.8), likes 204 (201 to 206)"
    assert mean == f"Mean over 8 seeds, with its 95% interval: {intervals}."
    assert clear == "Changed beyond chance, over the same 8 seeds: likes 97% more."
    assert unclear == "Within chance: largest cascade."
    assert len(fan_in_words(fan(200, 1), {}, moved(200, 40))) == 1
