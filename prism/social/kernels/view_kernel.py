"""Triggers with views of posts as bytes: those that msgpack has for them; and the texts of views alone."""

from __future__ import annotations

from itertools import accumulate
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.agents.bytes_kernel import put_bytes, put_number
from prism.columns import Ints
from prism.kernel_rng import U, below
from prism.kernels import address_of, compiled_as, kernel
from prism.rng import Draw
from prism.social import tables as col
from prism.social.kernels.post_kernel import has_view, see
from prism.social.posts.post import TEMPLATES

_TEXT = int(Draw.TEXT)
_BYTE = U(0xFF)
_FLOAT = Struct(">Bd").pack

FIELDS = 19  # the fields of a view, of which most are numbers

FIRST_TEXT = tuple(accumulate(map(len, TEMPLATES.values()), initial=1))
"""The place of the first text of originals, of replies and of reshares among the words of a code of topics."""
WORDS = FIRST_TEXT[-1]  # the words of each code of topics: its topics, and the texts of posts about the first of them


class TextTables(NamedTuple):
    """The words of views. Of each kind the n-th is at `starts[n]` to before `starts[n + 1]`."""

    names: NDArray[np.uint8]  # of everybody
    name_starts: Ints
    words: NDArray[np.uint8]  # of each code of topics WORDS, the topics as msgpack and then the texts
    starts: Ints
    given: NDArray[np.uint8]  # the texts of posts of a file
    given_starts: Ints


def _bits_one_by_one(out: Any, at: Any, number: Any) -> Any:
    out[at], bits = 0xCB, np.float64(number).view(U)
    for byte in range(8):
        out[at + 8 - byte] = bits >> U(8 * byte) & _BYTE
    return at + 9


@compiled_as(_bits_one_by_one)
def put_float(out: Any, at: Any, number: Any) -> Any:
    """Write a float as msgpack does; return the place after it."""
    out[at : at + 9] = np.frombuffer(_FLOAT(0xCB, number), dtype=np.uint8)
    return at + 9


@kernel
def put_header(out: Any, at: Any, length: Any) -> Any:
    """Write what msgpack has before a text of so many bytes, below 65,536; return the place after it."""
    # msgpack: 101xxxxx with the length in the low bits; D9 and a byte; DA and two bytes, the high one first.
    if length < 1 << 5:
        out[at] = 0xA0 + length
        return at + 1
    if length < 1 << 8:
        out[at], out[at + 1] = 0xD9, length
        return at + 2
    out[at], out[at + 1], out[at + 2] = 0xDA, length >> 8, length & 0xFF
    return at + 3


@kernel
def put_text(out: Any, at: Any, view: Any, key: Any, wording: Any, with_header: Any) -> Any:
    """Write the text of a post, which no author has written; return the place after it."""
    # A reply to a post of a file has a text of its own; a reshare has that of its root.
    if view.given and view.kind != col.IS_REPLY:
        words, start, stop = wording.given, wording.given_starts[view.given], wording.given_starts[view.given + 1]
    else:
        first, texts = FIRST_TEXT[view.kind], FIRST_TEXT[view.kind + 1] - FIRST_TEXT[view.kind]
        text = view.topics * WORDS + first + below(texts, key, view.author, view.created, _TEXT, 0)
        words, start, stop = wording.words, wording.starts[text], wording.starts[text + 1]
    if with_header:
        at = put_header(out, at, stop - start)
    return put_bytes(out, at, words, start, stop)


@kernel
def put_topics(out: Any, at: Any, view: Any, wording: Any) -> Any:
    """Write the topics of a post as msgpack; return the place after them."""
    topics = view.topics * WORDS
    return put_bytes(out, at, wording.words, wording.starts[topics], wording.starts[topics + 1])


@kernel
def write_texts(key: Any, views: Any, words: Any, names: Any, texts: Any, topics: Any, ends: Any) -> None:
    """Write the names of the authors, the texts and the topics of views, each one after the other.

    Args:
        views: as `prism.social.kernels.post_kernel.see` writes them; words: `TextTables`.
        ends: gets the places after each name, text and topics, a row each.
    """
    wording, of_names, of_texts, of_topics = address_of(words), 0, 0, 0
    for place in range(len(views)):
        view = views[place]
        start, stop = wording.name_starts[view.author], wording.name_starts[view.author + 1]
        of_names = put_bytes(names, of_names, wording.names, start, stop)
        of_texts = put_text(texts, of_texts, view, key, wording, False)
        of_topics = put_topics(topics, of_topics, view, wording)
        ends[0, place], ends[1, place], ends[2, place] = of_names, of_texts, of_topics


@kernel
def put_view(out: Any, at: Any, key: Any, tick: Any, view: Any, wording: Any) -> Any:
    """Write a view, as `prism.social.kernels.post_kernel.see` writes it down; return the place after it."""
    # A `PostView` is an array (DC, two bytes of length) of its fields, in the order in which the class has them.
    out[at], out[at + 1], out[at + 2] = 0xDC, 0, FIELDS
    at = put_number(out, put_number(out, at + 3, view.id), view.author)
    start, stop = wording.name_starts[view.author], wording.name_starts[view.author + 1]
    at = put_bytes(out, put_header(out, at, stop - start), wording.names, start, stop)
    at = put_topics(out, put_text(out, at, view, key, wording, True), view, wording)
    at = put_number(out, put_number(out, at, tick - view.created), view.likes)
    at = put_number(out, put_number(out, at, view.replies), view.reshares)
    at = put_float(out, put_float(out, at, view.velocity), view.popularity)
    out[at] = 0xC2 + view.followed  # false, or true
    at = put_float(out, put_float(out, at + 1, view.topic_match), view.appeal)
    at = put_float(out, put_float(out, at, view.fatigue), view.quality)
    return put_number(out, put_number(out, put_number(out, at, view.exposures), view.origin), view.viewed)


@kernel
def write_triggers(
    tables: Any,
    key: Any,
    tick: Any,
    agents: Any,
    codes: Any,
    sees: Any,
    words: Any,
    names: Any,
    starts: Any,
    view: Any,
    out: Any,
    ends: Any,
) -> None:
    """Write the triggers of a wave one after the other, as msgpack has them.

    Args:
        codes: the number of each one's name; names: the names as msgpack, the n-th from `starts[n]` on.
        sees: whether a trigger has the post in view as its context, by the number of its name.
        words: `TextTables`; view: room for one; ends: gets the place after each.
    """
    t, wording, at = address_of(tables), address_of(words), 0
    for place in range(len(agents)):
        # An array of six: the tag of triggers, the tick, the agent, the name, the context, and no decision.
        out[at], out[at + 1] = 0x96, 1
        at = put_number(out, put_number(out, at + 2, tick), agents[place])
        at = put_bytes(out, at, names, starts[codes[place]], starts[codes[place] + 1])
        if sees[codes[place]] and has_view(t, agents[place]):
            see(t, agents[place : place + 1], tick, view)
            at = put_view(out, at, key, tick, view[0], wording)
        else:
            out[at] = 0xC0
            at += 1
        out[at] = 0xC0
        at += 1
        ends[place] = at
