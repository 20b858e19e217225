"""The tree of a post: equal to the one that a reader of the journal rebuilds, and every part of it has its turn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors.core.errors import RunDirectoryError
from actors.explain.explain import explain_path
from actors.explain.explained_post import explain_post
from tests.actors.store.independent_reader import read_posts


def sizes_of(posts: dict[int, Any]) -> list[int]:
    """Return the roots, that of the largest tree first."""
    sizes = Counter(each[3] for each in posts.values())
    return [root for root, _ in sizes.most_common()]


def test_the_tree_is_the_one_in_the_journal_whichever_of_its_posts_is_asked_for(few_run: Path) -> None:
    posts, likes = read_posts(few_run)
    root = sizes_of(posts)[0]
    tree = {post: each for post, each in posts.items() if each[3] == root}
    found = anyio.run(explain_post, few_run, root)
    assert len(tree) > 2
    assert {each.post: (each.tick, each.kind, each.parent, each.depth) for each in found.posts} == {
        post: (tick, kind, parent, depth) for post, (tick, kind, parent, _, depth) in tree.items()
    }
    assert [(like.agent, each.post) for each in found.posts for like in each.likes] == sorted(
        (each for each in likes if each[1] in tree), key=lambda each: [*tree].index(each[1])
    )
    assert (found.root, found.depth) == (root, max(depth for *_, depth in tree.values()))
    assert all(each.text for each in found.posts)
    leaf = found.posts[-1].post
    assert anyio.run(explain_post, few_run, leaf).posts == found.posts


@pytest.mark.slow
def test_every_engagement_leads_to_a_turn_of_its_agent_that_decided_on_it(few_run: Path) -> None:
    posts, _ = read_posts(few_run)
    engaged = 0
    for root in [post for post in sizes_of(posts) if posts[post][2] is None][:3]:
        for post in anyio.run(explain_post, few_run, root).posts:
            for agent, tick, cause in [
                (post.agent, post.tick, post.cause),
                *((like.agent, like.tick, like.cause) for like in post.likes),
            ]:
                if cause is None:
                    continue
                assert (cause.agent, cause.tick <= tick) == (agent, True)
                turns = [turn for turn in explain_path(few_run, agent, cause.tick, tick).turns if not turn.options]
                assert (turns[0].trigger, turns[0].from_state, turns[0].to_state) == (
                    cause.trigger,
                    cause.state,
                    cause.to_state,
                )
                engaged += cause.trigger == "decides"
    assert engaged > 5


def test_a_post_from_outside_has_no_turn_and_a_post_that_there_is_not_is_one_line(few_run: Path) -> None:
    posts, _ = read_posts(few_run)
    outside = next(post for post, (tick, kind, *_) in posts.items() if (tick, kind, post >> 24) == (12, "publish", 7))
    found = anyio.run(explain_post, few_run, outside)
    assert (found.posts[0].text, found.posts[0].cause) == ("The bridge is closed.", None)
    with pytest.raises(RunDirectoryError, match=r"there is no post 99 in the ticks 0 to 35$"):
        anyio.run(explain_post, few_run, 99)
