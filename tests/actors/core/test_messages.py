"""Messages, their frames and the digest of a run."""

from collections.abc import Sequence
from hashlib import sha256
from struct import pack
from typing import Any
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.frames import HEAD, ORIGIN, Damage, Frame, RunningDigest, encode_frame, link_of
from actors.core.messages import Codec, Decided
from prism.agents import Trigger, Update
from prism.social.posts.post import PostView
from tests.actors.store.files import frames_in

CODEC = Codec(PostView, str)


def test_what_no_agent_may_answer_and_what_is_of_another_domain_is_refused() -> None:
    messages: list[Any] = [
        Trigger(1, 2, "a"),
        Decided(1, 2, "t", "c", "oracle"),
        Update(1, 2, "a", "b", "c", "rule", 7),
    ]
    for message in messages:
        with pytest.raises(msgspec.ValidationError):
            CODEC.answer(CODEC.encode(message))
    with pytest.raises(msgspec.ValidationError):
        CODEC.trigger(CODEC.encode(Trigger(1, 2, "a", "no view")))


PAYLOADS = st.lists(st.binary(max_size=80), max_size=6)


def chained(payloads: list[bytes]) -> bytes:
    link, data = ORIGIN, b""
    for payload in payloads:
        link = link_of(link, payload)
        data += encode_frame(link, payload)
    return data


def test_a_frame_is_length_crc_link_and_payload() -> None:
    link = sha256(bytes(32) + b"payload").digest()
    covered = pack("<I", 7) + link + b"payload"
    assert link_of(ORIGIN, b"payload") == link
    assert encode_frame(link, b"payload") == pack("<II", 7, crc32(covered)) + link + b"payload"


@given(PAYLOADS)
def test_what_is_written_is_read(payloads: list[bytes]) -> None:
    data = chained(payloads)
    found = list(frames_in(data, offset=8))
    assert [frame.payload for frame in found if isinstance(frame, Frame)] == payloads
    assert len(found) == len(payloads)
    assert not found or (isinstance(found[-1], Frame) and found[-1].end == 8 + len(data))


@given(PAYLOADS.filter(any), st.data())
def test_any_flipped_bit_is_damage_in_its_own_frame(payloads: list[bytes], data: st.DataObject) -> None:
    whole = chained(payloads)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    starts = [0]
    for payload in payloads:
        starts.append(starts[-1] + HEAD.size + len(payload))
    found = list(frames_in(bytes(changed)))
    assert isinstance(found[-1], Damage)
    assert found[-1].offset == max(start for start in starts if start <= place)
    assert [frame.payload for frame in found[:-1] if isinstance(frame, Frame)] == payloads[: len(found) - 1]


@given(PAYLOADS.filter(bool), st.data())
def test_a_file_that_ends_early_says_so(payloads: list[bytes], data: st.DataObject) -> None:
    whole = chained(payloads)
    ends = [frame.end for frame in frames_in(whole) if isinstance(frame, Frame)]
    end = data.draw(st.integers(1, len(whole) - 1))
    found = list(frames_in(whole[:end]))
    if end in ends:
        assert isinstance(found[-1], Frame)
    else:
        assert isinstance(found[-1], Damage)
        assert found[-1].is_end
        assert found[-1].offset == max([0, *(each for each in ends if each <= end)])


Payloads = list[bytes]


def digest_of(payloads: Sequence[bytes]) -> str:
    digest = RunningDigest()
    for payload in payloads:
        digest.add(payload)
    return digest.hexdigest()


@given(first=st.lists(st.binary(max_size=4), max_size=4), second=st.lists(st.binary(max_size=4), max_size=4))
def test_runs_that_differ_in_anything_have_different_digests(first: Payloads, second: Payloads) -> None:
    assert (digest_of(first) == digest_of(second)) == (first == second)
    link = bytes(32)
    for payload in first:
        link = sha256(link + payload).digest()
    assert digest_of(first) == link.hex()[:32]
