"""The same answers at other speeds, in other time zones, locales and orders of hashes: one run, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from actors.store.journal import JOURNAL
from tests.paths import ROOT
from tests.plain import plain_text
from tests.standin import Latency, ModelServer, ServerSettings

pytestmark = pytest.mark.slow

SOCIAL = plain_text("""
simulation: {rounds: 3, ticks_per_round: 24, seed: 7}
population: {size: 100, ambiguity: 0.3, activity: {mean: 0.9}}
oracle: {backend: ollama}
""")
ECONOMY = """
simulation: {domain: economy, rounds: 4, ticks_per_round: 1}
economy: {nations: [Arden, Belmar, Corvia], strengths: [1, 2, 3]}
oracle: {backend: ollama}
"""


class Place(NamedTuple):
    """What surrounds a run, and the speed of its server."""

    zone: str
    locale: str
    hash_seed: str
    latency: Latency


PLACES = (
    Place("UTC", "C", "0", Latency()),
    Place("Pacific/Kiritimati", "tr_TR.UTF-8", "1", Latency(mean_s=0.02, p99_s=0.2)),
    Place("America/St_Johns", "de_DE.UTF-8", "4711", Latency(mean_s=0.005, p99_s=0.05)),
)


@pytest.mark.parametrize("backend", ["ollama", "openai"])
@pytest.mark.parametrize("settings", [SOCIAL, ECONOMY], ids=["social", "economy"])
def test_a_run_is_the_same_to_the_byte_wherever_and_however_fast_it_is_answered(
    settings: str, backend: str, tmp_path: Path
) -> None:
    with ModelServer() as server:
        file = tmp_path / "run.yaml"
        file.write_text(settings.replace("ollama", backend) + f"llm: {{host: '{server.url}', timeout_s: 120}}\n")
        journals = set()
        for number, place in enumerate(PLACES):
            server.settings = ServerSettings(latency=place.latency)
            journals.add(run_at(place, file, tmp_path / str(number)))
        assert len(server.calls) > 10 * len(PLACES)
    assert len(journals) == 1


def run_at(place: Place, file: Path, out: Path) -> bytes:
    """Return the journal of a run in this place, as a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PRISM_", "LC_"))}
    environment |= {
        "TZ": place.zone,
        "LANG": place.locale,
        "LC_ALL": place.locale,
        "PYTHONHASHSEED": place.hash_seed,
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "actors.cli", "run", str(file), "--quiet", "--out", str(out)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return (out / JOURNAL).read_bytes()
