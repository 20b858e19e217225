"""The records of what took place in a world, beside the answers of its agents.

An answer says what an agent did; a record here says what this caused. The engine puts each into the tick's frame right
after the answers or the intervention that caused it, so the journal alone says what happened to which object.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, overload

import msgspec

from prism.quoting import compact
from prism.wording import counted


class Intervened(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=6):
    """An intervention that was carried out at the beginning of a tick, before the tick's triggers.

    Args:
        number: the interventions of the run before it.
        kind: what was done, such as `publish`.
        content: the intervention as the configuration has it.
    """

    tick: int
    number: int
    kind: str
    content: dict[str, Any]


class PostEvent(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=7):
    """An effect on a feed that took place. What came to nothing, such as a like of a forgotten post, has no record.

    Args:
        agent: who did it: the author of a new post, or the person who liked one.
        kind: `publish`, `reply` or `reshare`, which make a post, or `like`.
        post: the new post; for a like the post that was liked.
        parent: the post that was answered or reshared; None for the others.
        topics: the topics of an original post; empty for the others, which have those of their root.
    """

    tick: int
    agent: int
    kind: str
    post: int
    parent: int | None = None
    topics: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"{self.kind} {self.post}{'' if self.parent is None else f' of {self.parent}'}"


class FeedShown(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=8):
    """The feed that was built for a person's session. It is only recorded with `run.record_feeds`.

    Args:
        agent: the reader.
        posts: the posts of the feed, first to last; empty if there was none to show.
    """

    kind: ClassVar = "feed"

    tick: int
    agent: int
    posts: tuple[int, ...]

    @property
    def words(self) -> str:
        return f"was shown a feed of {counted(len(self.posts), 'post')}"


class TieChanged(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=9):
    """A tie that a person has changed. It holds from the next tick on.

    Args:
        kind: `follow`, `unfollow` or `mute`.
        whom: the other person.
        post: the post in view, whose author it is, or the author of its root.
    """

    tick: int
    agent: int
    kind: str
    whom: int
    post: int

    @property
    def words(self) -> str:
        return f"{self.kind} agent {self.whom}, with post {self.post} in view"


class AttributeSet(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=10):
    """An attribute of a person that has another value from the next tick on.

    Args:
        name: the attribute; value: its new value.
    """

    kind: ClassVar = "set"

    tick: int
    agent: int
    name: str
    value: float | int | bool | str

    @property
    def words(self) -> str:
        return f"{self.name} becomes {compact(self.value)}"


class PostTaken(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=11):
    """An original that is from the file of posts. It follows the record of the post itself.

    Args:
        post: the original; number: its place in the file, from 1 on.
    """

    kind: ClassVar = "taken"

    tick: int
    agent: int
    post: int
    number: int

    @property
    def words(self) -> str:
        return f"post {self.post} is post {self.number:,} of the file"


Event = PostEvent | FeedShown | TieChanged | AttributeSet | PostTaken
"""A record of what took place in a world."""

_array: Final = msgspec.msgpack.Decoder(list[Event]).decode


class Events(Sequence[Event]):
    """Records as bytes, one after the other. They are read when somebody asks for one.

    Args:
        encoded: the bytes; number: how many records these are.
    """

    def __init__(self, encoded: bytes, number: int) -> None:
        self.encoded = encoded
        self._number = number

    @classmethod
    def of(cls, events: Sequence[Event]) -> Events:
        return cls(b"".join(map(msgspec.msgpack.encode, events)), len(events))

    @cached_property
    def _read(self) -> list[Event]:
        return _array(b"\xdd" + self._number.to_bytes(4, "big") + self.encoded)

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, place: int) -> Event: ...
    @overload
    def __getitem__(self, place: slice) -> list[Event]: ...
    def __getitem__(self, place: int | slice) -> Event | list[Event]:
        return self._read[place]
