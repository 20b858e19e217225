"""A file of posts, such as headlines: what each says and is about, and its own attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from prism.config.attributes import POSTS_PLACE
from prism.config.model import ColumnsConfig, PopulationConfig
from prism.errors import InputError
from prism.social.people.profiles import FORMATS, OwnColumns, plain_id, read_rows, topics_of
from prism.social.ties.graph import shown
from prism.text_files import check_format, decode_text
from prism.wording import counted

TEXT: Final = "text"
TOPICS: Final = "topics"
AUTHOR: Final = "author"  # the column of authors, unless the configuration names another
POSTS_MAX: Final = 1_000_000
_LISTED: Final = 8  # the most names of topics in a line


class GivenPost(NamedTuple):
    """A post of a file; `attributes` are in the order in which they are declared, `author` is an id or empty."""

    text: str
    topics: tuple[str, ...]
    attributes: Mapping[str, Any]
    author: str = ""


class GivenPosts(tuple[GivenPost, ...]):
    """The posts of a file, in its order."""

    unread: tuple[str, ...] = ()  # the columns of the file that nothing reads
    column: str = ""  # the column of authors; empty if there is none


def parse_posts(data: bytes, source: str, config: PopulationConfig) -> GivenPosts:
    """Return the posts of a file, in its order: JSON, or a table with the column `text` and optionally `topics`.

    Raises:
        InputError: the file cannot be read in full; the message names the line, or the post, counted from 1.
    """
    check_format(source, "posts", FORMATS)
    text = decode_text(data, source, config.encoding, "population.encoding")
    if not text.strip():
        raise InputError(source, "is empty: expected at least one post")
    table = read_rows(text, source, {TEXT, TOPICS, *config.posts.attributes}, "post")
    if not 0 < len(table.rows) <= POSTS_MAX:
        raise InputError(source, f"expected 1 to {POSTS_MAX:,} posts, got {len(table.rows):,}")
    declared, wanted = config.posts.attributes, config.posts.author
    author = next((each for each in table.columns if wanted is not None and each.lower() == wanted.lower()), None)
    missing = TEXT if TEXT not in table.columns else ""
    if author is None and wanted not in {None, AUTHOR}:
        missing = missing or f"{wanted}, for population.posts.author"
    if missing:
        raise table.missing(missing)
    own = OwnColumns(table, declared, ColumnsConfig(), POSTS_PLACE)
    posts = []
    for place, cells in enumerate(table.rows):
        values = own.values_of(place)
        said = cells.get(TEXT)
        if not isinstance(said, str) or not said.strip():
            raise table.error(place, TEXT, "expected a text that is not blank")
        if (topics := topics_of(cells.get(TOPICS), in_words=True)) is None:
            raise table.error(place, TOPICS, "expected topics as in `taxes; schools`, or a list of texts")
        attributes = {name: values.get(name, each.default) for name, each in declared.items()}
        by = "" if author is None else plain_id(cells.get(author))
        posts.append(GivenPost(said.strip(), topics, attributes, by))
    made = GivenPosts(posts)
    made.column = author or ""
    read = {TEXT, TOPICS, author, *(each.column or name for name, each in declared.items())}
    made.unread = tuple(column for column in table.columns if column and column not in read)
    return made


def post_lines(path: str | None, posts: Sequence[GivenPost], interests: Collection[str]) -> tuple[str, ...]:
    """Return a line about the content of a file of posts, and one about topics that are no `interests`."""
    if path is None:
        return ()
    topics = Counter(topic for post in posts for topic in post.topics)
    named = _listed([f"{topic} {count:,}" for topic, count in topics.most_common()])
    lines = [f"{path}: {counted(len(posts), 'post')}; {f'topics: {named}' if topics else 'no topics'}"]
    if isinstance(posts, GivenPosts) and posts.unread:
        columns = _listed([f"`{column}`" for column in posts.unread])
        whose = "" if posts.column else "; a post is anybody's, whoever the file says wrote it"
        lines.append(f"{path}: not read: {columns}{whose}")
    unknown = [topic for topic in topics if topic not in interests]
    if unknown:
        lines.append(f"{path}: nobody is interested in topics that population.topics lacks: {_listed(unknown)}")
    return tuple(lines)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(map(shown, names[:_LISTED])) + more
