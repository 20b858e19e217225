"""Views of posts as bytes: those that msgpack has for a `PostView`, of many at once; and events."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.agents.answer_kernel import put_bytes, put_number
from prism.columns import Ints
from prism.kernel_rng import U, below
from prism.kernels import address_of, compiled_as, kernel
from prism.rng import Draw
from prism.social import tables as col
from prism.social.posts.post import NO_POST, TEMPLATES

_TEXT = int(Draw.TEXT)
_BYTE = U(0xFF)

FIELDS = 19
"""The fields of a view, of which most are numbers."""
EVENT_BYTES = 80
"""The most bytes of an event, and of the place of its post in a file, but for its topics."""

"""The places of the weights of a post's relevance."""

FIRST_TEXT = tuple(accumulate(map(len, TEMPLATES.values()), initial=1))
"""The place of the first text of originals, of replies and of reshares among the words of a code of topics."""
WORDS = FIRST_TEXT[-1]
"""The words of each code of topics: its topics, and the texts of posts about the first of them."""

FIRST_NAME, LAST_NAME, NAMESAKES = range(3)
"""The columns of names: the first name, the last name or -1, and how many people before have the same two."""


class TextTables(NamedTuple):
    """The words of views and events. Of each kind the n-th is at `starts[n]` to before `starts[n + 1]`, as msgpack.

    Args:
        names: of everybody, a row each; name_words: the words in them, without a header.
        words: of each code of topics WORDS, the topics and then the texts.
        given: the texts of posts of a file.
        done: what was done, by the number of the effect.
    """

    names: NDArray[np.int32]
    name_words: NDArray[np.uint8]
    name_starts: Ints
    words: NDArray[np.uint8]
    starts: Ints
    given: NDArray[np.uint8]
    given_starts: Ints
    done: NDArray[np.uint8]
    done_starts: Ints


def _bits_one_by_one(out: Any, at: Any, bits: Any) -> Any:
    out[at] = 0xCB
    for byte in range(8):
        out[at + 8 - byte] = bits >> U(8 * byte) & _BYTE
    return at + 9


@compiled_as(_bits_one_by_one)
def put_float(out: Any, at: Any, bits: Any) -> Any:
    """Write a float as msgpack does, by the bits that it has in memory; return the place after it."""
    out[at] = 0xCB
    out[at + 1 : at + 9] = np.frombuffer(int(bits).to_bytes(8, "big"), dtype=np.uint8)
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
def digits_of(number: Any) -> Any:
    digits = 0
    while number:
        number //= 10
        digits += 1
    return digits


@kernel
def put_digits(out: Any, at: Any, number: Any) -> Any:
    """Write a whole number above 0 as text; return the place after it."""
    end = at + digits_of(number)
    place = end
    while number:
        place -= 1
        out[place] = 48 + number % 10  # the code of 0
        number //= 10
    return end


@kernel
def put_name(out: Any, at: Any, name: Any, wording: Any) -> Any:
    """Write a name, of FIRST_NAME, LAST_NAME and NAMESAKES; return the place after it."""
    words, starts = wording.name_words, wording.name_starts
    # 1. The length comes first in msgpack, so it is counted before anything is written: "Ada Reed 2" has two spaces.
    first, last, before = name[FIRST_NAME], name[LAST_NAME], name[NAMESAKES]
    length = starts[first + 1] - starts[first]
    if last >= 0:
        length += 1 + starts[last + 1] - starts[last]
    if before:
        length += 1 + digits_of(before + 1)
    # 2. The same parts again, now as bytes.
    at = put_bytes(out, put_header(out, at, length), words, starts[first], starts[first + 1])
    if last >= 0:
        out[at] = 32  # a space
        at = put_bytes(out, at + 1, words, starts[last], starts[last + 1])
    if before:
        out[at] = 32
        at = put_digits(out, at + 1, before + 1)
    return at


@kernel
def put_text(out: Any, at: Any, whole: Any, key: Any, wording: Any) -> Any:
    """Write the text and the topics of a post; return the place after them. No author has written the text."""
    words, starts = wording.words, wording.starts
    kind, topics = whole[col.KIND], whole[col.TOPICS] * WORDS
    # A reply to a post of a file has a text of its own; a reshare has that of its root.
    first, texts = FIRST_TEXT[kind], FIRST_TEXT[kind + 1] - FIRST_TEXT[kind]
    if whole[col.GIVEN] and kind != col.IS_REPLY:
        given_starts = wording.given_starts
        at = put_bytes(out, at, wording.given, given_starts[whole[col.GIVEN]], given_starts[whole[col.GIVEN] + 1])
    else:
        text = topics + first + below(texts, key, whole[col.AUTHOR], whole[col.CREATED], _TEXT, 0)
        at = put_bytes(out, at, words, starts[text], starts[text + 1])
    return put_bytes(out, at, words, starts[topics], starts[topics + 1])


