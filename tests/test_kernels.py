"""Kernels give the same numbers as plain Python and as machine code, and what is compiled is kept with care."""

import json
import math
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import NormalDist

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prism import kernels, rng
from prism.kernel_rng import below, keys_of, normal_quantile, pick, unit
from prism.social.kernels.choice_kernel import sum_by_parts
from tests.catalogue import catalogue
from tests.paths import ROOT

BOTH = """
import json, sys
from random import Random
import numpy as np
from prism import kernels, kernel_rng, kernel_rng
from prism.social.kernels import choice_kernel
if sys.argv[1] == "compiled":
    kernels.compile_kernels()
random, found = Random(5), []
for _ in range(2000):
    seed, agent, tick, draw, index = map(random.getrandbits, (40, 29, 31, 10, 62))
    key = kernel_rng.keys_of(seed)
    found.append(float(kernel_rng.unit(key, agent, tick, draw, index)).hex())
    found.append(int(kernel_rng.below(random.randrange(1, 1000), key, agent, tick, draw, index)))
    law, first, second = random.randrange(4), random.uniform(1, 40), random.uniform(0, 3)
    found.append(int(kernel_rng.delay_ticks(law, first, first + second, random.random())))
    shares = np.array([random.random() ** random.randrange(1, 40) for _ in range(random.randrange(1, 9))])
    found.append(float(choice_kernel.exact_sum(shares, shares.copy())).hex())
print(json.dumps([kernels.are_compiled(), found]))
"""
RUN = ["-m", "actors.cli", "run", "configs/friends.yaml", "--quiet", "--set", "run.activation=compiled"]
SMALL = ["--set", "population.size=60", "--set", "simulation.rounds=3"]


def python(arguments: list[str], cache: Path, switch: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PRISM_JIT": switch}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True
    )


def printed(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    return out.strip()


def test_draws_of_kernels_are_those_of_the_generator() -> None:
    random = Random(1)
    for _ in range(200):
        seed, agent, tick, index = (random.getrandbits(bits) for bits in (60, 29, 31, 62))
        key = keys_of(seed)
        assert unit(key, agent, tick, 14, index) == rng.uniform(seed, agent, tick, 14, index)
        bound = 1 + index % 99
        assert below(bound, key, agent, tick, 14, index) == rng.integer(bound, seed, agent, tick, 14, index)


WEIGHTS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=12)


@given(WEIGHTS.filter(any), st.floats(0.0, 1.0, exclude_max=True))
def test_a_pick_of_a_kernel_is_that_of_the_generator(weights: list[float], drawn: float) -> None:
    assert pick(weights, len(weights), math.fsum(weights), drawn) == rng.pick(weights, drawn)


@given(st.lists(st.floats(-1e100, 1e100), max_size=9))
@example([1.0, 2.0**-53, 2.0**-110])
@example([1.0, 2.0**-53, -(2.0**-110)])
@example([1e100, 1.0, -1e100])
def test_a_sum_by_parts_is_rounded_once_as_pythons(values: list[float]) -> None:
    assert sum_by_parts(values, [0.0] * len(values)) == math.fsum(values)


def test_the_quantile_of_a_normal_deviate_is_pythons_to_the_last_bit() -> None:
    random, normal = Random(2), NormalDist()
    shares = [2.0**-54, 0.075, 0.5, 0.925, 1 - 2.0**-53, *(random.random() or 0.5 for _ in range(5000))]
    assert [normal_quantile(share) for share in shares] == [normal.inv_cdf(share) for share in shares]


@catalogue(
    ("switch", "person_ticks", "is_kept", "expected"),
    [
        ("", kernels.WORTH_LOADING - 1, True, False),
        ("", kernels.WORTH_LOADING, True, True),
        ("", kernels.WORTH_LOADING, False, False),
        ("", kernels.WORTH_COMPILING, False, True),
        ("0", 10**9, True, False),
        ("1", 1, False, True),
    ],
)
def test_small_runs_stay_in_plain_python(
    monkeypatch: pytest.MonkeyPatch, switch: str, person_ticks: int, is_kept: bool, expected: bool
) -> None:
    monkeypatch.setenv(kernels.SWITCH, switch)
    monkeypatch.setattr(kernels, "is_kept", lambda: is_kept)
    assert kernels.are_wanted(person_ticks) == expected


