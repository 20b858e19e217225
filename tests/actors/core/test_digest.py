from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.core.frames import RunningDigest

Ticks = list[tuple[int, list[bytes]]]


def digest_of(ticks: Sequence[tuple[int, list[bytes]]]) -> str:
    digest = RunningDigest()
    for tick, answers in ticks:
        digest.add(tick, answers)
    return digest.hexdigest()


def messages(least: int = 0) -> st.SearchStrategy[bytes]:
    """Answers as agents give them: msgpack, of which no two in a row read like two others."""
    return st.binary(min_size=least, max_size=4).map(msgspec.msgpack.encode)


TICKS: Ticks = [(0, [b"one", b"two"]), (3, [b"three"]), (4, [])]


def test_the_format_of_the_digest_is_fixed() -> None:
    assert digest_of(TICKS) == "06ca6d376f6f561bb4c5a3d666200319"


@given(
    first=st.lists(st.tuples(st.integers(0, 3), st.lists(messages(), max_size=3)), max_size=4),
    second=st.lists(st.tuples(st.integers(0, 3), st.lists(messages(), max_size=3)), max_size=4),
)
def test_runs_that_differ_in_anything_have_different_digests(first: Ticks, second: Ticks) -> None:
    assert (digest_of(first) == digest_of(second)) == (first == second)


@given(answers=st.lists(messages(least=1), min_size=2, max_size=5, unique=True))
def test_a_lost_a_moved_a_doubled_and_a_joined_answer_all_show(answers: list[bytes]) -> None:
    changed = [
        answers[1:],
        [*answers[1:], answers[0]],
        [answers[0], *answers],
        [answers[0] + answers[1], *answers[2:]],
    ]
    digests = {digest_of([(0, each)]) for each in (answers, *changed)}
    assert len(digests) == 5
