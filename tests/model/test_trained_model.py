"""A trained model behind a real llama.cpp server: whole runs, by probabilities and by JSON, and their replays.

The model is small, so nothing is said here about how well it decides: only that every answer is one, that the
probabilities are sound, and that a tape repeats the run.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.runs.summary import Summary
from prism.config import Config
from prism.llm import ChoiceRequest, Distribution, LLMConfig, OpenAICompatClient
from prism.statechart import STATE_DESCRIPTIONS
from tests.command import prism_alone
from tests.plain import plain
from tests.wire.support import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

NOBODY = "http://127.0.0.1:9"
PEOPLE: dict[str, Any] = plain(
    {
        "simulation": {"rounds": 2, "ticks_per_round": 24, "seed": 7},
        "population": {
            "size": 40,
            "ambiguity": 0.5,
            "activity": {"mean": 0.9, "sigma": 0.1},
            "deliberation_minutes": 0.0,
        },
        "feed": {"size": 1},
    }
)
NATIONS: dict[str, Any] = {
    "simulation": {"domain": "economy", "rounds": 1, "ticks_per_round": 1, "seed": 5, "tick_seconds": 7889400},
    "economy": {"nations": ["Arvendia", "Borland"], "strengths": [1.0, 1.0]},
}
PATIENT: dict[str, Any] = {"timeout_s": 300.0}
"""The only setting besides host and model: for a machine that does much else."""
WAYS = {"by_probabilities": ("probabilities", "logprobs"), "by_json": ("json", "json")}
QUESTIONS = 20


def config(sections: dict[str, Any], llm: dict[str, Any], **oracle: Any) -> Config:
    asked = {"backend": "openai", "max_concurrency": 2, "deadline_s": 1200.0, **oracle}
    return msgspec.convert({**sections, "oracle": asked, "llm": {"model": "gemma", **PATIENT, **llm}}, Config)


async def record_and_replay(directory: Path, sections: dict[str, Any], host: str, **llm: Any) -> Summary:
    """Return the summary of a recorded run, once its replay without a server has ended in the same digest."""
    recorded = await run(config(sections, {"host": host, **llm}, tape="record"), directory)
    tape = str(directory / "tape.sqlite")
    replayed = await run(config(sections, {"host": NOBODY, **llm}, tape="replay", tape_path=tape), directory)
    assert replayed.digest == recorded.digest
    assert (replayed.oracle_calls, replayed.decisions_by_method) == (0, recorded.decisions_by_method)
    return recorded


async def test_the_server_is_found_to_give_sound_probabilities(llama: str) -> None:
    model = OpenAICompatClient(LLMConfig(host=llama, model="gemma", **PATIENT), {})
    health = await model.check()
    await model.aclose()
    assert health.note.endswith("decides by probabilities (logprobs)")


async def test_every_option_has_a_probability_in_every_question(llama: str) -> None:
    model = OpenAICompatClient(LLMConfig(host=llama, model="gemma", temperature=1.0, **PATIENT), {})
    await model.check()
    names = list(STATE_DESCRIPTIONS.items())
    for number in range(QUESTIONS):
        options: dict[str, str | None] = {state.value: meaning for state, meaning in names[: 2 + number % 7]}
        state = f"You have read {number} posts today. The next one is about gardening."
        found = await model.choose(ChoiceRequest(state=state, instructions="Choose.", options=options))
        assert isinstance(found, Distribution), found
        assert sum(found.probabilities.values()) == pytest.approx(1.0)
        assert min(found.probabilities.values()) >= 0.0
        assert found.completion_tokens == 1
    await model.aclose()


@pytest.mark.parametrize("way", WAYS)
async def test_people_who_ask_the_model_do_the_same_again_from_its_tape(way: str, llama: str, tmp_path: Path) -> None:
    method, counted = WAYS[way]
    recorded = await record_and_replay(tmp_path, PEOPLE, llama, method=method)
    assert recorded.decisions_by_method == {counted: recorded.oracle_questions}
    assert recorded.oracle_questions > 10
    assert recorded.fallback_share == 0.0


async def test_people_who_share_the_models_judgements_are_audited_and_do_the_same_again(
    llama: str, tmp_path: Path
) -> None:
    people = {**PEOPLE, "population": {**PEOPLE["population"], "size": 120}}
    settings = {"sharing": "archetype", "archetype": {"topic_match": "2 bins", "followed": "exact"}, "audit": 0.2}
    way = {"host": llama, "method": "probabilities"}
    recorded = await run(config(people, way, tape="record", **settings), tmp_path)
    tape = str(tmp_path / "tape.sqlite")
    again = config(people, {**way, "host": NOBODY}, tape="replay", tape_path=tape, **settings)
    replayed = await run(again, tmp_path)
    assert (replayed.digest, replayed.sharing) == (recorded.digest, recorded.sharing)
    shared = recorded.sharing
    assert shared is not None
    assert shared.divergence is not None
    assert shared.audited >= 8
    assert shared.questions_per_call > 2.0
    assert 0.0 <= shared.divergence.mean < 0.5


def test_a_study_with_the_model_is_audited_to_its_paragraph(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sections = {"oracle": {"backend": "openai", "max_concurrency": 2, "deadline_s": 1200.0}}
    sections["llm"] = {"host": llama, "model": "gemma", **PATIENT}
    Path("study.json").write_bytes(msgspec.json.encode({**PEOPLE, **sections}))
    ended = prism_alone("run", "study.json", "-q", "--out", "run")
    assert ended.code == 0, ended.err
    ended = prism_alone("audit", "run", "--calls", "180", "--draws", "2", "--about", "ranking of feeds")
    assert ended.code == 0, ended.err
    audit = json.loads(Path("run", "audit", "audit.json").read_text())
    assert "model.gguf, which gave the probability of each option, a random" in audit["paragraph"]
    assert audit["calls"] <= 180
    assert not audit["notes"]
    assert {each["questions"] for each in audit["shifts"]} == {audit["sampled"]}
    # By letters the model takes what stands first; a drawn order would hide that as noise.
    assert {each["place"]: each["finding"] for each in audit["positions"]}["first"] == "moves"


async def test_nations_that_ask_the_model_do_the_same_again_from_its_tape(llama: str, tmp_path: Path) -> None:
    recorded = await record_and_replay(tmp_path, NATIONS, llama)
    assert recorded.decisions_by_method.keys() == {"json"}
    assert recorded.ticks == 1
