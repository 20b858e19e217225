"""The tiers of the suite, on a small suite of their own in another process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.slow

SUITE = """
import signal
import pytest
from hypothesis import given, strategies

seen = []

@pytest.mark.everyday(2)
@pytest.mark.parametrize("case", range(5))
def test_of_cases(case):
    print(f"case {case}")

@given(strategies.integers(0, 10**9))
def test_property(number):
    seen.append(number)

def test_examples(size):
    print(f"{len(seen)} examples, size {size(7, everyday=1)}")

def test_signals():
    print("SIGINT interrupts", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def ran(directory: Path, *options: str, **environment: str) -> str:
    """The output of pytest on the small suite, begun as a background job of a script."""
    (directory / "conftest.py").write_text("from tests.conftest import *\n")
    (directory / "test_suite.py").write_text(SUITE)
    without = {name: value for name, value in os.environ.items() if name not in {"CI", "PYTEST_ADDOPTS"}}
    command = [sys.executable, "-m", "pytest", "-q", "-rfP", "-p", "no:cacheprovider", "--rootdir", ".", *options]
    return subprocess.run(
        ["sh", "-c", '"$@" & wait', "sh", *command, "test_suite.py"],
        cwd=directory,
        env={**without, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_everyday_cases_and_examples_run_in_one_tier_and_all_in_the_other(tmp_path: Path) -> None:
    everyday = ran(tmp_path, "-m", "not slow")
    assert re.findall(r"^case (\d)$", everyday, re.MULTILINE) == ["0", "1"]
    assert "20 examples, size 1" in everyday
    full = ran(tmp_path, "-m", "slow or sized", "--full")
    assert re.findall(r"^case (\d)$", full, re.MULTILINE) == ["2", "3", "4"]
    assert "150 examples, size 7" in full


def test_a_suite_that_a_script_starts_in_the_background_does_not_ignore_sigint(tmp_path: Path) -> None:
    assert "SIGINT interrupts True" in ran(tmp_path, "-k", "signals")
