"""Every post, tree and like of a run is rebuilt from its journal, by a reader that needs nothing but Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.persistence.disk import RealDisk
from actors.record.manifest import CONFIG
from actors.record.recovery import recover
from prism.columns import Columns
from prism.social.posts.post import Post, author_of
from tests.actors.persistence.independent_reader import read_run
from tests.actors.persistence.test_independent_reader import summary_of
from tests.actors.persistence.tree_reader import decode, read_posts
from tests.catalogue import catalogue
from tests.recorded import EMBEDDED, make_run

LIKES_AT_SIGHT = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
    states:
      writing:
        after: {ticks: 1, trigger: written}
        transitions:
          - {trigger: written, target: reading, effect: post}
      reading:
        role: browse
        after: {ticks: 2, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: sharing, when: post.appeal > 0.5}
          - {trigger: sees_post, target: pleased, when: post.appeal > 0.1 and post.appeal <= 0.5, effect: like}
          - {trigger: sees_post, target: reading}
          - {trigger: timeout, target: away}
      pleased:
        role: browse
        after: {ticks: 2, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: reading}
          - {trigger: timeout, target: away}
      sharing:
        effect: reshare
        after: {ticks: 1, trigger: shared}
        transitions:
          - {trigger: shared, target: reading}
"""
"""People who like a post at its sight, and who reshare much, reshares included."""

OUTSIDE = [
    {"round": 2, "publish": {"author": 7, "text": "The bridge is closed.", "topics": ["politics"], "quality": 0.9}},
    {"round": 3, "publish": {"author": 7, "text": "The bridge is open.", "topics": ["politics"], "quality": 1.0}},
]
REMEMBERING: dict[str, Any] = {**EMBEDDED, "feed": {"horizon_rounds": 100, "out_of_network": 0.4}}
"""Settings under which nothing is forgotten, so that the whole world is in the last checkpoint."""


def posts_of(run: Path) -> list[Post]:
    """Return the posts that the run's own world holds at its end."""
    checkpoint = recover(RealDisk(run), repair=False).checkpoint
    assert checkpoint is not None
    world: Any = build_domain(read_config(run / CONFIG, environment={})).domain.world
    world.restore(Columns(checkpoint.columns))
    return [*world.network.living]


def check(run: Path) -> dict[str, Any]:
    """Compare what the reader rebuilds with the run's own world and summary, and return the summary."""
    posts, likes = read_posts(run / "journal.prism")
    summary, own = summary_of(run), posts_of(run)
    parents = {"original": "publish", "reply": "reply", "reshare": "reshare"}
    assert posts == {post.id: (post.created, parents[post.kind], post.parent, post.root, post.depth) for post in own}
    assert list(posts) == [post.id for post in own]
    assert Counter(post for _, post in likes) == +Counter({post.id: post.likes for post in own})
    check_summary(run, summary)
    return summary


def check_summary(run: Path, summary: dict[str, Any]) -> None:
    """Compare what the reader rebuilds with the summary."""
    posts, likes = read_posts(run / "journal.prism")
    kinds = Counter(kind for _, kind, *_ in posts.values())
    trees, depths = Counter(root for *_, root, _ in posts.values()), dict[int, int]()
    for *_, root, depth in posts.values():
        depths[root] = max(depth, depths.get(root, 0))
    largest = max((size, depths[root]) for root, size in trees.items())
    assert (kinds["publish"], kinds["reply"], kinds["reshare"], len(likes)) == tuple(
        summary[name] for name in ("posts", "replies", "reshares", "likes")
    )
    assert {str(size): count for size, count in sorted(Counter(trees.values()).items())} == summary["cascade_sizes"]
    assert max(depths.values()) == summary["deepest_cascade"]
    assert sum(size > 1 for size in trees.values()) == summary["cascades_branched"]
    assert largest == (summary["largest_cascade"]["size"], summary["largest_cascade"]["depth"])


def test_the_reader_needs_nothing_but_python() -> None:
    source = Path(__file__).with_name("tree_reader.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 40
    assert {line.split()[1] for line in source.splitlines() if line.startswith(("import", "from"))} <= {
        *("pathlib", "struct", "typing"),
    }


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=20),
    )
)
def test_it_decodes_what_any_encoder_of_msgpack_writes(value: object) -> None:
    data = msgspec.msgpack.encode(value)
    assert decode(b"?" + data, 1) == (value, 1 + len(data))


@catalogue("more", [{}, {"interventions": OUTSIDE}, {"run": {"record_feeds": True}}])
def test_it_rebuilds_what_the_world_holds(tmp_path: Path, more: dict[str, Any]) -> None:
    summary = check(make_run(tmp_path, {**REMEMBERING, **more}))
    assert min(summary[name] for name in ("posts", "likes", "replies", "reshares")) > 0


def test_feeds_are_recorded_where_it_is_asked_for_and_change_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    recording = make_run(tmp_path / "with", {**REMEMBERING, "run": {"record_feeds": True}})
    silent = make_run(tmp_path / "without", REMEMBERING)
    ticks, plain = (read_run(run)[1] for run in (recording, silent))
    feeds = [message for messages in ticks for message in messages if message[0] == 8]
    assert [[message for message in messages if message[0] != 8] for messages in ticks] == plain
    assert max(len(feed[3]) for feed in feeds) == 5
    posts = read_posts(recording / "journal.prism")[0]
    assert all(author_of(post) != reader for _, _, reader, shown in feeds for post in shown)
    assert all(posts[post][0] <= tick for _, tick, _, shown in feeds for post in shown)
