"""The tree of a post: equal to the one that a reader of the journal rebuilds, and every part of it has its turn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors.core.errors import RunDirectoryError
from actors.explain.path import explain_path
from actors.explain.posts import explain_post
from actors.explain.tree import Node
from tests.actors.store.independent_reader import read_posts


def sizes_of(posts: dict[int, Any]) -> list[int]:
    """Return the roots, that of the largest tree first."""
    sizes = Counter(each[3] for each in posts.values())
    return [root for root, _ in sizes.most_common()]


def why(act: Node) -> dict[str, Any]:
    """Return the turn that decided on an act; empty for one from outside."""
    return next(each for each in act.children if each.kind == "why").value


def test_the_tree_is_the_one_in_the_journal_whichever_of_its_posts_is_asked_for(few_run: Path) -> None:
    posts, likes = read_posts(few_run)
    root = sizes_of(posts)[0]
    tree = {post: each for post, each in posts.items() if each[3] == root}
    found = anyio.run(explain_post, few_run, root)
    assert len(tree) > 2
    shown = {each.value["post"]: each for each in found.all("post")}
    assert {post: [shown[post].value[name] for name in ("tick", "kind", "parent", "depth")] for post in shown} == {
        post: [tick, kind, parent, depth] for post, (tick, kind, parent, _, depth) in tree.items()
    }
    liked = [(like.value["agent"], post) for post in tree for like in shown[post].all("liked by")]
    assert liked == sorted((each for each in likes if each[1] in tree), key=lambda each: [*tree].index(each[1]))
    depth = max(depth for *_, depth in tree.values())
    assert (found.value["root"], found.value["depth"]) == (root, depth)
    assert all([*each.all("text")] for each in shown.values())
    [leaf] = [*anyio.run(explain_post, few_run, [*shown][-1]).all("post")][-1:]
    assert leaf.text.endswith("  <- asked for")
    assert leaf.value == shown[leaf.value["post"]].value


@pytest.mark.slow
def test_every_engagement_leads_to_a_turn_of_its_agent_that_decided_on_it(few_run: Path) -> None:
    posts, _ = read_posts(few_run)
    engaged = 0
    for root in [post for post in sizes_of(posts) if posts[post][2] is None][:3]:
        for post in anyio.run(explain_post, few_run, root).all("post"):
            for each in (post, *post.all("liked by")):
                agent, tick, cause = each.value["agent"], each.value["tick"], why(each)
                if not cause:
                    continue
                assert (cause["agent"], cause["tick"] <= tick) == (agent, True)
                path = explain_path(few_run, agent, cause["tick"], tick).all("turn")
                turn = next(turn.value for turn in path if turn.value["source"] != "question")
                assert [turn[name] for name in ("trigger", "from_state", "to_state")] == [
                    cause[name] for name in ("trigger", "state", "to_state")
                ]
                engaged += cause["trigger"] == "decides"
    assert engaged > 5


def test_a_post_from_outside_has_no_turn_and_a_post_that_there_is_not_is_one_line(few_run: Path) -> None:
    posts, _ = read_posts(few_run)
    outside = next(post for post, (tick, kind, *_) in posts.items() if (tick, kind, post >> 24) == (12, "publish", 7))
    found = anyio.run(explain_post, few_run, outside)
    original = next(found.all("post"))
    assert ([each.text for each in original.all("text")], why(original)) == (["The bridge is closed."], {})
    with pytest.raises(RunDirectoryError, match=r"there is no post 99 in the ticks 0 to 35$"):
        anyio.run(explain_post, few_run, 99)
