"""Runs in which a model is told what people remember, and writes: resumed, forked, replayed, run from a tape alone."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from actors.runtime.simulation import Simulation
from prism.agents import Update
from prism.social.posts.post import PostKind, write_post
from tests.command import Prism
from tests.recorded import ticks_of
from tests.standin import Fault, FaultPlan, ModelServer
from tests.wire.support import config, run

SETTINGS = """
simulation: {{rounds: 3, ticks_per_round: 16, seed: 5}}
population:
  {{size: 40, deliberation_minutes: 2, ambiguity: 0.9, posts_per_session: 0.5, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama, tape: record}}
llm: {{host: "{host}", timeout_s: 120.0, memory: 4, writes: true}}
run: {{checkpoint_every_ticks: 7}}
"""
FAULTS = FaultPlan(shares={Fault.NOT_JSON: 0.1, Fault.ERROR: 0.1})


@pytest.fixture
def prism(quietly: Prism) -> Prism:
    return quietly


def remembering(server: ModelServer) -> int:
    """Return the number of requests in which a person remembers something."""
    return sum("You remember:" in json.dumps(each.body) for each in server.requests)


def tape_of(run: str) -> tuple[str, ...]:
    """Return the arguments for a run that asks the tape of another one."""
    return "--set", "oracle.tape=replay", "--set", f"oracle.tape_path={run}/tape.sqlite"


@pytest.mark.slow
def test_a_run_with_memory_is_resumed_forked_replayed_and_run_from_its_tape_without_a_server(
    prism: Prism, tmp_path: Path
) -> None:
    with ModelServer() as server:
        (tmp_path / "memory.yaml").write_text(SETTINGS.format(host=server.url))
        whole = prism("run", "memory.yaml", "--out", "whole").out
        asked = remembering(server)
        assert asked > 20
        prism("run", "memory.yaml", "--out", "part", "--ticks", "17")
        assert prism("resume", "part", "--ticks", "48").out == whole
        assert prism("fork", "whole", "--at", "20", "--out", "fork").code == 0
        served = remembering(server)
    assert served > 2 * asked
    assert (tmp_path / "part" / "journal.prism").read_bytes() == (tmp_path / "whole" / "journal.prism").read_bytes()
    for run_directory in ("whole", "part", "fork"):
        digest = json.loads((tmp_path / run_directory / "summary.json").read_text())["digest"]
        assert prism("replay", run_directory).out.strip() == digest
    assert prism("run", "memory.yaml", *tape_of("whole"), "--out", "again").out == whole
    updates = chain.from_iterable(ticks_of(tmp_path / "whole", Update))
    assert sum(each.source == "llm" and isinstance(each.effect, list) for each in updates) > 5, "texts of the model"


def test_a_run_does_not_go_on_with_another_memory_and_a_fork_does(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        (tmp_path / "memory.yaml").write_text(SETTINGS.format(host=server.url))
        prism("run", "memory.yaml", "--out", "part", "--ticks", "17")
        refused = prism("resume", "part", "--set", "llm.memory=5", "--accept-settings")
        assert refused.code == 2
        assert "llm.memory is 5, was 4 when the run began" in refused.err
        for places in ("0", "1", "9"):
            assert prism("fork", "part", "--at", "16", "--out", places, "--set", f"llm.memory={places}").code == 0
            assert prism("replay", places).code == 0


LIVELY: dict[str, dict[str, Any]] = {
    "population": {"size": 60, "ambiguity": 0.9, "posts_per_session": 0.5},
    "feed": {"size": 3},
    "llm": {"writes": True},
}


async def posts_of(sections: dict[str, dict[str, Any]], directory: Path) -> dict[int, tuple[PostKind, str, str]]:
    """Return `{post: (kind, text, the text that a template would have)}` of a run."""
    found: dict[int, tuple[PostKind, str, str]] = {}

    def look(simulation: Simulation) -> None:
        network = simulation.domain.world.network  # type: ignore[attr-defined]  # of a social domain
        for post in network.living:
            usual = write_post(
                post.kind, post.topics[0] if post.topics else "this", network.seed, post.author, post.created
            )
            found[post.id] = (post.kind, network.text(post), usual)

    with ModelServer() as server:
        await run(config(server.url, **sections), directory, on_tick=look)
        assert bool(sections["llm"].get("writes")) == any(
            '"reason' in json.dumps(each.body) for each in server.requests
        )
    return found


@pytest.mark.slow
async def test_replies_and_comments_have_the_texts_of_the_model_and_originals_those_of_the_templates(
    tmp_path: Path,
) -> None:
    posts = await posts_of(LIVELY, tmp_path)
    written = [(kind, text) for kind, text, usual in posts.values() if text != usual]
    assert {kind for kind, _ in written} == {PostKind.REPLY, PostKind.RESHARE}
    assert all(0 < len(text) <= 280 and text.isprintable() for _, text in written)
