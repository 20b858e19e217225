"""The lines that tell a user how the files of a graph and of posts were understood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from prism.quoting import printable
from prism.social.graph import FollowGraph
from prism.social.post_file import GivenPost
from prism.wording import counted, cut

_SHOWN = 40
"""The most characters of a name."""
_LISTED = 8
"""The most names in a line."""


def understood(
    graph: FollowGraph,
    said: Sequence[str],
    first: tuple[str, str],
    *,
    mutual: bool,
    by_setting: bool = False,
    comments: int = 0,
) -> str:
    """Return what was understood of a file: how it was read, the people and ties, and the first tie.

    Args:
        said: how it was read, in parts.
        first: the ids of its first tie, the one who follows in front.
        mutual: the ties are friendships.
        by_setting: the settings say so, because the file does not.
        comments: the number of comments between its rows.
    """
    ties = graph.edges // 2 if mutual else graph.edges
    parts = [
        *said,
        f"{counted(graph.size, 'person', 'people')}, {counted(ties, 'tie')}",
        f"first: {shown(first[0])} -> {shown(first[1])}",
    ]
    if mutual:
        parts.append("both follow each other" + " (population.graph.directed: false)" * by_setting)
    left_out = [
        words
        for count, words in (
            (graph.duplicates, f"{graph.duplicates:,} repeated"),
            (graph.self_loops, f"{graph.self_loops:,} of people to themselves"),
            (comments, f"{counted(comments, 'comment')} between rows"),
        )
        if count
    ]
    if left_out:
        parts.append(f"left out: {' and '.join(left_out)}")
    return "; ".join(parts)


def graph_lines(path: str | None, graph: FollowGraph | None) -> tuple[str, ...]:
    """Return a line that says how the file of a graph was understood, if there is one and it was read."""
    return (f"{path}: {graph.understood}",) if graph is not None and graph.understood else ()


def post_lines(path: str | None, posts: Sequence[GivenPost], interests: Collection[str]) -> tuple[str, ...]:
    """Return a line that says what a file of posts has, and one about topics of it that nobody is interested in.

    Args:
        interests: the topics that people may be interested in.
    """
    if path is None:
        return ()
    topics = Counter(topic for post in posts for topic in post.topics)
    named = _listed([f"{topic} {count:,}" for topic, count in topics.most_common()])
    lines = [f"{path}: {counted(len(posts), 'post')}; {f'topics: {named}' if topics else 'no topics'}"]
    unknown = [topic for topic in topics if topic not in interests]
    if unknown:
        lines.append(f"{path}: nobody is interested in topics that population.topics lacks: {_listed(unknown)}")
    return tuple(lines)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(map(shown, names[:_LISTED])) + more


def shown(name: str) -> str:
    """Return a name of a file on one line, with characters escaped that a terminal would obey."""
    return cut(printable(name), _SHOWN)
