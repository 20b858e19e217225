"""The share of each kernel, and of Python, in the ticks of compiled runs of `configs/friends.yaml`.

    python -m benchmarks.kernels [--people 1000 100000 1000000] [--set key=value ...]

It needs `perf` of Linux, which looks 1,000 times a second of processor time at what is running. For this, kernels are
compiled with a name each: no kernel becomes a part of the one that calls it, so all together take longer than in a
run. This takes half a minute each time.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from signal import SIGINT
from time import process_time, sleep
from typing import Any, Final

import anyio

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from prism import kernels

ACTIVATIONS: Final = 3_000_000
"""The activations that are measured of each population, about."""
OF_A_ROUND: Final = 2.9
"""The activations of a person in a round of this world, about."""
LEAST_PERCENT: Final = 1.0
_NAME: Final = re.compile(r"(?:\d+)(prism|_3cdynamic|actors)")


def name_kernels() -> None:
    """Let every kernel be a function of its own, which is not copied into those that call it, and loaded by numba."""
    from numba.core.base import BaseContext  # noqa: PLC0415  # the process that measures loads it in any case

    def linked(name: str, kept: kernels.Kept) -> int:  # noqa: ARG001
        raise RuntimeError("numba knows where its kernels are")

    kernels.linked = linked

    declare = BaseContext.declare_function

    def declared(self: Any, module: Any, of: Any) -> Any:
        function = declare(self, module, of)
        function.attributes.add("noinline")
        return function

    BaseContext.declare_function = declared


def write_map() -> None:
    """Write where the compiled kernels are, as `perf` wants it."""
    from numba.core.registry import cpu_target  # noqa: PLC0415

    engine = cpu_target.target_context.codegen()._engine  # noqa: SLF001  # numba has no other list of them
    places = {engine.get_function_address(name): name for name in engine._defined_symbols}  # noqa: SLF001
    starts = sorted(place for place in places if place)
    lines = [
        f"{start:x} {min(stop - start, 1 << 16):x} {places[start]}\n"
        for start, stop in zip(starts, [*starts[1:], starts[-1] + 1], strict=True)
    ]
    Path(f"/tmp/perf-{os.getpid()}.map").write_text("".join(lines))  # where perf looks for it


def measured(people: int, settings: list[str]) -> tuple[float, Counter[str]]:
    """Run so many people; return the microseconds an activation, and how often each kernel or Python was running."""
    rounds = max(10, round(ACTIVATIONS / OF_A_ROUND / people))
    given = [f"population.size={people}", f"simulation.rounds={rounds}", "run.activation=compiled", *settings]
    config = read_config("configs/friends.yaml", given)
    simulation = Simulation(config, build_domain(config).domain)
    with tempfile.TemporaryDirectory() as place:
        samples = Path(place, "samples")
        perf = subprocess.Popen(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-p", str(os.getpid()), "-o", str(samples)]
        )
        sleep(1.0)  # until it samples
        begun = process_time()
        anyio.run(simulation.run)
        microseconds = (process_time() - begun) / simulation.counters.activations * 1e6
        perf.send_signal(SIGINT)
        perf.wait()
        write_map()
        shown = ["perf", "script", "-i", str(samples), "-F", "ip,sym", "--no-inline"]
        found = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    return microseconds, Counter(map(name_of, found.splitlines()))


def name_of(sample: str) -> str:
    """Return the name of the kernel in a line of perf; Python and numpy for all that is none."""
    symbol = sample.split(maxsplit=1)[1]
    if not symbol.startswith("_ZN") or symbol.startswith("_ZN7cpython"):
        return "Python, numpy and the system"
    names, at = list[str](), 3
    while found := re.match(r"\d+", symbol[at:]):  # _ZN5prism10kernel_rng4unit: each part behind its length
        at += len(found[0])
        names.append(symbol[at : at + int(found[0])])
        at += int(found[0])
    return names[-1].lstrip("_")


def main() -> None:
    """Print the shares, a column for each population."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further settings")
    options = parser.parse_args()
    os.environ["PRISM_JIT"] = "1"
    os.environ["XDG_CACHE_HOME"] = str(Path.home() / ".cache" / "prism-profile")
    name_kernels()
    runs = [measured(people, options.set) for people in options.people]
    print("percent of the samples |" + "|".join(f" {people:,} people " for people in options.people))
    print("us an activation       |" + "|".join(f" {microseconds:.2f} " for microseconds, _ in runs))
    totals = Counter[str]()
    for _, samples in runs:
        totals.update({name: count / samples.total() for name, count in samples.items()})
    for name, _ in totals.most_common():
        shares = [100 * samples[name] / samples.total() for _, samples in runs]
        if max(shares) >= LEAST_PERCENT:
            print(f"{name:22} |" + "|".join(f" {share:.1f} " for share in shares))


if __name__ == "__main__":
    main()
