"""The trees of cascades as steps: what is compared with journals and counts."""

from __future__ import annotations

from typing import NamedTuple

from prism.social.network import Network
from prism.social.posts.post import Post, PostKind


class CascadeEdge(NamedTuple):
    """One step of a cascade: `child` answers or reshares `parent`, in the tree of `root`."""

    tick: int
    root: int
    parent: int
    child: int
    kind: PostKind


def edge_of(post: Post) -> CascadeEdge | None:
    """Return the step that a reply or reshare added to its cascade; None for an original."""
    if post.parent is None:
        return None
    return CascadeEdge(post.created, post.root, post.parent, post.id, post.kind)


def edges(network: Network) -> list[CascadeEdge]:
    """Return the steps of every cascade still remembered, oldest first."""
    return [edge for edge in map(edge_of, network.living) if edge is not None]
