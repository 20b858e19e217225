"""One trial: a run that crashes, once or more, is resumed each time, and is judged at its end."""

from random import Random
from struct import unpack_from
from zlib import crc32

import msgspec

from actors.core.errors import DamagedError, JournalError, RunDirectoryError
from actors.core.frames import encode_frame
from actors.runs.replay import AbsentOracle
from actors.runs.verify import verify_files
from actors.store.journal import JOURNAL, Header, create_journal
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from actors.store.segments import read_segment, start_of
from tests.crash.disk import Crash, CrashedError, Cut, DiskFault, SimulatedDisk
from tests.crash.scenes import FickleOracle, Name, Scene

MAGIC_BYTES = 8
GOLDEN = (5**0.5 - 1) / 2
"""The golden ratio: the fractional parts of its multiples are spread evenly from 0 to 1, for any number of them."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The early end of a process: a crash and its effect on what was not on the medium; or a disk that fails."""

    crash: Crash | None = None
    fault: DiskFault | None = None
    cut: Cut = Cut.KILLED


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one run."""

    faults: tuple[Fault, ...]  # one for each process; the last process ends well
    seed: int  # of schedules, answers and surviving bytes


def records(content: bytes) -> list[bytes]:
    """Return the whole frames after a file's first eight bytes. Written independently of the product's reader."""
    found, at = [], MAGIC_BYTES
    while len(content) - at >= 40:
        length, crc = unpack_from("<II", content, at)
        frame = content[at : at + 40 + length]
        if len(frame) < 40 + length or crc32(frame[:4] + frame[8:]) != crc:
            break
        found.append(frame)
        at += len(frame)
    return found


def journal_records(files: dict[str, bytes]) -> list[bytes]:
    """Return the whole frames of a journal, sealed or not; that of the header without what it says of segments."""
    found = records(files.get(JOURNAL, b""))
    if not found:
        return []
    header = msgspec.msgpack.decode(found[0][40:])
    sealed = header.pop("sealed", {"start": 0})
    of_segments = []
    for name in sorted(files):
        if 0 <= start_of(name) < sealed["start"]:
            frames = read_segment(SimulatedDisk(files), name)[1]
            of_segments += [encode_frame(frame.link, frame.payload) for frame in frames]
    return [msgspec.msgpack.encode(header, order="deterministic"), *of_segments, *found[1:]]


def names_of(log: list[bytes]) -> set[Name]:
    decided = [msgspec.msgpack.decode(record[40:]) for record in log]
    return {(agent, asked, trigger) for _, asked, agent, trigger, *_ in decided}


class CrashTrial:
    """A scene under a trial."""

    def __init__(self, scene: Scene, trial: Trial) -> None:
        self.scene = scene
        self.trial = trial
        self.disk = SimulatedDisk(seed=trial.seed)
        self.crashes = 0  # the number of faults that came before the run had ended by itself
        self.complaints: list[str] = []  # the run's messages about a disk that fails
        self._kept: dict[str, list[bytes]] = {JOURNAL: [], ANSWERS: []}
        """`{file: frames, in order}` that no crash so far can have removed."""
        self._on_medium: dict[str, list[bytes]] = {JOURNAL: [], ANSWERS: []}
        """The frames among them that no later crash can remove."""
        self._given: set[bytes] = set()  # every record that was ever written to the oracle's log

    def run(self) -> SimulatedDisk:
        """Return the disk after the last process.

        If something was lost, invented, asked twice, or is not the same, it is an AssertionError; if a process could
        not begin or resume the run, a PrismError.
        """
        for number, fault in enumerate(self.trial.faults):
            self.disk.crash, self.disk.fault = fault.crash, fault.fault
            self.crashes += not self._run_process(number)
            self._note(is_cut=fault.cut != Cut.KILLED)
            self.disk = self.disk.surviving(fault.cut, self.trial.seed + number)
        self._expect(self._run_process(len(self.trial.faults)), "the last process ends well")
        self._note(is_cut=False)
        self._judge()
        return self.disk

    def _run_process(self, number: int) -> bool:
        """Run one process, and return whether the run came to its end."""
        known = names_of(records(self.disk.visible(ANSWERS)))
        process = 7919 * self.trial.seed + number  # even and odd ones take turns
        oracle = FickleOracle(process) if self.scene.is_live else None
        try:
            self.scene.run(self.disk, process=process, oracle=oracle)
        except CrashedError:
            ended = False
        except (JournalError, RunDirectoryError) as error:
            if self.disk.fault is None or isinstance(error, DamagedError):
                raise
            self.complaints.append(str(error))
            ended = False
        else:
            ended = True
            for name in (*self._journal_files(self.disk), ANSWERS, ROUNDS):
                on_medium = self.disk.durable(name)
                self._expect(on_medium == self.disk.visible(name), f"{name} is on the medium when a run has ended")
        twice = known.intersection(oracle.asked if oracle is not None else ())
        self._expect(not twice, f"no answer in the log is asked for again, but {sorted(twice)}")
        return ended

    def _note(self, *, is_cut: bool) -> None:
        """Compare with what had to last until now, and store what has to last from now on.

        `is_cut`: whether all that is not on the medium is in danger.
        """
        self._given.update(records(self.disk.visible(ANSWERS)))
        for name in (JOURNAL, ANSWERS):
            visible, durable = (_records(files, name) for files in (self.disk.files, self.disk.durable_files()))
            for frames, before in ((visible, self._kept[name]), (durable, self._on_medium[name])):
                self._expect(frames[: len(before)] == before, f"no frame of {name} changes")
            self._kept[name], self._on_medium[name] = durable if is_cut else visible, durable

    def _judge(self) -> None:
        journal, log, rounds = (self.disk.visible(name) for name in (JOURNAL, ANSWERS, ROUNDS))
        for name, content in ((JOURNAL, journal), (ANSWERS, log)):
            whole = MAGIC_BYTES + sum(map(len, records(content)))
            self._expect(whole == len(content), f"every byte of {name} belongs to a whole frame")
        bad = [finding for finding in verify_files(self.disk).findings if not finding.is_good]
        self._expect(not bad, f"`prism verify` finds no fault, but {bad}")
        self._expect(self._given.issuperset(records(log)), "the oracle's log holds nothing but what was answered")
        if self.scene.is_real_time:
            self.scene.replay(self.disk)  # who was late is known from the journal alone, so that it is not made anew
            return
        again = self._again(journal, log) if self.scene.is_live else self.scene.whole
        names = self._journal_files(self.disk)
        self._expect(names == self._journal_files(again), "the segments are those of an undisturbed run")
        is_same = all(self.disk.visible(name) == again.visible(name) for name in names)
        self._expect(is_same, "the journal is that of an undisturbed run")
        self._expect(rounds == again.visible(ROUNDS), f"{ROUNDS} is that of an undisturbed run")

    def _again(self, journal: bytes, log: bytes) -> SimulatedDisk:
        """Return the disk of the run done again from its header and the oracle's log alone."""
        disk = SimulatedDisk()
        header = msgspec.msgpack.decode(records(journal)[0][40:], type=Header)
        create_journal(disk, header)
        disk.append(ANSWERS, log)
        self.scene.run(disk, oracle=AbsentOracle(may_be_late=False))
        return disk

    @staticmethod
    def _journal_files(disk: SimulatedDisk) -> list[str]:
        return [name for name in disk.visible_names() if name == JOURNAL or start_of(name) >= 0]

    def _expect(self, is_so: bool, promise: str) -> None:
        assert is_so, f"broken: {promise}: {self.trial}"


def _records(files: dict[str, bytes], name: str) -> list[bytes]:
    return journal_records(files) if name == JOURNAL else records(files.get(name, b""))


def trials(scene: Scene, count: int, *, faults: int, first_seed: int = 0) -> list[Trial]:
    """Return trials that together crash everywhere in an undisturbed run, on a fast and a slow disk, in every way.

    `faults`: crashes in each run: the first anywhere, each further one during the recovery or soon after it.
    """
    made = []
    for seed in range(first_seed, first_seed + count):
        random = Random(seed)
        changes = scene.changes[seed % 2]
        places = [1 + int(changes * (seed * GOLDEN % 1.0)), *(random.randint(1, 30) for _ in range(1, faults))]
        crashes = [Crash(at=at, share=random.choice([0.0, random.random(), 1.0])) for at in places]
        made.append(Trial(faults=tuple(Fault(crash=crash, cut=random.choice([*Cut])) for crash in crashes), seed=seed))
    return made
