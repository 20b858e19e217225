"""The run of all comparisons: each measurement in a process of its own, the systems of a comparison in turn."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks.peers import charts, feed, growth, mailboxes, schelling
from benchmarks.peers.systems import System, Values, versions

COMPARISONS: Final[Mapping[str, Mapping[str, System]]] = {
    "feed": feed.SYSTEMS,
    "crowd": feed.CROWD,
    "mailboxes": mailboxes.SYSTEMS,
    "channels": mailboxes.CHANNELS,
    "charts": charts.SYSTEMS,
    "schelling": schelling.SYSTEMS,
    "growth": growth.SYSTEMS,
}
GROWTH_REPEATS_MAX: Final = 3
"""A line of growth has points of five sizes, so each of them needs fewer repeats."""

LIMIT_S: Final = 120
"""The seconds after which a measurement counts as one that never ends."""

Document = dict[str, Any]
"""The results of a run, as JSON: `comparisons` has the values of each system, or why there are none."""


def measured_alone(comparison: str, name: str, size: str) -> Mapping[str, float | str]:
    """Return the values of one measurement in a process of its own; `{"missing": reason}` if there are none."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.peers", "--alone", comparison, name, "--size", size]
    try:
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"missing": f"no result after {LIMIT_S} s"}
    lines = ended.stdout.splitlines()
    if ended.returncode or not lines:
        return {"missing": f"its process ended with {ended.returncode}"}
    values: dict[str, float | str] = json.loads(lines[-1])
    return values


def compared(comparison: str, size: str, repeats: int) -> dict[str, Any]:
    """Return `{system: its values of each repeat, or the reason why there are none}`. Nobody is tried twice in vain."""
    samples: dict[str, list[Values]] = {name: [] for name in COMPARISONS[comparison]}
    missing: dict[str, str] = {}
    for _ in range(repeats):
        for name, of_system in samples.items():
            if name in missing:
                continue
            values = measured_alone(comparison, name, size)
            if "missing" in values:
                missing[name] = str(values["missing"])
            else:
                of_system.append({key: float(value) for key, value in values.items()})
    return {name: {"missing": missing[name]} if name in missing else {"samples": samples[name]} for name in samples}


def grown(points: Mapping[str, Any]) -> dict[str, Any]:
    """Return the points and the fit of each thing that grows."""
    found: dict[str, Any] = {}
    for name, system in points.items():
        thing = found.setdefault(name.partition(",")[0], {"size": [], "us": []})
        if "missing" in system:
            thing["missing"] = system["missing"]
        for sample in system.get("samples", ()):
            thing["size"].append(sample["size"])
            thing["us"].append(sample["us an activation"])
    for thing in found.values():
        if "missing" in thing:  # a line without one of its sizes would be another line
            continue
        thing["fit"] = growth.fit(thing["size"], thing["us"])._asdict()
    return found


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def run(names: Sequence[str], size: str, repeats: int, *, under_load: bool) -> Iterator[Document]:
    """Run these comparisons, and yield what was found so far after each of them."""
    begun, found = time.monotonic(), {}
    for name in names:
        of_comparison = compared(name, size, min(repeats, GROWTH_REPEATS_MAX) if name == "growth" else repeats)
        found[name] = grown(of_comparison) if name == "growth" else of_comparison
        print(f"measured {name} ({time.monotonic() - begun:.0f} s)", file=sys.stderr, flush=True)
        yield {
            "date": time.strftime("%Y-%m-%d"),
            "size": size,
            "repeats": repeats,
            "under_load": under_load,
            "seconds": round(time.monotonic() - begun),
            "machine": machine(),
            "versions": {"prism-sim": version("prism-sim"), **versions()},
            "comparisons": found,
        }
