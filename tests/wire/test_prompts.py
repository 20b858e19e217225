"""The questions of whole runs: templates, hostile texts as data, ids, and the same bytes wherever it is asked."""

import json
import os
import re
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from actors import run as run_config
from actors.factory.oracle_backends import open_oracle
from actors.runs.summary import Summary, summarise
from actors.runtime.simulation import Simulation
from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from actors.store.run import header_in
from prism.agents import Question, Update
from prism.agents.waves import Updates
from prism.config import Config
from prism.llm.prompt import order_of
from prism.llm.question_id import question_id
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.world import SocialWorld
from tests.catalogue import catalogue
from tests.command import Prism, begin, end
from tests.plain import plain
from tests.recorded import ticks_of
from tests.standin import Exchange, Fault, FaultPlan, Latency, ModelServer, ServerSettings, SystemOne
from tests.wire.hostile import ObedientModel, with_hostile_people, write_hostile_post
from tests.wire.support import CHAT, ECONOMY, PEOPLE, Sections, asking, config, configure, from_tape, over, write

MINE = """What would this person do? They may
{options}
{answer}
---
{name} is {attributes.age} and sees
{seen_list}
"""
AGE: Sections = {"population": {"attributes": {"age": {"type": "int", "default": 40}}, "size": 120}}
SEEDED = over({"simulation": {"rounds": 2, "seed": 7}, "llm": CHAT}, AGE)


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: the server has a thread of its own."""


def test_a_run_keeps_its_template_and_is_replayed_from_its_tape_without_the_file(prism: Prism) -> None:
    Path("mine.txt").write_text(MINE)
    with ModelServer(ServerSettings(systemone=SystemOne.OFF)) as server:
        taped = over(SEEDED, {"llm": {"prompt": "mine.txt"}, "oracle": {"tape": "record", "max_concurrency": 1}})
        ended = prism("run", configure(server.url, **taped), "--quiet", "--out", "run")
        bodies = [call.body for call in server.calls if call.request_id]
    assert ended.code == 0, ended.err
    (kept,) = Path("run/inputs").glob("*/mine.txt")
    assert kept.read_text() == MINE
    assert str(kept.relative_to("run")) in json.loads(Path("run/manifest.json").read_text())["inputs"]
    shown = [[line[2:] for line in body["messages"][0]["content"].split("\n") if line[0] == "-"] for body in bodies]
    assert len({*map(tuple, shown)}) > 12
    assert all(" is 40 and sees\n- author: " in body["messages"][1]["content"] for body in bodies)
    Path("mine.txt").unlink()
    assert prism("replay", "run", "--quiet").out == ended.out
    taped["llm"]["prompt"] = str(kept)
    again = ("run", configure("http://127.0.0.1:9", **taped), *from_tape("run"), "--quiet", "--out")
    assert prism(*again, "again").out == ended.out
    other = prism(*again, "other", "--set", "llm.prompt=list")
    assert (other.code, "no answer to the question" in other.err) == (5, True)


def test_a_fixed_order_is_that_of_the_chart_and_a_drawn_one_follows_from_seed_agent_and_tick(prism: Prism) -> None:
    words = ["scroll on", "like the post", "reshare the post", "write a reply"]
    for order in ("fixed", "drawn"):
        with ModelServer(ServerSettings(systemone=SystemOne.OFF)) as server:
            name = configure(server.url, **over(SEEDED, {"llm": {"order": order}}))
            ended = prism("run", name, "--quiet", "--out", order)
        assert ended.code == 0, ended.err
        for call in (call for call in server.calls if call.request_id):
            tick, agent = map(int, str(call.request_id).split("-")[:2])
            shown = re.findall(r"^- (.*)$", call.body["messages"][1]["content"], re.MULTILINE)
            places = order_of(7, agent, tick, 4) if order == "drawn" else range(4)
            assert shown == [words[place] for place in places]


def test_validate_shows_the_first_prompt_and_what_was_filled_in(prism: Prism) -> None:
    Path("mine.txt").write_text(MINE)
    name = write(over(PEOPLE, AGE, {"llm": {"prompt": "mine.txt"}, "oracle": {"backend": "ollama"}}))
    ended = prism("validate", name, "--prompt")
    assert ended.code == 0, ended.err
    assert "--- system\nWhat would this person do? They may\n- " in ended.out
    assert "{attributes.age}: 40\n" in ended.out
    assert re.search(r"\{seen_list\}: - author: ", ended.out)
    unread = "without effect: population.attributes.age: nothing in the run reads it"
    assert unread not in ended.out
    Path("mine.txt").write_text(MINE.replace("{attributes.age}", "somebody"))
    assert unread in prism("validate", name).out
    wrong = "mine.txt:8: {{{}}}: no such {}; did you mean {}?"
    for template, setting, told in (
        (f"{MINE}\n{{nme}}\n", "seed=7", wrong.format("nme", "placeholder", "name")),
        (f"{MINE}\n{{attributes.aeg}}\n", "seed=7", wrong.format("attributes.aeg", "attribute", "age")),
        (MINE, "memory=3", "mine.txt: the template has no {memory}, "),
        (None, "seed=7", "llm.prompt: mine.txt: no such file in "),
    ):
        Path("mine.txt").write_text(template) if template else Path("mine.txt").unlink()
        of = "simulation" if setting.startswith("seed") else "llm"
        refused = prism("validate", name, "--set", f"{of}.{setting}")
        assert (refused.code, refused.err.count("\n"), told in refused.err) == (3, 1, True), refused.err


def test_an_adviser_of_an_economy_has_a_template_too(prism: Prism) -> None:
    Path("adviser.txt").write_text("Rates for {name}?\n{answer}\n---\nInflation {seen.inflation}\n{seen}\n")
    advised = {"llm": {"prompt": "adviser.txt"}, "population": {"deliberation_minutes": 0}, "simulation": {"rounds": 2}}
    with ModelServer() as server:
        name = write(over(asking(server.url), ECONOMY, advised))
        ended = prism("run", name, "--quiet", "--out", "run")
        prompts = [str(call.body["messages"][-1]["content"]) for call in server.calls if call.request_id]
    assert ended.code == 0, ended.err
    assert any(re.match(r'Rates for "\w+"\?\nRespond with JSON only:\n\{\n  "action"', prompt) for prompt in prompts)
    assert any("\nInflation 2.0\n- GDP Growth: " in prompt for prompt in prompts)
    Path("adviser.txt").write_text("{answer}{person}")
    refused = prism("validate", name)
    assert refused.code == 3
    assert refused.err.startswith("prism: adviser.txt:1: {person}: no such placeholder; ")
    listed = prism("validate", name, "--set", "llm.prompt=list")
    assert listed.err.startswith("prism: --set: llm.prompt: list is about people on a feed; ")


LIVELY: Sections = {
    "simulation": {"rounds": 2},
    "population": {"posts_per_session": 0.8, "graph": {"degree": 4}},
    "feed": {"size": 2},
    "llm": {**CHAT, "num_predict": 20_000, "num_ctx": 8192, "timeout_s": 10.0, "memory": 5},
}
Turns = dict[int, list[Update[str]]]
"""`{agent: what it did, in order}`."""


class WitnessedWorld(SocialWorld):
    """A world that remembers every committed turn of everybody."""

    def __init__(self, chosen: Config, domain: SocialDomain) -> None:
        super().__init__(chosen, domain.population)
        self.turns: Turns = {agent: [] for agent in range(domain.size)}

    def apply_all(self, updates: Updates) -> None:
        for update in updates:
            self.turns[update.agent].append(update)
        super().apply_all(updates)


async def witness(model: ObedientModel, *, hostile_people: bool = False) -> tuple[Summary, Turns]:
    """The summary of a run with this model, and everybody's turns."""
    with ModelServer(ServerSettings()) as server:
        chosen = config(server.url, **LIVELY)
        population = build_population(chosen.population, chosen.simulation.seed)
        domain = SocialDomain(chosen, with_hostile_people(population) if hostile_people else population)
        world = domain.world = WitnessedWorld(chosen, domain)
        async with open_oracle(chosen, domain, Path()) as opened:
            server.settings = ServerSettings(reply=model)
            simulation = Simulation(chosen, domain, opened.oracle)
            await simulation.run()
    return summarise(simulation, 0.0), world.turns


