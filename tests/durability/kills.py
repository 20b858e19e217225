"""A run killed with SIGKILL at random moments, resumed, and killed again: its end must be that of an undisturbed run.

With the embedded oracle (default): journal.prism and rounds.csv must be byte by byte those of an undisturbed run, and
summary.json the same except for values from a clock. With `--live` a server answers over real sockets, differently
every time and after random times: no committed tick may change, no answer that had been logged may be asked for again,
and `prism replay` must agree with the final journal.

    python -m tests.durability.kills [--kills 300] [--config FILE] [--live] [--seed 1]

Prints how many processes were killed and at what; ends with 1 at the first run with a wrong end.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter

import msgspec

from tests.durability.live_oracle import LIVE, LiveWitness
from tests.durability.process_runs import KillableRun, Moment, differences, prism
from tests.durability.process_runs import ends as ended
from tests.standin import Latency, ModelServer, ServerSettings

SMALL = """
simulation: {rounds: 20, ticks_per_round: 24, seed: 5}
population: {size: 200, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 8, segment_mb: 0.1}
"""
"""A run of about a second, half of it start-up, with a checkpoint every 15 ms, and its ticks sealed now and then."""

GOES_ON = 0.85
"""The probability that a resumed run is killed again."""


class KillCounts:
    """Counters of kills, which stop the killing when there are enough."""

    def __init__(self, kills: int) -> None:
        self.left = kills
        self.moments: Counter[Moment] = Counter()
        self.runs = 0
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
        self.runs += 1
        self.most = max(self.most, killed)

    def report(self) -> str:
        """Return a table of the counts."""
        rows = [f"| {moment} | {self.moments[moment]} |" for moment in Moment]
        return "\n".join(["| killed | times |", "|---|---|", *rows, f"| in all | {self.moments.total()} |"])


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
    run, asked, answered = place / "run", 0, 0
    with ModelServer(ServerSettings(slots=8, live=True)) as server:
        config = place / "live.yaml"
        config.write_text(LIVE.format(host=server.url, rounds=rounds))
        length, wall_s = _alone(config, place / "reference", server)
        while counts.left:
            killable, witness = KillableRun(config, run), LiveWitness(run, server)
            before = witness.calls
            for _ in counts.kill(killable, random, 1.1 * wall_s, length):
                _reseed(server, random)
                if problems := witness.faults():
                    return problems
            killable.finish()
            if problems := witness.faults():
                return problems
            ended(prism("replay", str(run), "--quiet"))
            asked, answered = asked + witness.calls - before, answered + witness.answers
            shutil.rmtree(run)
    print(
        f"{answered} answers logged, {asked} requests: {asked - answered} were under way at a kill, or check a server"
    )
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


def main() -> None:
    """Kill, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300, help="processes to kill (%(default)s)")
    parser.add_argument("--config", type=Path, help="what to run, with the embedded oracle; default: 200 people")
    parser.add_argument("--live", action="store_true", help="with an oracle that answers differently every time")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (%(default)s)")
    options = parser.parse_args()
    place, counts, random = Path(tempfile.mkdtemp(prefix="soak-kill-")), KillCounts(options.kills), Random(options.seed)
    begun = perf_counter()
    if options.live:
        problems = live(place, counts, random)
    else:
        config = options.config.resolve() if options.config else place / "small.yaml"
        if options.config is None:
            config.write_text(SMALL)
        problems = embedded(config, place, counts, random)
    print(counts.report())
    print(f"\n{counts.runs} runs, one of them killed {counts.most} times; {perf_counter() - begun:.0f} s")
    if problems:
        sys.exit("\n".join([f"NOT THE SAME, seed {options.seed}, files left in {place}:", *problems]))
    shutil.rmtree(place)
    print("every run ended as one that was left alone" if not options.live else "nothing was lost, nothing asked twice")


if __name__ == "__main__":
    main()
