"""Fixtures and tiers for every test."""

import gc
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck
from structlog.testing import capture_logs
from structlog.typing import EventDict

from tests import tiers
from tests.command import Prism, run_prism
from tests.recorded import changed_run, economy_run, embedded, few_run, live, recorded, small_run
from tests.tiers import Size

__all__ = ["changed_run", "economy_run", "embedded", "few_run", "live", "recorded", "small_run"]

# How long an example takes says something of the machine and of what else it does, and nothing of the code.
for name, examples in (("everyday", tiers.EXAMPLES), ("full", tiers.EXAMPLES_IN_FULL)):
    hypothesis.settings.register_profile(
        name, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--full`: the tests that ask for `size` run at their full size."""
    parser.addoption("--full", action="store_true", help="run tests that ask for `size` at their full size")


def begin_with_usual_signals() -> None:
    """Let the processes of the tests begin with no signal ignored, however the suite itself was started.

    A script starts its background jobs with SIGINT and SIGQUIT ignored, and `nohup` a command with SIGHUP ignored. A
    process inherits what is ignored, but not a handler. So handlers that do nothing keep the suite as it was started.
    SIGINT interrupts the suite, because tests raise it in this process.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for kind in (signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(kind) is signal.SIG_IGN:
            signal.signal(kind, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers, and set the size before the first test is collected."""
    begin_with_usual_signals()
    gc.disable()  # until the tests are collected
    for marker in tiers.MARKERS:
        config.addinivalue_line("markers", marker)
    os.environ.setdefault("PRISM_JIT", "0")  # kernels as plain Python, also for coverage; tests of compiled ones say so
    state = tempfile.TemporaryDirectory(prefix="prism-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name  # the code that tests run is not known to the user who runs them
    is_full = config.getoption("--full")
    hypothesis.settings.load_profile("full" if is_full else "everyday")
    tiers.begin(is_full=is_full)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Turn the garbage collector on, and let it pass over the collected tests: they are a million objects that stay."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what a tier runs because of a test's size or case, and put the files with the longest timeouts first."""
    longest, cases = Counter[Path](), Counter[str]()
    for item in items:
        if "size" in getattr(item, "fixturenames", ()) or hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.sized)
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        first = item.get_closest_marker("everyday")
        if first is not None and cases[test] > first.args[0]:
            item.add_marker(pytest.mark.slow)
        if (limit := item.get_closest_marker("timeout")) is not None:
            longest[item.path] = max(longest[item.path], limit.args[0])
    items.sort(key=lambda item: -longest[item.path])


@pytest.fixture
def size() -> Size:
    """Return the amount of work to do: `size(300, everyday=30)`."""
    return tiers.size()


@pytest.fixture(scope="session")
def compiled_cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The XDG_CACHE_HOME of processes that compile kernels: one for all workers, so that this is done once."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "compiled"


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Return a function that runs any command, in this process and in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return partial(run_prism, monkeypatch, capsys)


@pytest.fixture
def logged() -> Iterator[list[EventDict]]:
    """Return the events logged during the test, in order; nothing is printed."""
    with capture_logs() as events:
        yield events


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory with a short path, in which Ray can put its sockets: their paths have at most 107 characters."""
    path = Path(tempfile.mkdtemp(prefix="prism", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