@pytest.mark.slow
async def test_hostile_posts_and_profiles_change_no_turn_of_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model obeys whatever stands outside of quoted data. Posts and profiles are quoted, so they move nobody."""
    _, before = await witness(ObedientModel())
    monkeypatch.setattr("prism.social.network.write_post", write_hostile_post)
    model = ObedientModel()
    summary, turns = await witness(model, hostile_people=True)
    assert (summary.status, summary.fallbacks_by_reason) == ("done", {})
    assert sum(read.is_hostile for read in model.read) > 50, "the posts were read"
    assert sum(read.is_hostile_person for read in model.read) > 5, "and the profiles"
    assert [read for read in model.read if read.obeyed] == []
    assert turns == before
    assert sum(map(len, turns.values())) > 100


FORTY: Sections = plain(
    {
        "simulation": {"rounds": 2, "ticks_per_round": 24, "seed": 7},
        "population": {"size": 40, "ambiguity": 0.4, "activity": {"mean": 0.9}},
    }
)
TWO: Sections = {
    "simulation": {"domain": "economy", "rounds": 2, "ticks_per_round": 1, "seed": 7},
    "economy": {"nations": ["Arden", "Belmar"], "strengths": [1, 2]},
}


def of(world: Sections, backend: str, server: ModelServer) -> Config:
    return msgspec.convert(over(world, asking(server.url), {"oracle": {"backend": backend}}), Config)


def named(server: ModelServer) -> list[Exchange]:
    """Return the calls of the run; those of its start have no question."""
    return [each for each in server.calls if each.request_id]


def id_of(call: Exchange) -> str:
    """Return the id of the question of a call."""
    return call.request_id.rpartition("-")[0].rpartition("-")[0].rpartition("-")[0]


@catalogue("backend", ["ollama", "openai"])
@catalogue("world", [FORTY, TWO])
def test_every_call_has_the_id_of_its_question_and_the_calls_of_one_are_one_trace(
    world: Sections, backend: str, tmp_path: Path
) -> None:
    with ModelServer(ServerSettings(faults=FaultPlan(at={8: Fault.ERROR, 9: Fault.ERROR}))) as server:
        run_config(of(world, backend, server), out=tmp_path / "run")
        calls = named(server)
    by_question = defaultdict(list)
    for call in calls:
        by_question[id_of(call)].append(call)
    failed = [each for each in by_question.values() if any(call.fault is Fault.ERROR for call in each)]
    assert failed
    for each in failed:
        parts = [call.traceparent.split("-") for call in each]
        assert len({trace for _, trace, *_ in parts}) == 1
        assert len({span for _, _, span, _ in parts}) == len({call.request_id.split("-")[3] for call in each}) >= 2
    assert len({each.request_id for each in calls}) == len(calls)
    seed, questions = header_in(tmp_path / "run").seed, dict[str, Question[Any]]()
    for question in chain.from_iterable(ticks_of(tmp_path / "run", Question)):
        questions[question_id(seed, question.tick, question.agent, msgspec.msgpack.encode(question))] = question
    for call in calls:
        question = questions[id_of(call)]
        if world is FORTY:
            assert question.context is not None
            assert question.context[3] in json.dumps(call.body, ensure_ascii=False)


@pytest.mark.slow
def test_runs_of_other_names_ask_under_the_same_ids_and_are_equal_to_the_byte(tmp_path: Path) -> None:
    with ModelServer() as server:
        chosen = of(FORTY, "openai", server)
        run_config(chosen, out=tmp_path / "one")
        first = named(server)
        run_config(chosen, out=tmp_path / "another")
        second = named(server)[len(first) :]
    assert {id_of(call) for call in first} == {id_of(call) for call in second}
    assert {call.request_id for call in first}.isdisjoint(call.request_id for call in second)
    assert {call.traceparent for call in first}.isdisjoint(call.traceparent for call in second)
    assert (tmp_path / "one" / JOURNAL).read_bytes() == (tmp_path / "another" / JOURNAL).read_bytes()
    for name in ("one", "another"):
        assert b"traceparent" not in (tmp_path / name / ANSWERS).read_bytes()


class Place(NamedTuple):
    """The surroundings of a run, and the speed of its server."""

    zone: str
    locale: str
    hash_seed: str
    latency: Latency


PLACES = (
    Place("UTC", "C", "0", Latency()),
    Place("Pacific/Kiritimati", "tr_TR.UTF-8", "1", Latency(mean_s=0.02, p99_s=0.2)),
    Place("America/St_Johns", "de_DE.UTF-8", "4711", Latency(mean_s=0.005, p99_s=0.05)),
)
HUNDRED = over(FORTY, {"simulation": {"rounds": 3}, "population": {"size": 100, "ambiguity": 0.3}})
THREE = over(TWO, {"simulation": {"rounds": 4}, "economy": {"nations": ["Arden", "Belmar", "Corvia"]}})
THREE["economy"]["strengths"] = [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ollama", "openai"])
@pytest.mark.parametrize("world", [HUNDRED, THREE], ids=["social", "economy"])
def test_a_run_is_the_same_to_the_byte_wherever_and_however_fast_it_is_answered(
    world: Sections, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("PRISM_", "LC_"))]:
        monkeypatch.delenv(name)
    with ModelServer() as server:
        write(over(world, asking(server.url), {"oracle": {"backend": backend}}), str(tmp_path / "run.yaml"))
        for number, place in enumerate(PLACES):
            server.settings = ServerSettings(latency=place.latency)
            surrounds = {"TZ": place.zone, "LANG": place.locale, "LC_ALL": place.locale}
            surrounds["PYTHONHASHSEED"] = place.hash_seed
            end(begin("run", "run.yaml", "--quiet", "--out", str(number), cwd=tmp_path, env=surrounds))
        assert len(server.calls) > 10 * len(PLACES)
    assert len({(tmp_path / str(number) / JOURNAL).read_bytes() for number in range(len(PLACES))}) == 1
