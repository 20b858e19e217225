from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from actors.core.frames import RunningDigest

Payloads = list[bytes]


def digest_of(payloads: Sequence[bytes]) -> str:
    digest = RunningDigest()
    for payload in payloads:
        digest.add(payload)
    return digest.hexdigest()


def test_the_digest_is_a_chain_of_hashes_over_the_payloads_of_ticks() -> None:
    assert digest_of([]) == 32 * "0"
    link = bytes(32)
    for payload in (b"one", b"two", b""):
        link = sha256(link + payload).digest()
    assert digest_of([b"one", b"two", b""]) == link.hex()[:32]


@given(first=st.lists(st.binary(max_size=4), max_size=4), second=st.lists(st.binary(max_size=4), max_size=4))
def test_runs_that_differ_in_anything_have_different_digests(first: Payloads, second: Payloads) -> None:
    assert (digest_of(first) == digest_of(second)) == (first == second)


@given(ticks=st.lists(st.binary(min_size=1, max_size=4), min_size=2, max_size=5, unique=True))
def test_a_lost_a_moved_a_doubled_and_a_joined_tick_all_show(ticks: Payloads) -> None:
    changed = [ticks[1:], [*ticks[1:], ticks[0]], [ticks[0], *ticks], [ticks[0] + ticks[1], *ticks[2:]]]
    assert len({digest_of(each) for each in (ticks, *changed)}) == 5
