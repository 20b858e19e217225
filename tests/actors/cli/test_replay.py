"""`prism replay`: whether a run, done again, comes out as its journal says."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, TickFrame, read_tail, read_ticks
from actors.store.manifest import SUMMARY
from actors.store.record import Record
from prism.agents.waves import Kind
from prism.events import KINDS
from prism.rows import Part, TickRows, columns_of, read_rows
from tests.command import Prism

Done = tuple[int, Kind]
"""An update: its agent and its kind."""


@pytest.fixture
def whole(small_run: Path, tmp_path: Path) -> Path:
    """A run of 72 ticks."""
    return shutil.copytree(small_run, tmp_path / "whole")


def forge(run: Path, change: Callable[[int, list[Done]], None]) -> None:
    """Rewrite every tick's updates, and everything that a forger has to make right again: CRCs, links, checkpoints."""
    disk, record = RealDisk(run), Record(run)
    all(record.blocks(wanted={}))  # the kinds are known after that
    made, link = [disk.read(JOURNAL, 0, read_tail(disk).at)], ORIGIN
    for frame in read_ticks(disk):
        assert isinstance(frame, TickFrame)
        payload, (_, known, tables) = frame.payload, read_rows(frame.payload, record.shapes)
        if "updates" in tables:
            waves, (agents, codes) = tables["updates"]
            updates = [(agent, record.kinds[code]) for agent, code in zip(agents.tolist(), codes, strict=True)]
            change(frame.tick, changed := [*updates])
            if changed != updates:
                new = record.kinds[known : known + len(tables["kinds"].columns[0])] if "kinds" in tables else []
                new += [kind for _, kind in changed if kind not in record.kinds[: known + len(new)]]
                kinds, left = [*record.kinds[:known], *new], waves[-1] + len(changed) - len(updates)
                numbers = [kinds.index(kind) for _, kind in changed]
                tables["kinds"] = Part((len(new),), (*columns_of(KINDS, new),))
                tables["updates"] = Part(
                    (*waves[:-1], left), (np.array([each for each, _ in changed]), np.array(numbers))
                )
                rows = TickRows(record.shapes)
                for wave in range(max(len(part.waves) for part in tables.values())):
                    for table, part in tables.items():
                        rows.add(table, *part.of_wave(wave))
                    rows.end_wave()
                payload = rows.take(frame.tick, known)
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


def test_a_flipped_decision_and_an_answer_left_out_are_named(whole: Path, small_run: Path, prism: Prism) -> None:
    forged: list[Any] = []

    def flip(tick: int, updates: list[Done]) -> None:
        for place, (agent, kind) in enumerate(updates):
            if not forged and tick >= 20 and kind.source == "oracle":
                other = "composing" if kind.to_state != "composing" else "scrolling"
                forged.extend((tick, agent, kind.to_state, other))
                updates[place] = agent, kind._replace(to_state=other)

    forge(whole, flip)
    tick, agent, was, is_now = forged
    ended = prism("replay", "whole")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1] == (
        f"prism: tick {tick} came out differently than in the journal: "
        f"agent {agent}: to_state is {is_now!r} in the journal and {was!r} in the new run"
    )
    assert prism("replay", "whole", "-q", "--ticks", str(tick)).code == 0, "up to there all is well"

    def leave_out(tick: int, updates: list[Done]) -> None:
        if tick == 25:
            forged[:] = updates.pop()

    forge(Path(shutil.copytree(small_run, "other")), leave_out)
    ended = prism("replay", "other", "-q")
    assert ended.code == 1
    assert ended.err.startswith("prism: tick 25 came out differently than in the journal: the journal has ")
    assert ended.err.endswith(f"the new run Update of agent {forged[0]} to {forged[1].trigger!r}\n")


def test_a_replay_with_other_settings_says_so_instead_of_a_difference(whole: Path, prism: Prism) -> None:
    config = whole / "config.yaml"
    config.write_text(config.read_text().replace("algorithm: interest", "algorithm: hot"))
    ended = prism("replay", "whole")
    assert ended.code == 2
    assert 'feed.algorithm is "hot", was "interest" when the run began' in ended.err
