"""Runs in which a model writes its replies and comments: in the journal, on tape, resumed, forked and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from actors.runtime.simulation import Simulation
from actors.store.messages import ticks_of
from prism.agents import Update
from prism.social.posts.post import PostKind, write_post
from tests.command import Ended, run_prism
from tests.standin import ModelServer
from tests.wire.support import config, run

Prism = Callable[..., Ended]

LIVELY: dict[str, dict[str, Any]] = {
    "population": {"size": 60, "ambiguity": 0.9, "posts_per_session": 0.5},
    "feed": {"size": 3},
    "llm": {"writes": True},
}
SETTINGS = """
simulation: {{rounds: 3, ticks_per_round: 16, seed: 5}}
population:
  {{size: 60, deliberation_minutes: 2, ambiguity: 0.9, posts_per_session: 0.5, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama, tape: record}}
llm: {{host: "{host}", timeout_s: 120.0, writes: true}}
run: {{checkpoint_every_ticks: 7}}
"""


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """The command line in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ended:
        return run_prism(monkeypatch, capsys, *arguments, "--quiet")

    return run


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


@pytest.mark.slow
def test_a_run_with_texts_can_be_replayed_resumed_forked_and_run_from_its_tape(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        (tmp_path / "texts.yaml").write_text(SETTINGS.format(host=server.url))
        whole = prism("run", "texts.yaml", "--out", "whole").out
        prism("run", "texts.yaml", "--out", "part", "--ticks", "17")
        assert prism("resume", "part", "--ticks", "48").out == whole
        assert prism("fork", "whole", "--at", "20", "--out", "fork").code == 0
    assert (tmp_path / "part" / "journal.prism").read_bytes() == (tmp_path / "whole" / "journal.prism").read_bytes()
    for run_directory in ("whole", "part", "fork"):
        digest = json.loads((tmp_path / run_directory / "summary.json").read_text())["digest"]
        assert prism("replay", run_directory).out.strip() == digest
    tape = ("--set", "oracle.tape=replay", "--set", "oracle.tape_path=whole/tape.sqlite")
    assert prism("run", "texts.yaml", *tape, "--out", "again").out == whole
    assert drafts(tmp_path / "whole") > 5


def drafts(directory: Path) -> int:
    """Return the number of texts in a journal."""
    updates = chain.from_iterable(ticks_of(directory, Update))
    return sum(each.source == "llm" and isinstance(each.effect, list) for each in updates)
