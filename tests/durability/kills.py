"""A run killed with SIGKILL at random moments, resumed, and killed again: its end must be that of an undisturbed run.

With the embedded oracle, journal.prism and rounds.csv must be byte by byte those of an undisturbed run, and
summary.json the same except for values from a clock. With a live oracle a server answers over real sockets, differently
every time and after random times: no committed tick may change, no answer that had been logged may be asked for again,
and `prism replay` must agree with the final journal.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter

import msgspec

from tests.durability.live_oracle import LIVE, LiveWitness
from tests.durability.process_runs import KillableRun, Moment, differences, prism
from tests.durability.process_runs import ends as ended
from tests.plain import plain_text
from tests.standin import Latency, ModelServer, ServerSettings

SMALL = plain_text("""
simulation: {rounds: 20, ticks_per_round: 24, seed: 5}
population: {size: 200, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 8, segment_mb: 0.1}
""")
"""A run of about a second, half of it start-up, with a checkpoint every 15 ms, and its ticks sealed now and then."""

GOES_ON = 0.85
"""The probability that a resumed run is killed again."""


class KillCounts:
    """Counters of kills, which stop the killing when there are enough."""

    def __init__(self, kills: int) -> None:
        self.left = kills
        self.moments: Counter[Moment] = Counter()
        self.most = 0
        """The kills of the run that was killed most often."""

    def kill(self, killable: KillableRun, random: Random, longest_s: float, length: int) -> Iterator[Moment]:
        """Yield the moment of each kill of one run, until it may end."""
        killed = 0
        while self.left and (not killed or random.random() < GOES_ON):
            at = killable.run_and_kill(random, longest_s, length)
            if at is None:
                break
            self.moments[at] += 1
            self.left -= 1
            killed += 1
            yield at
        self.most = max(self.most, killed)


def embedded(config: Path, place: Path, counts: KillCounts, random: Random) -> list[str]:
    """Return the differences of the first run with the embedded oracle that ends differently after kills."""
    reference, run = place / "reference", place / "run"
    length, wall_s = _alone(config, reference)
    while counts.left:
        killable = KillableRun(config, run)
        for _ in counts.kill(killable, random, 1.1 * wall_s, length):
            pass
        killable.finish()
        if problems := differences(run, reference):
            return [f"{run}: {name} is not that of {reference}" for name in problems]
        shutil.rmtree(run)
    return []


def live(place: Path, counts: KillCounts, random: Random, rounds: int = 8) -> list[str]:
    """Return the faults of the first run with a live oracle that forgets, asks again or does not replay after kills."""
    run = place / "run"
    with ModelServer(ServerSettings(slots=8, live=True)) as server:
        config = place / "live.yaml"
        config.write_text(plain_text(LIVE.format(host=server.url, rounds=rounds)))
        length, wall_s = _alone(config, place / "reference", server)
        while counts.left:
            killable, witness = KillableRun(config, run), LiveWitness(run, server)
            for _ in counts.kill(killable, random, 1.1 * wall_s, length):
                _reseed(server, random)
                if problems := witness.faults():
                    return problems
            killable.finish()
            if problems := witness.faults():
                return problems
            ended(prism("replay", str(run), "--quiet"))
            shutil.rmtree(run)
    return []


def _alone(config: Path, run: Path, server: ModelServer | None = None) -> tuple[int, float]:
    """Return the ticks and seconds of an undisturbed run."""
    if server is not None:
        _reseed(server, Random(0))
    begun, killable = perf_counter(), KillableRun(config, run)
    killable.finish()
    return killable.ticks, perf_counter() - begun


def _reseed(server: ModelServer, random: Random) -> None:
    """Give the server other latencies from now on; its answers differ anyway."""
    latency = Latency(mean_s=0.01, p99_s=0.05, seed=random.randrange(2**31))
    server.settings = msgspec.structs.replace(server.settings, latency=latency)
