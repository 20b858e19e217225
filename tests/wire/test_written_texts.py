"""Runs in which a model writes its replies and comments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.runtime.simulation import Simulation
from prism.social.posts.post import PostKind, write_post
from tests.standin import ModelServer
from tests.wire.support import config, run

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
