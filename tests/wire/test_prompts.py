"""The questions of whole runs: templates, the order of options, ids, and the same bytes wherever it is asked."""

import os
import re
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from prism.llm.prompt import order_of
from tests.command import Prism, begin, end
from tests.plain import plain
from tests.standin import Exchange, Latency, ModelServer, ServerSettings, SystemOne
from tests.wire.support import CHAT, ECONOMY, PEOPLE, Sections, asking, configure, from_tape, over, write

MINE = """What would this person do? They may
{options}
{answer}
---
{name} is {attributes.age} and sees
{seen_list}
"""
AGE: Sections = {"population": {"attributes": {"age": {"type": "int", "default": 40}}, "size": 120}}
SEEDED = over({"simulation": {"rounds": 2, "seed": 7}, "llm": CHAT}, AGE)
WORDS = ("scroll on", "like the post", "reshare the post", "write a reply")


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: the server has a thread of its own."""


def named(server: ModelServer) -> list[Exchange]:
    """Return the calls of the run; those of its start have no question."""
    return [each for each in server.calls if each.request_id]


def test_a_run_keeps_its_template_and_is_replayed_from_its_tape_without_the_file(prism: Prism) -> None:
    Path("mine.txt").write_text(MINE)
    with ModelServer(ServerSettings(systemone=SystemOne.OFF)) as server:
        taped = over(SEEDED, {"llm": {"prompt": "mine.txt"}, "oracle": {"tape": "record", "max_concurrency": 1}})
        ended = prism("run", configure(server.url, **taped), "--quiet", "--out", "run")
        calls = named(server)
    assert ended.code == 0, ended.err
    (kept,) = Path("run/inputs").glob("*/mine.txt")
    assert kept.read_text() == MINE
    for call in calls:  # the order of options follows from seed, agent and tick
        rules, situation = (message["content"] for message in call.body["messages"])
        tick, agent = map(int, call.request_id.split("-")[:2])
        drawn = [WORDS[place] for place in order_of(7, agent, tick, len(WORDS))]
        assert [line[2:] for line in rules.split("\n") if line[0] == "-"] == drawn
        assert " is 40 and sees\n- author: " in situation
    Path("mine.txt").unlink()
    assert prism("replay", "run", "--quiet").out == ended.out
    taped["llm"]["prompt"] = str(kept)
    again = ("run", configure("http://127.0.0.1:9", **taped), *from_tape("run"), "--quiet", "--out")
    assert prism(*again, "again").out == ended.out
    other = prism(*again, "other", "--set", "llm.prompt=list")
    assert (other.code, "no answer to the question" in other.err) == (5, True)


def test_validate_shows_the_first_prompt_and_what_was_filled_in(prism: Prism) -> None:
    Path("mine.txt").write_text(MINE)
    name = write(over(PEOPLE, AGE, {"llm": {"prompt": "mine.txt"}, "oracle": {"backend": "ollama"}}))
    ended = prism("validate", name, "--prompt")
    assert ended.code == 0, ended.err
    assert "--- system\nWhat would this person do? They may\n- " in ended.out
    assert "{attributes.age}: 40\n" in ended.out
    Path("mine.txt").write_text(f"{MINE}\n{{attributes.aeg}}\n")
    refused = prism("validate", name)
    assert (refused.code, refused.err.count("\n")) == (3, 1)
    assert "mine.txt:8: {attributes.aeg}: no such attribute; did you mean age?" in refused.err


def test_an_adviser_of_an_economy_has_a_template_too(prism: Prism) -> None:
    Path("adviser.txt").write_text("Rates for {name}?\n{answer}\n---\nInflation {seen.inflation}\n{seen}\n")
    advised = {"llm": {"prompt": "adviser.txt"}, "population": {"deliberation_minutes": 0}, "simulation": {"rounds": 2}}
    with ModelServer() as server:
        name = write(over(asking(server.url), ECONOMY, advised))
        ended = prism("run", name, "--quiet", "--out", "run")
        prompts = [str(call.body["messages"][-1]["content"]) for call in named(server)]
    assert ended.code == 0, ended.err
    assert any(re.match(r'Rates for "\w+"\?\nRespond with JSON only:\n\{\n  "action"', prompt) for prompt in prompts)
    assert any("\nInflation 2.0\n- GDP Growth: " in prompt for prompt in prompts)


FORTY: Sections = plain(
    {
        "simulation": {"rounds": 2, "ticks_per_round": 24, "seed": 7},
        "population": {"size": 40, "ambiguity": 0.4, "activity": {"mean": 0.9}},
    }
)


PLACES = (
    ("UTC", "C", "0", Latency()),
    ("Pacific/Kiritimati", "tr_TR.UTF-8", "1", Latency(mean_s=0.02, p99_s=0.2)),
    ("America/St_Johns", "de_DE.UTF-8", "4711", Latency(mean_s=0.005, p99_s=0.05)),
)
"""The time zone, locale and hash seed of a run, and the speed of its server."""
HUNDRED = over(FORTY, {"simulation": {"rounds": 3}, "population": {"size": 100, "ambiguity": 0.3}})
THREE: Sections = {
    "simulation": {"domain": "economy", "rounds": 4, "ticks_per_round": 1, "seed": 7},
    "economy": {"nations": ["Arden", "Belmar", "Corvia"], "strengths": [1, 2, 3]},
}


@pytest.mark.slow
@pytest.mark.parametrize(("world", "backend"), [(HUNDRED, "openai"), (THREE, "ollama")], ids=["social", "economy"])
def test_a_run_is_the_same_to_the_byte_wherever_and_however_fast_it_is_answered(
    world: Sections, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("PRISM_", "LC_"))]:
        monkeypatch.delenv(name)
    with ModelServer() as server:
        write(over(world, asking(server.url), {"oracle": {"backend": backend}}), str(tmp_path / "run.yaml"))
        for number, (zone, locale, hash_seed, latency) in enumerate(PLACES):
            server.settings = ServerSettings(latency=latency)
            surrounds = {"TZ": zone, "LANG": locale, "LC_ALL": locale, "PYTHONHASHSEED": hash_seed}
            end(begin("run", "run.yaml", "--quiet", "--out", str(number), cwd=tmp_path, env=surrounds))
        assert len(server.calls) > 10 * len(PLACES)
    assert len({(tmp_path / str(number) / JOURNAL).read_bytes() for number in range(len(PLACES))}) == 1
