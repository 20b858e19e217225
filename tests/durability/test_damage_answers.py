"""Every byte of an oracle's answers cut off or flipped: no committed tick becomes another."""

from __future__ import annotations

from pathlib import Path

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import Frame
from actors.persistence.checkpoint import checkpoint_names, read_checkpoint
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL
from actors.persistence.oracle_log import ANSWERS
from actors.persistence.oracle_log import MAGIC as ANSWERS_MAGIC
from tests.actors.persistence.files import frames_in
from tests.catalogue import catalogue
from tests.command import Prism
from tests.durability.crashed import Crashed
from tests.durability.damage import DAMAGES, SOME, Damage, cut, outcomes, resumed
from tests.standin import ModelServer
from tests.tiers import Size


@DAMAGES
@catalogue("has_checkpoints", [True, False])
def test_answers_damaged_at_any_byte_are_refused_by_name_and_byte_or_cut_back_to_whole_ones(
    has_checkpoints: bool, damage: Damage, crashed_live: Crashed, size: Size
) -> None:
    good, kept, refused = crashed_live.read(ANSWERS), set(), 0
    every = size(1, everyday=SOME)
    frames = list(frames_in(good[len(ANSWERS_MAGIC) :], len(ANSWERS_MAGIC)))
    starts = {len(ANSWERS_MAGIC), *(frame.end for frame in frames if isinstance(frame, Frame))} - {len(good)}
    assert len(starts) > 3
    disk = RealDisk(crashed_live.path)
    checkpoints = checkpoint_names(disk)
    without = () if has_checkpoints else checkpoints
    for byte, found in outcomes(crashed_live, ANSWERS, damage, every, without):
        if isinstance(found, JournalError):
            assert isinstance(found, DamagedError)
            assert found.file == ANSWERS
            assert found.offset <= byte
            refused += 1
        else:
            assert len(found.answers) <= byte
            assert good.startswith(found.answers)
            assert found.journal == crashed_live.read(JOURNAL)
            kept.add(len(found.answers))
    assert refused * every >= len(ANSWERS_MAGIC)
    if damage is cut or not has_checkpoints:
        assert kept == starts, "cut back to the last whole answer, wherever it was damaged"
    else:
        # A checkpoint knows what had been there. A live run may have got more answers after its last one.
        durable = max(read_checkpoint(disk, name).position.answers_end for name in checkpoints)
        assert refused == len(range(0, durable, every))
        assert kept == {start for start in starts if start >= durable}


@DAMAGES
@catalogue("share", [0.5, 0.95])
def test_after_damage_to_the_answers_of_a_live_oracle_no_committed_tick_is_another(
    share: float, damage: Damage, crashed_live: Crashed, live: Path, prism: Prism, server: ModelServer
) -> None:
    good = crashed_live.read(ANSWERS)
    (live / ANSWERS).write_bytes(damage(good, int(len(good) * share)))
    ended = resumed(prism)
    assert (live / JOURNAL).read_bytes().startswith(crashed_live.read(JOURNAL))
    if ended.code:
        assert ended.code == 1
        assert ended.err.splitlines()[-1].startswith(f"prism: {ANSWERS}: ")
        return
    replayed = prism("replay", "run", "--quiet")
    if replayed.code:
        assert replayed.err.startswith(f"prism: {ANSWERS}: has no answer to agent ")
        assert f"prism: {ANSWERS}: is shorter than it was at a checkpoint" in ended.err
    else:
        assert replayed.out == ended.out


def test_a_live_run_whose_answers_are_gone_says_which_answer_it_misses(
    live: Path, prism: Prism, server: ModelServer
) -> None:
    (live / ANSWERS).unlink()
    for name in checkpoint_names(RealDisk(live)):
        (live / name).unlink()
    ended = resumed(prism)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(f"prism: {ANSWERS}: has no answer to agent ")
    assert ended.err.endswith("; a part of it is lost\n")
