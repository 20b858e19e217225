"""Every file of a run, damaged in every way: `prism verify` finds it, or `prism resume` mends it; neither breaks."""

import os
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from actors.store.journal import JOURNAL
from actors.store.manifest import MANIFEST, SUMMARY
from actors.store.rounds import ROUNDS
from tests.command import Ended, Prism, prism_alone
from tests.durability.conftest import LIVE, TINY
from tests.standin import ModelServer
from tests.tiers import Size

ECONOMY = """
simulation: {domain: economy, rounds: 9, ticks_per_round: 2, seed: 5}
run: {checkpoint_every_ticks: 3, sync: false}
"""
TAPED = "oracle: {backend: ollama, max_concurrency: 8, tape: record}"
MENDED = {"rounds.csv", "summary.json", "manifest.json", "config.yaml", "run.lock"}
"""The files that a resume writes again, whatever is in them, if it begins at all; and so it does with checkpoints."""

DAMAGES = ("flip", "cut", "append", "zero", "change_digit", "remove", "empty", "make_a_directory", "make_a_pipe")


def damage(path: Path, how: str, random: Random) -> None:
    """Damage a file. Without content, or a digit to be changed, it is an IndexError."""
    data = bytearray(path.read_bytes())
    place = random.randrange(len(data)) if data else 0
    match how:
        case "flip":
            data[place] ^= 1 << random.randrange(8)
        case "cut":
            del data[place:]
        case "append":
            data += random.randbytes(random.randrange(1, 60))
        case "zero":
            end = min(len(data), place + random.randrange(1, 600))
            data[place:end] = bytes(end - place)
        case "change_digit":
            places = [place for place, byte in enumerate(data) if chr(byte).isdecimal()]
            data[random.choice(places)] = ord(random.choice("0123456789"))
        case "empty":
            data.clear()
        case _:
            path.unlink()
            if how == "make_a_directory":
                path.mkdir()
            elif how == "make_a_pipe":
                os.mkfifo(path)
            return
    path.write_bytes(data)


class Undisturbed(NamedTuple):
    """A run, and the digest and the journal that it has when it is done."""

    path: Path
    digest: str
    journal: bytes

    def has_damage(self, copy: Path, name: str) -> bool:
        return not (copy / name).is_file() or (copy / name).read_bytes() != (self.path / name).read_bytes()


def ended_run(place: Path, config: str) -> Undisturbed:
    (place / "c.yaml").write_text(config)
    ended = prism_alone("run", str(place / "c.yaml"), "--out", str(place / "run"), "--quiet")
    assert ended.code == 0, ended.err
    return Undisturbed(place / "run", ended.out.strip(), (place / "run" / JOURNAL).read_bytes())


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> dict[str, Undisturbed]:
    """Return `{name: a run}`: of both domains, and of a live model, with its tape."""
    place = {name: tmp_path_factory.mktemp(name) for name in ("social", "economy", "live")}
    live = LIVE.format(host=server.url).replace("oracle: {backend: ollama, max_concurrency: 8}", TAPED)
    return {
        "social": ended_run(place["social"], TINY),
        "economy": ended_run(place["economy"], ECONOMY),
        "live": ended_run(place["live"], TINY + live),
    }


def checked(ended: Ended, codes: set[int]) -> Ended:
    """Return the end of a command that did not break: every line on standard error is one of PRISM's."""
    assert "Traceback" not in ended.out + ended.err
    assert ended.code in codes, ended
    assert all(line.startswith("prism: ") for line in ended.err.splitlines()), ended.err
    return ended


def damaged_copy(run: Undisturbed, random: Random, number: int) -> tuple[str, str]:
    """Make a damaged copy of a run in `run`, and return the file and the damage: every file and damage in turn."""
    names = sorted(path.name for path in run.path.iterdir() if path.is_file())
    checkpoints = [name for name in names if name.startswith("checkpoint-")]
    names = [name for name in names if name not in checkpoints[1:-1]]  # the oldest and the latest stand for all
    while True:
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree(run.path, "run")
        name, how = names[number % len(names)], random.choice(DAMAGES)
        with suppress(IndexError):
            damage(Path("run", name), how, random)
        if run.has_damage(Path("run"), name):
            return name, how


def trial(run: Undisturbed, name: str, prism: Prism) -> str:
    """Verify and resume a damaged copy, and return what became of the damage.

    It raises an AssertionError if nobody has noticed it, or a command broke.
    """
    found = checked(prism("verify", "run"), {0, 1, 2})
    if name == "log.jsonl" and found.code == 0:
        assert "run/log.jsonl: not checked: " in found.out or not Path("run", name).exists()
        assert checked(prism("resume", "run", "--quiet"), {0}).out.strip() == run.digest
        return "no result"
    resumed = checked(prism("resume", "run", "--quiet"), {0, 1, 2, 3, 5})
    again = checked(prism("verify", "run"), {0, 1, 2})
    is_cache = name in MENDED or name.startswith("checkpoint-")
    if found.code == 0:
        assert resumed.code == 0, resumed
        assert name == "run.lock" or not run.has_damage(Path("run"), name), found.out
    if resumed.code == 0 and is_cache and Path("run", JOURNAL).read_bytes() == run.journal:
        assert resumed.out.strip() == run.digest
        if again.code and name == MANIFEST:  # a resume keeps what the manifest says of other files
            assert found.code
            return "found"
        assert again.code == 0, again.out
        return "mended"
    assert found.code != 0 or again.code == 0
    return "found"


@pytest.mark.everyday(1)
@pytest.mark.parametrize("kind", ["social", "economy", "live"])
def test_damage_to_any_file_is_found_or_mended(
    kind: str, undisturbed: dict[str, Undisturbed], tmp_path: Path, prism: Prism, size: Size
) -> None:
    random, outcomes = Random(20), Counter[str]()
    for number in range(size(25, everyday=3)):
        name, how = damaged_copy(undisturbed[kind], random, number)
        try:
            outcomes[trial(undisturbed[kind], name, prism)] += 1
        except AssertionError as error:
            raise AssertionError(f"trial {number}: {how} of {name}: {error}") from error
    assert outcomes["found"]
    assert outcomes["mended"]


@pytest.mark.parametrize("kind", ["social", "economy"])
def test_each_digit_of_the_rows_and_of_the_summary_counts(
    kind: str, undisturbed: dict[str, Undisturbed], tmp_path: Path, prism: Prism, size: Size
) -> None:
    """A digit for another leaves a file that can be read."""
    random, run = Random(21), undisturbed[kind]
    shutil.copytree(run.path, "run")
    for name in (ROUNDS, SUMMARY):
        for _ in range(size(20, everyday=2)):
            damage(Path("run", name), "change_digit", random)
            if run.has_damage(Path("run"), name):
                ended = checked(prism("verify", "run"), {1})
                assert f"run/{name}: BAD: " in ended.out
            shutil.copy(run.path / name, Path("run", name))
