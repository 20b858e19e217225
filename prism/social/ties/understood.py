"""The line that tells a user how the file of a graph was understood."""

from __future__ import annotations

from collections.abc import Sequence

from prism.quoting import printable
from prism.social.ties.graph import FollowGraph
from prism.wording import counted, cut

_SHOWN = 40
"""The most characters of a name."""


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


def shown(name: str) -> str:
    """Return a name of a file on one line, with characters escaped that a terminal would obey."""
    return cut(printable(name), _SHOWN)