def test_a_directory_that_others_may_write_to_holds_no_machine_code_under_any_umask(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for umask in (0o002, 0o000, 0o077):
        cache = tmp_path / f"{umask:o}" / "cache"
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        before = os.umask(umask)
        try:
            place = kernels.directory()
        finally:
            os.umask(before)
        assert place is not None
        assert place.parent == cache / "prism"
        assert {stat.S_IMODE(each.stat().st_mode) for each in (place, place.parent)} == {0o700}
    assert place is not None
    place.parent.chmod(0o777)
    second = kernels.directory()
    assert second is not None
    assert tmp_path not in second.parents
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert kernels.directory() == second


def test_a_system_without_a_directory_for_temporary_files_has_one_for_machine_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_directory() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", no_directory)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert (place := kernels.directory()) is not None
    assert place.parent == tmp_path / "prism"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert kernels.directory() is None


def test_what_was_compiled_for_another_version_goes_a_month_after_its_last_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = kernels.directory()
    assert place is not None
    used, unused, foreign = (place.parent / name for name in ("kernels-0a", "kernels-0b", "notes"))
    for each in (used, unused, foreign, place):
        each.mkdir(mode=0o700, exist_ok=True)
        (each / "some.kernel").touch()
    month_ago = time.time() - kernels.UNUSED_S
    for each, last_use in ((place, 0), (used, month_ago + 60), (unused, month_ago - 60), (foreign, 0)):
        os.utime(each, (last_use, last_use))
    kernels.forget_unused(place)
    assert {each.name for each in place.parent.iterdir()} == {place.name, used.name, foreign.name}
    assert place.stat().st_mtime > month_ago + kernels.UNUSED_S - 60


def entered(within_s: float) -> threading.Event:
    """Start a thread that enters `kernels.kept`; return the event that it sets, after so many seconds at most."""
    inside = threading.Event()

    def enter() -> None:
        with kernels.kept():
            inside.set()

    threading.Thread(target=enter, daemon=True).start()
    inside.wait(within_s)
    return inside


def test_while_one_process_compiles_the_others_wait_and_then_load_but_for_ever_for_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with kernels.kept():
        assert not kernels.is_kept()
        other = entered(0.3)
        assert not other.is_set()
    assert other.wait(10)
    assert kernels.is_kept()
    with kernels.kept():
        assert entered(10).is_set()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "hangs"))
    monkeypatch.setattr(kernels, "WAIT_S", 0.2)
    with kernels.kept():
        assert entered(10).is_set()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_files_of_compiled_kernels_that_are_not_as_they_were_written_are_made_anew(
    tmp_path: Path, size: Callable[..., int]
) -> None:
    random, expected = Random(7), printed(python(["-c", BOTH, "compiled"], tmp_path, "0"))
    files = sorted(tmp_path.rglob("*.kernel"))
    assert len(files) == 4
    whole = {file: file.read_bytes() for file in files}
    for _ in range(size(40, everyday=3)):
        for file in files:
            content, way = bytearray(whole[file]), random.randrange(4)
            if way == 0:
                del content[random.randrange(len(content)) :]
            elif way == 1:
                content = bytearray(random.randbytes(random.randrange(200)))
            else:
                for _ in range(way):
                    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
            file.write_bytes(content)
        process = python(["-c", BOTH, "compiled"], tmp_path, "0")
        assert process.communicate(timeout=500) == (f"{expected}\n", "")
        assert all(sha256(content[32:]).digest() == content[:32] for content in (file.read_bytes() for file in files))


NOT_KEPT = """
import logging, os, resource, signal, sys
logging.basicConfig(format="%(message)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_compiled_kernels_that_cannot_be_kept_end_nothing_and_one_line_says_where_and_why(tmp_path: Path) -> None:
    expected = printed(python(["-c", BOTH, "compiled"], tmp_path / "kept", "0"))
    (tmp_path / "file").write_text("not a directory")
    for way, cache, problem in (
        ("full", tmp_path / "full", f"not kept in {tmp_path / 'full' / 'prism'}"),
        ("nowhere", tmp_path / "file", "kept nowhere"),
    ):
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "TMPDIR": str(tmp_path / "kept")}
        (tmp_path / "kept" / f"prism-{os.getuid()}").write_text("in the way") if way == "nowhere" else None
        words = [sys.executable, "-c", NOT_KEPT + BOTH, "compiled", way]
        ended = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=True
        )
        assert ended.stdout.strip() == expected
        (line,) = ended.stderr.splitlines()
        assert problem in line
        assert ("File too large" if way == "full" else "File exists") in line


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_has_one_digest_compiled_anew_kept_by_two_at_once_and_plain(tmp_path: Path) -> None:
    def run(name: str, switch: str, *more: str) -> subprocess.Popen[str]:
        return python([*RUN, *SMALL, *more, "--out", str(tmp_path / name)], tmp_path / "cache", switch)

    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.kernel")}

    expected = printed(run("plain", "0"))
    assert not (tmp_path / "cache").exists()
    assert [printed(each) for each in [run("one", "1"), run("two", "1")]] == [expected, expected]
    kept = written()
    assert kept
    assert printed(run("again", "1")) == expected
    assert printed(run("resident", "1", "--set", "run.activation=resident")) == expected
    assert written() == kept


IN_ONE_PROCESS = """
import json, os
from tests.actors.runtime.test_compiled import outcome, random_settings
SEEDS = [8, 10]
def digests():
    return [outcome(random_settings(seed), seed, "compiled")[0] for seed in SEEDS]
os.environ["PRISM_JIT"] = "0"
plain = digests()
os.environ["PRISM_JIT"] = "1"
from prism import kernels
before = kernels.are_compiled()
print(json.dumps([before, plain, digests(), kernels.are_compiled()]))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_kernel_reads_beyond_its_arrays_and_a_process_may_compile_after_plain_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRISM_BOUNDS", "1")  # an index beyond an array is an error then
    before, plain, compiled, after = json.loads(printed(python(["-c", IN_ONE_PROCESS], tmp_path, "0")).splitlines()[-1])
    assert (before, after) == (False, True)
    assert compiled == plain
