"""The use of a small model server by the cells of an experiment, behind their gateway.

Six cells ask a server with 4 slots whose calls take 50 ms, or as told: on a busy machine
only longer ones say something. The ideal time is that of the calls, four at a time
without a gap, from the first question to the last answer. What is above it is the gateway, HTTP, and the ticks in which
too few questions are open.

    python -m benchmarks.gateway [--people 200] [--rounds 4] [--call-s 0.05]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.standin import Latency, ModelServer, ServerSettings

SLOTS, CELLS = 4, 6
FILES = {
    "base.yaml": """
simulation: {{rounds: {rounds}, ticks_per_round: 24}}
population: {{size: {people}, ambiguity: 0.5, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama}}
llm: {{host: "{host}", systemone: "off", method: json}}
""",
    "e.yaml": """
question: How long does it take?
base: base.yaml
design: {{conditions: {{a: {{feed.size: 4}}, b: {{feed.size: 5}}}}}}
seeds: 3
measures: {{likes: likes}}
oracle: {{max_concurrency: 4}}
""",
}


def main() -> None:
    """Print calls, seconds, the ideal, their ratio, and the most calls that were under way at once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--call-s", type=float, default=0.05, help="seconds of a call")
    chosen = parser.parse_args()
    settings = ServerSettings(slots=64, latency=Latency(mean_s=chosen.call_s), keeps=10**6)
    with ModelServer(settings) as server, tempfile.TemporaryDirectory() as place:
        for name, text in FILES.items():
            filled = text.format(host=server.url, people=chosen.people, rounds=chosen.rounds)
            (Path(place) / name).write_text(filled)
        command = [sys.executable, "-m", "actors.cli", "experiment", "e.yaml", "--jobs", str(CELLS), "--quiet"]
        subprocess.run(command, cwd=place, check=True)
        asked = [each for each in server.calls if each.request_id]
        took_s = max(each.ended_s or 0.0 for each in asked) - min(each.started_s for each in asked)
        ideal_s = len(asked) * chosen.call_s / SLOTS
        peak = server.statistics().peak_in_flight
    print(f"{len(asked):,} calls, {took_s:.1f} s, ideal {ideal_s:.1f} s, ratio {took_s / ideal_s:.2f}, at once {peak}")


if __name__ == "__main__":
    main()
