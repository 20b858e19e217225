"""`prism replay`: whether a run, done again, comes out as its journal says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, TickFrame, read_header, read_ticks
from actors.record.manifest import SUMMARY
from tests.command import Prism

Answer = list[Any]
TO_STATE, SOURCE = 5, 6
"""Places in an update, behind its tag."""


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Here a task may read files: nothing else is under way that it could hold up."""


@pytest.fixture
def whole(small_run: Path, tmp_path: Path) -> Path:
    """A run of 72 ticks."""
    return shutil.copytree(small_run, tmp_path / "whole")


def forge(run: Path, change: Callable[[int, list[Answer]], None]) -> None:
    """Rewrite every tick's answers, and everything that a forger has to make right again: CRCs, links, checkpoints."""
    disk = RealDisk(run)
    _, end = read_header(disk)
    made, link = [disk.read(JOURNAL, 0, end)], ORIGIN
    for frame in read_ticks(disk, end):
        assert isinstance(frame, TickFrame)
        tick, answers = msgspec.msgpack.decode(frame.payload)
        change(tick, answers)
        payload = msgspec.msgpack.encode([tick, answers])
        payload = frame.payload if msgspec.msgpack.decode(frame.payload) == [tick, answers] else payload
        link = link_of(link, payload)
        made.append(encode_frame(link, payload))
    (run / JOURNAL).write_bytes(b"".join(made))
    for path in run.glob("checkpoint-*"):
        path.unlink()


def test_a_run_replays_to_its_own_digest_and_writes_nothing(whole: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    digest = json.loads((whole / SUMMARY).read_text())["digest"]
    ended = prism("replay", "whole")
    assert (ended.code, ended.out) == (0, f"whole: 72 ticks replayed, every one as recorded; digest {digest}\n")
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a_flipped_decision_is_named_by_tick_agent_and_field(quiet: tuple[str, ...], whole: Path, prism: Prism) -> None:
    forged: list[Any] = []

    def flip(tick: int, answers: list[Answer]) -> None:
        for answer in answers:
            if not forged and tick >= 20 and "oracle" in answer:
                place = len(answer) - 1 - answer[::-1].index("oracle")
                forged.extend((tick, answer[2], answer[place - 1]))
                answer[place - 1] = "composing" if answer[place - 1] != "composing" else "scrolling"
                forged.append(answer[place - 1])

    forge(whole, flip)
    tick, agent, was, is_now = forged
    ended = prism("replay", "whole", *quiet)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1] == (
        f"prism: tick {tick} came out differently than in the journal: "
        f"agent {agent}: to_state is {is_now!r} in the journal and {was!r} in the new run"
    )
    assert prism("replay", "whole", "-q", "--ticks", str(tick)).code == 0, "up to there all is well"


def test_an_answer_left_out_is_named(whole: Path, prism: Prism) -> None:
    def leave_out(tick: int, answers: list[Answer]) -> None:
        if tick == 25:
            answers.pop()

    forge(whole, leave_out)
    ended = prism("replay", "whole", "-q")
    assert ended.code == 1
    told = "prism: tick 25 came out differently than in the journal: the journal has nothing more, the new run "
    assert ended.err.startswith(told)


def test_a_replay_with_other_settings_says_so_instead_of_a_difference(prism: Prism, tmp_path: Path) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "o").code == 0
    config = tmp_path / "o" / "config.yaml"
    config.write_text(config.read_text().replace("algorithm: interest", "algorithm: hot"))
    ended = prism("replay", "o")
    assert ended.code == 2
    assert 'feed.algorithm is "hot", was "interest" when the run began' in ended.err
