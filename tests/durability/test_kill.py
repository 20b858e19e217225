"""Real processes that are killed with SIGKILL, and what the next one makes of it."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import monotonic

import msgspec
import pytest

from actors.store.journal import JOURNAL
from actors.store.lock import LOCK
from actors.store.manifest import CONFIG, MANIFEST
from actors.store.oracle_log import ANSWERS
from tests.command import Prism, begin, end
from tests.crash.trial import journal_records, names_of, records
from tests.durability.conftest import TINY
from tests.durability.process_runs import KillableRun, differences
from tests.patience import wait_until
from tests.plain import plain_text
from tests.standin import Latency, ModelServer, ServerSettings
from tests.tiers import Size

SMALL = plain_text("""
simulation: {rounds: 20, ticks_per_round: 24, seed: 5}
population: {size: 200, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 8, segment_mb: 0.1}
""")
"""A run of about a second, half of it start-up, with a checkpoint every 15 ms, and its ticks sealed now and then."""

GOES_ON = 0.85  # the probability that a resumed run is killed again


def killed(run: KillableRun, random: Random, longest_s: float, most: int) -> Iterator[int]:
    """Kill a run at random moments, at most so often, and yield the number of kills after each."""
    kills = 0
    while kills < most and (not kills or random.random() < GOES_ON) and run.run_and_kill(random, longest_s):
        kills += 1
        yield kills
    run.finish()


@pytest.mark.slow
def test_runs_killed_again_and_again_end_as_one_that_was_left_alone(tmp_path: Path, size: Size) -> None:
    """Journal and rounds are the same byte by byte, and the summary except for values from a clock."""
    config, random, left, most = tmp_path / "small.yaml", Random(3), size(100, everyday=3), 0
    config.write_text(SMALL)
    begun = monotonic()
    KillableRun(config, tmp_path / "reference").finish()
    longest_s = 1.1 * (monotonic() - begun)
    while left:
        kills = max(killed(KillableRun(config, tmp_path / "run"), random, longest_s, left), default=0)
        assert differences(tmp_path / "run", tmp_path / "reference") == []
        shutil.rmtree(tmp_path / "run")
        left, most = left - kills, max(most, kills)
    assert most > 1, "a resumed run was killed, too"


LIVE = """
simulation: {{rounds: 3, ticks_per_round: 24, seed: 5}}
population: {{size: 100, ambiguity: 0.3, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama, max_concurrency: 8}}
llm: {{host: "{host}", systemone: "off", timeout_s: 120.0}}
run: {{checkpoint_every_ticks: 4}}
"""
"""A hundred undecided people."""


@pytest.mark.slow
def test_runs_with_a_live_oracle_killed_four_times_lose_nothing_and_ask_nothing_twice(tmp_path: Path) -> None:
    """A server answers over real sockets, differently every time and after random times."""
    config, run, random, left = tmp_path / "live.yaml", tmp_path / "run", Random(2), 4

    def reseed() -> None:
        """Give the server other latencies from now on."""
        latency = Latency(mean_s=0.01, p99_s=0.05, seed=random.randrange(2**31))
        server.settings = msgspec.structs.replace(server.settings, latency=latency)

    def lasting(before: tuple[list[bytes], list[bytes]]) -> tuple[list[bytes], list[bytes]]:
        """Return the ticks and answers on the disk, which begin with those that were there before."""
        files = {path.name: path.read_bytes() for path in run.glob("*") if path.is_file()}
        now = journal_records(files), records(files.get(ANSWERS, b""))
        assert all(after[: len(was)] == was for was, after in zip(before, now, strict=True))
        assert len(names_of(now[1])) == len(now[1]), "a question has two answers"
        return now

    with ModelServer(ServerSettings(slots=8, live=True)) as server:
        config.write_text(plain_text(LIVE.format(host=server.url)))
        reseed()
        begun = monotonic()
        KillableRun(config, tmp_path / "reference").finish()
        longest_s = 1.1 * (monotonic() - begun)
        while left:
            before: tuple[list[bytes], list[bytes]] = [], []
            for _ in killed(KillableRun(config, run), random, longest_s, left):
                left -= 1
                reseed()
                before = lasting(before)
            lasting(before)
            end(begin("replay", str(run), "--quiet"))
            shutil.rmtree(run)


UNSTARTED_FILES = [
    (LOCK, f".{CONFIG}.tmp"),
    (LOCK, CONFIG, MANIFEST),
    (LOCK, CONFIG, MANIFEST, ANSWERS),
    (LOCK, CONFIG, MANIFEST, ANSWERS, f".{JOURNAL}.tmp"),
]
"""What is there, stage by stage, when a run is killed before its journal is."""


def test_what_was_killed_before_its_journal_was_there_is_begun_again_in_its_place(
    embedded: Path, prism: Prism, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY.replace("tick_s: 0.01", "tick_s: 0"))
    whole = prism("run", "tiny.yaml", "--quiet", "--out", "beside")
    for number, names in enumerate(UNSTARTED_FILES):
        unborn = tmp_path / f"unborn{number}"
        unborn.mkdir()
        for name in names:
            content = (embedded / name.removeprefix(".").removesuffix(".tmp")).read_bytes()
            (unborn / name).write_bytes(content[: 5 if name.startswith(".") else None])
        refused = prism("resume", unborn.name)
        assert refused.code == 2
        assert refused.err.startswith(f"prism: {unborn.name}: ")
        assert refused.err.count("\n") == 1
        begun = prism("run", "tiny.yaml", "--quiet", "--out", unborn.name)
        assert (begun.code, begun.err, begun.out) == (0, "", whole.out)
        assert differences(unborn, tmp_path / "beside") == []
        assert not list(unborn.glob(".*.tmp"))


def test_what_somebody_else_put_beside_the_leftovers_is_in_the_way(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "mine").mkdir()
    for name in (LOCK, CONFIG, "thesis.txt"):
        (tmp_path / "mine" / name).write_text("mine")
    ended = prism("run", "tiny.yaml", "--quiet", "--out", "mine")
    assert (ended.code, ended.err) == (2, "prism: mine: is not empty; a run needs a directory of its own\n")
    assert {path.read_text() for path in (tmp_path / "mine").iterdir()} == {"mine"}


def test_paid_answers_are_in_the_way_though_the_journal_is_gone(live: Path, prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    for path in live.iterdir():
        if path.is_file() and path.name not in UNSTARTED_FILES[-2]:
            path.unlink()
    before = (live / ANSWERS).read_bytes()
    resumed = prism("resume", "run")
    assert (resumed.code, resumed.err) == (
        2,
        "prism: run/journal.prism: is missing; without it the run cannot be resumed\n",
    )
    assert prism("run", "tiny.yaml", "--out", "run").code == 2
    assert (live / ANSWERS).read_bytes() == before


def test_a_second_process_is_refused_by_number_and_a_dead_one_is_not_in_the_way(tmp_path: Path, prism: Prism) -> None:
    (tmp_path / "slow.yaml").write_text(TINY.replace("tick_s: 0.01", "tick_s: 0.1"))
    first = begin("run", str(tmp_path / "slow.yaml"), "--quiet", "--out", str(tmp_path / "run"))
    try:
        wait_until((tmp_path / "run" / JOURNAL).exists)
        second = prism("resume", "run")
        assert second.code == 2
        assert second.err.startswith(f"prism: run: is in use by process {first.pid} on ")
        assert second.err.endswith("; one process at a time may work on a run\n")
        assert f"process {first.pid} on " in prism("runs", "run").out
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    assert (tmp_path / "run" / LOCK).read_text().startswith(f"process {first.pid} on ")
    listed = prism("runs", "run").out
    assert "crashed" in listed
    assert "process" not in listed
    assert prism("resume", "run", "--quiet", "--set", "run.tick_s=0", "--accept-settings").code == 0


def test_a_fork_killed_while_it_is_made_is_no_run(embedded: Path, prism: Prism, tmp_path: Path) -> None:
    assert prism("fork", "run", "--at", "20", "--prepare", "--out", "fork").code == 0
    (tmp_path / "fork" / MANIFEST).unlink()  # what is written last
    ended = prism("resume", "fork")
    assert (ended.code, ended.err) == (2, "prism: fork: is no run's directory: it has no manifest.json\n")
    shutil.rmtree(tmp_path / "fork")
