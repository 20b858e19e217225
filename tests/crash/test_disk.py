"""The simulated disk does to files what a machine may do to them."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.store.disk import RealDisk, write_whole
from tests.catalogue import catalogue
from tests.crash.disk import Cut, SimulatedDisk

SEEDS = range(200)


def found(disk: SimulatedDisk, cut: Cut) -> set[bytes]:
    """What there can be of file `a` after a crash."""
    return {disk.surviving(cut, seed).visible("a") for seed in SEEDS}


def written() -> SimulatedDisk:
    """A disk with four bytes of `a` on the medium, and four more on their way there in two appends."""
    disk = SimulatedDisk()
    write_whole(disk, "a", [b"1234"])
    disk.append("a", b"56")
    disk.append("a", b"78")
    return disk


@catalogue(
    ("cut", "possible"),
    [
        (Cut.LOST, {b"1234"}),
        (Cut.TORN, {b"1234", b"12345", b"123456", b"1234567", b"12345678"}),
        (Cut.ZEROED, {b"1234", b"1234\0\0\0\0", b"12345\0\0\0", b"123456\0\0", b"1234567\0", b"12345678"}),
        (Cut.REORDERED, {b"1234", b"1234\0\0\0\0", b"1234\0\0\0008", b"1234\0\00078", b"1234\000678", b"12345678"}),
    ],
)
def test_a_power_cut_leaves_what_was_synced_and_anything_of_the_rest(cut: Cut, possible: set[bytes]) -> None:
    disk = written()
    assert found(disk, cut) == possible
    disk.sync("a")
    assert found(disk, cut) == {b"12345678"}


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from("ab"), st.binary(max_size=5)),
        st.tuples(st.just("truncate"), st.sampled_from("ab"), st.integers(0, 12)),
        st.tuples(st.just("rename"), st.sampled_from("ab"), st.sampled_from("ac")),
        st.tuples(st.just("remove"), st.sampled_from("abc")),
        st.tuples(st.just("sync"), st.sampled_from("ab")),
        st.tuples(st.just("sync_directory")),
        st.tuples(st.just("read"), st.sampled_from("abc"), st.integers(0, 12), st.integers(0, 12)),
    ),
    max_size=30,
)


@given(operations=OPERATIONS)
def test_as_long_as_nothing_breaks_it_is_like_a_real_disk(operations: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as path:
        real, simulated = RealDisk(Path(path)), SimulatedDisk()
        for name, *arguments in operations:
            # Where the product asks for neither: a longer file, a file of its own name, and syncing what is not there.
            if arguments and arguments[0] not in simulated.names() and name in {"truncate", "sync"}:
                continue
            if name == "truncate" and arguments[1] > simulated.size(arguments[0]):
                continue
            said = []
            for disk in (real, simulated):
                try:
                    said.append(getattr(disk, name)(*arguments))
                except OSError as error:
                    said.append(type(error))
            assert said[0] == said[1]
            assert real.names() == simulated.names()
        assert [real.read(name, 0, 1000) for name in real.names()] == [
            simulated.visible(name) for name in simulated.names()
        ]
        real.close()
