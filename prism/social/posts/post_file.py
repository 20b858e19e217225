"""A file of posts, such as headlines: what each says and is about, and its own attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from prism.config.attributes import POSTS_PLACE
from prism.config.model import ColumnsConfig, PopulationConfig
from prism.errors import InputError
from prism.social.people.profile_columns import OwnColumns, Row
from prism.social.people.profile_rows import FORMATS, read_rows
from prism.social.ties.follow_lists import entries_of
from prism.social.ties.graph import shown
from prism.text_files import check_format, decode_text
from prism.wording import counted

TEXT: Final = "text"
TOPICS: Final = "topics"
POSTS_MAX: Final = 1_000_000
_LISTED: Final = 8
"""The most names of topics in a line."""


class GivenPost(NamedTuple):
    """A post of a file.

    Args:
        attributes: `{name: value}`, as they are declared.
    """

    text: str
    topics: tuple[str, ...]
    attributes: Mapping[str, Any]


class GivenPosts(tuple[GivenPost, ...]):
    """The posts of a file, in its order.

    Attributes:
        unread: the columns of the file that nothing reads.
    """

    unread: tuple[str, ...] = ()


def check_posts_format(source: str) -> None:
    """Refuse a file whose extension is not that of a file of posts.

    Raises:
        InputError: the extension is another one.
    """
    check_format(source, "posts", FORMATS)


def parse_posts(data: bytes, source: str, config: PopulationConfig) -> GivenPosts:
    """Return the posts of a file, in its order: JSON, or a table with the column `text` and optionally `topics`.

    Raises:
        InputError: the file cannot be read in full; the message names the line, or the post, counted from 1.
    """
    check_posts_format(source)
    text = decode_text(data, source, config.encoding, "population.encoding")
    if not text.strip():
        raise InputError(source, "is empty: expected at least one post")
    found = read_rows(text, source, {TEXT, TOPICS, *config.posts.attributes}, "post")
    if not 0 < len(found.rows) <= POSTS_MAX:
        raise InputError(source, f"expected 1 to {POSTS_MAX:,} posts, got {len(found.rows):,}")
    if TEXT not in found.columns:
        kind, listed = "key" if found.header_line is None else "column", ", ".join(found.columns)
        raise InputError(source, f"missing {kind}: {TEXT}; the file has: {listed}", line=found.header_line)
    declared = config.posts.attributes
    own = OwnColumns(declared, ColumnsConfig(), found.columns, source, found.header_line, POSTS_PLACE)
    posts = []
    for place, cells in enumerate(found.rows):
        row = Row(cells, "" if found.lines else f"post {place + 1}", found.lines[place] if found.lines else None)
        values = own.values_of(row)
        attributes = {name: values.get(name, each.default) for name, each in declared.items()}
        posts.append(GivenPost(_text(row, source), _topics(row, source), attributes))
    made = GivenPosts(posts)
    read = {TEXT, TOPICS, *(each.column or name for name, each in declared.items())}
    made.unread = tuple(column for column in found.columns if column and column not in read)
    return made


def _text(row: Row, source: str) -> str:
    text = row.cells.get(TEXT)
    if isinstance(text, str) and text.strip():
        return text.strip()
    raise _refusal(row, source, TEXT, "expected a text that is not blank")


def _topics(row: Row, source: str) -> tuple[str, ...]:
    """Return the topics of a post, each once: a list, or a text with semicolons, else commas, between them."""
    cell = row.cells.get(TOPICS)
    topics: object = () if cell is None else cell
    if isinstance(cell, str):
        topics = entries_of(cell) if cell.lstrip().startswith("[") else cell.split(";" if ";" in cell else ",")
    if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
        raise _refusal(row, source, TOPICS, "expected topics as in `taxes; schools`, or a list of texts")
    return tuple(dict.fromkeys(filter(None, map(str.strip, topics))))


def _refusal(row: Row, source: str, key: str, problem: str) -> InputError:
    return InputError(source, f"{row.who}: {problem}" if row.who else problem, key=key, line=row.line)


def post_lines(path: str | None, posts: Sequence[GivenPost], interests: Collection[str]) -> tuple[str, ...]:
    """Return a line about the content of a file of posts, and a line about its topics that interest nobody.

    Args:
        interests: the topics that people may be interested in.
    """
    if path is None:
        return ()
    topics = Counter(topic for post in posts for topic in post.topics)
    named = _listed([f"{topic} {count:,}" for topic, count in topics.most_common()])
    lines = [f"{path}: {counted(len(posts), 'post')}; {f'topics: {named}' if topics else 'no topics'}"]
    if isinstance(posts, GivenPosts) and posts.unread:
        columns = _listed([f"`{column}`" for column in posts.unread])
        lines.append(f"{path}: not read: {columns}; a post is anybody's, whoever the file says wrote it")
    unknown = [topic for topic in topics if topic not in interests]
    if unknown:
        lines.append(f"{path}: nobody is interested in topics that population.topics lacks: {_listed(unknown)}")
    return tuple(lines)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(map(shown, names[:_LISTED])) + more