@kernel
def write_views(key: Any, tick: Any, wholes: Any, bits: Any, words: Any, out: Any, ends: Any) -> None:
    """Write views one after the other.

    Args:
        wholes: as `prism.social.kernels.post_kernel.see` gives them; bits: those of its shares in memory.
        words: `TextTables`.
        ends: gets the place after each view.
    """
    wording, at = address_of(words), 0
    for place in range(len(wholes)):
        whole, share = wholes[place], bits[place]
        # A `PostView` is an array (DC, two bytes of length) of its fields, in the order in which the class has them.
        out[at], out[at + 1], out[at + 2] = 0xDC, 0, FIELDS
        at = put_number(out, at + 3, whole[col.ID])
        at = put_number(out, at, whole[col.AUTHOR])
        at = put_name(out, at, wording.names[whole[col.AUTHOR]], wording)
        at = put_text(out, at, whole, key, wording)
        at = put_number(out, at, tick - whole[col.CREATED])
        for column in (col.LIKES, col.REPLIES, col.RESHARES):
            at = put_number(out, at, whole[column])
        at = put_float(out, at, share[col.VELOCITY])
        at = put_float(out, at, share[col.POPULARITY])
        out[at] = 0xC2 + whole[col.FOLLOWED]  # false, or true
        at = put_float(out, at + 1, share[col.TOPIC_MATCH])
        at = put_float(out, at, share[col.APPEAL])
        at = put_float(out, at, share[col.FATIGUE])
        at = put_float(out, at, share[col.APPRECIATED])
        for column in (col.TIMES, col.ORIGIN, col.VIEWED):
            at = put_number(out, at, whole[column])
        ends[place] = at


@kernel
def put_above(out: Any, at: Any, above: Any) -> Any:
    """Write the id of the post above, or that there is none; return the place after it."""
    if above == NO_POST:
        out[at] = 0xC0
        return at + 1
    return put_number(out, at, above)


@kernel
def put_feed(t: Any, tick: Any, person: Any, out: Any, at: Any) -> Any:
    """Write the record of the feed that a person was shown; return the place after it."""
    shown = t.people[person, col.SHOWN]
    out[at], out[at + 1] = 0x94, 8  # an array of four: the tag of the record, tick, person, and the array of ids
    at = put_number(out, put_number(out, at + 2, tick), person)
    if shown < 1 << 4:
        out[at] = 0x90 + shown
        at += 1
    else:
        out[at], out[at + 1], out[at + 2] = 0xDC, shown >> 8, shown & 0xFF
        at += 3
    for place in range(shown):
        at = put_number(out, at, t.posts[t.feed[person, place] - t.counts.posts[col.BASE], col.ID])
    return at


@kernel
def write_events(
    tables: Any, tick: Any, count: Any, taken: Any, words: Any, with_feeds: Any, out: Any, ends: Any
) -> None:
    """Write the records of the first events in their table, one after the other, as msgpack has them.

    Args:
        taken: the number of the first post that they have made.
        words: `TextTables`.
        with_feeds: whether feeds that were shown have a record.
        ends: gets the place after them, and how many they are.
    """
    t, wording = address_of(tables), address_of(words)
    starts, done_starts = wording.starts, wording.done_starts
    # Posts are numbered in the order of their events, so `number` goes along: it is the row of the next post made.
    at, number = 0, taken - t.counts.posts[col.BASE]
    for place in range(count):
        event = t.events[place]
        who, what = event[col.WHO], event[col.WHAT]
        if what == col.FEED:
            if with_feeds:
                at = put_feed(t, tick, who, out, at)
                ends[1] += 1
            continue
        # An array of seven for a `PostEvent`, or of six for a `TieChanged`, which has no topics; then the tag.
        out[at], out[at + 1] = (0x97, 7) if what < col.FEED else (0x96, 9)
        at = put_number(out, put_number(out, at + 2, tick), who)
        at = put_bytes(out, at, wording.done, done_starts[what], done_starts[what + 1])
        at = put_number(out, at, event[col.POST])
        at = put_above(out, at, event[col.ABOVE])
        ends[1] += 1
        if what == col.PUBLISH:
            at = put_bytes(
                out, at, wording.words, starts[event[col.ABOUT] * WORDS], starts[event[col.ABOUT] * WORDS + 1]
            )
            if len(t.given_topics) > 1 and t.posts[number, col.GIVEN]:
                out[at], out[at + 1] = 0x95, 11
                at = put_number(out, put_number(out, at + 2, tick), who)
                at = put_number(out, put_number(out, at, event[col.POST]), t.posts[number, col.GIVEN])
                ends[1] += 1
        elif what < col.FEED:
            out[at] = 0x90
            at += 1
        number += what in (col.PUBLISH, col.REPLY, col.RESHARE)
    ends[0] = at
