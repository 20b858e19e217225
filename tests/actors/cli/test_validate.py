"""`prism validate`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.catalogue import catalogue
from tests.command import Prism

DELIBERATION = "deliberation: 4 simulated minutes are 4 ticks of 60 s; the embedded oracle answers at once"


def test_validate_says_what_would_be_run(prism: Prism) -> None:
    ended = prism("validate", "small.yaml")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "small.yaml: ok: 60 agents, 3 rounds of 24 ticks (72 ticks), seed 5, oracle choice",
        DELIBERATION,
    ]


def test_validate_names_each_input(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n")
    ended = prism("validate", "small.yaml", "--set", "population.graph.path=ties.txt")
    first, second, understood, deliberation = ended.out.splitlines()
    assert deliberation == DELIBERATION
    assert understood.startswith("ties.txt: no header; ends are columns 1 and 2; 3 people, 2 ties; first: 1 -> 2")
    assert first == "small.yaml: ok: 3 agents, 3 rounds of 24 ticks (72 ticks), seed 5, oracle choice"
    assert re.fullmatch(r"ties\.txt: ok: sha256 [0-9a-f]{64}", second)
    assert understood == (
        "ties.txt: no header; ends are columns 1 and 2; 3 people, 2 ties; first: 1 -> 2; both follow each other "
        "(population.graph.directed: false)"
    )


@catalogue(
    ("settings", "code", "problem"),
    [
        (
            ["population.graph.degree=60"],
            3,
            "--set: population.graph.degree: expected graph.degree < the number",
        ),
        (["population.graph.path=none.txt"], 3, "--set: population.graph.path: none.txt: no such file in "),
        (["population.profiles=."], 3, ".: is a directory: expected a file"),
        (["metrics.enabled=true", "metrics.tls_key=key.pem"], 3, "metrics.tls_cert: expected the certificate"),
        (["metrics.enabled=true", "metrics.username=ada"], 3, "metrics.username: expected the password of 'ada'"),
        (["oracle.backend=ollama", "llm.host=ftp://x"], 5, "llm.host is not an address"),
    ],
)
def test_validate_refuses_what_a_run_refuses_at_its_start(
    settings: list[str], code: int, problem: str, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRISM_METRICS_PASSWORD", raising=False)
    overrides = [part for setting in settings for part in ("--set", setting)]
    for command in (("validate", "small.yaml"), ("run", "small.yaml", "--quiet", "--ticks", "1", "--out", "o")):
        ended = prism(*command, *overrides)
        assert ended.code == code
        assert problem in ended.err


@catalogue(
    ("mode", "path", "problem"),
    [
        ("replay", "t.sqlite", "t.sqlite: there is no such tape"),
        ("replay", "small.yaml", "small.yaml: is no tape"),
        ("record", "x/t.sqlite", "x/t.sqlite: its directory does not exist"),
    ],
)
def test_a_tape_that_cannot_be_used_is_refused(mode: str, path: str, problem: str, prism: Prism) -> None:
    tape = ("--set", "oracle.backend=ollama", "--set", f"oracle.tape={mode}", "--set", f"oracle.tape_path={path}")
    ended = prism("validate", "small.yaml", *tape)
    assert ended.code == 5
    assert problem in ended.err


@pytest.mark.slow
def test_a_forecast_tells_time_memory_and_disk(prism: Prism) -> None:
    sizes = ("--set", "population.size=100", "--set", "simulation.rounds=2")
    ended = prism("validate", "--forecast", *sizes)
    assert ended.code == 0
    told = dict(line.split(": ", 1) for line in ended.out.splitlines() if ": " in line)
    assert told["this machine"].startswith("about ")
    assert told["memory"].endswith("iB")
    assert "on the disk" in told["journal"]
    assert told["forecast from"].startswith("48 ticks of 100 agents")
