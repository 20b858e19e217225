"""Signals to processes and studies, and streams and terminals that go away or are drawn on: real processes."""

import fcntl
import gzip
import json
import os
import pty
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from actors.runs.signals import ended_by_signals
from tests.actors.cli.conftest import SMALL
from tests.catalogue import catalogue
from tests.command import Ended, Prism, without_settings
from tests.paths import ROOT
from tests.patience import HANG_S, wait_until
from tests.wire.support import summary

ENDLESS = (sys.executable, "-m", "actors.cli", "run", "small.yaml", "--set", "simulation.rounds=100000")
UNANSWERED = """
import anyio
from actors.runs.execute import Host, simulate
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from prism.config import load_config
from prism.statechart import Oracle

class Silent(Oracle):
    async def ask(self, agent, current_state, trigger, options, context=None):
        print("asked", flush=True)
        await anyio.sleep_forever()

config = load_config(None, "-", environment={}, overrides=[
    "population.size=60", "population.activity.mean=1", "population.ambiguity=0.5",
    "population.deliberation_minutes=0", "oracle.deadline_s=600"])
anyio.run(simulate, Simulation(config, build_domain(config).domain, Silent()), Host())
"""


def catches_sigterm(process: subprocess.Popen[Any]) -> bool:
    """Return whether the process has its own handler for SIGTERM, which it has once the run is under way."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


@contextmanager
def running(*command: str, cwd: Path, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """The process, once it listens for signals; killed at the end whatever happens."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to see signal handlers")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    with subprocess.Popen(command, cwd=cwd, text=True, **pipes) as process:
        try:
            wait_until(lambda: catches_sigterm(process), process)
            yield process
        finally:
            process.kill()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a configuration."""
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_finishes_the_tick_and_writes_the_summary(kind: signal.Signals, code: int, place: Path) -> None:
    with running(*ENDLESS, "--out", "out", cwd=place) as process:
        process.send_signal(kind)
        printed, _ = process.communicate(timeout=HANG_S)
    found = summary(place / "out")
    assert process.returncode == code
    assert (found["status"], found["stopped_by"]) == ("stopped", kind.name)
    assert sum(found["agents_by_state"].values()) == 60
    assert f"stopped by {kind.name} after tick {found['ticks']:,}" in printed


def test_sigint_ends_a_command_that_a_script_has_started_in_the_background(small_run: Path) -> None:
    """A shell without job control lets its background jobs ignore SIGINT, and so they begin."""
    script = '"$@" & echo $!; wait $!; echo ended with $?'
    view = [sys.executable, "-u", "-m", "actors.cli", "view", str(small_run), "--port", "0"]
    shell = subprocess.Popen(["sh", "-c", script, "sh", *view], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    job = int(shell.stdout.readline())
    try:
        assert shell.stdout.readline().startswith("prism view: http://127.0.0.1:")
        os.kill(job, signal.SIGINT)
        ended, _ = shell.communicate(timeout=HANG_S)
    finally:
        if shell.poll() is None:
            os.kill(job, signal.SIGKILL)
    assert ended == "ended with 0\n"


BUSY = """
import sys
import anyio
from actors.runs.signals import StopOnSignal

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(StopOnSignal(lambda: print("told", flush=True), float(sys.argv[1])).run)
        await anyio.sleep(0)
        print("busy", flush=True)
        while True:  # a tick that gives the loop no turn
            pass

anyio.run(main)
"""


@pytest.mark.slow
@catalogue(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_tick_that_takes_too_long_is_given_up(kind: signal.Signals, code: int, tmp_path: Path) -> None:
    with running(sys.executable, "-c", BUSY, "0.3", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        process.send_signal(kind)
        printed, said = process.communicate(timeout=HANG_S)
    assert (process.returncode, printed) == (code, "")
    assert said == (
        f"prism: {kind.name}: ended within the tick, which would take too long (run.stop_within_s); what was committed "
        "is safe: continue with `prism resume`\n"
    )


def test_a_second_signal_leaves_at_once(tmp_path: Path) -> None:
    with running(sys.executable, "-c", UNANSWERED, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n", "the tick cannot end: its question is never answered"
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("prism: SIGINT: finishing this tick; a second signal exits at once")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HANG_S) == 130


@catalogue(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_block_with_a_line_and_its_exit_code(
    kind: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @ended_by_signals("Cells are kept")
    def interrupted() -> None:
        os.kill(os.getpid(), kind)
        signal.sigtimedwait([], 1.0)

    before = signal.getsignal(kind)
    with pytest.raises(SystemExit) as left:
        interrupted()
    assert left.value.code == code
    said = capsys.readouterr().err
    assert said == f"prism: {kind.name}: ending; a second signal exits at once. Cells are kept\n"
    assert signal.getsignal(kind) is before


NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(place: Path, redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the end of `prism` as a shell starts it."""
    command = f'exec "$0" -m actors.cli "$@" {redirections}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, *arguments], cwd=place, capture_output=True, text=True, check=False
    )


@NEEDS_FULL
@pytest.mark.everyday(1)
@pytest.mark.parametrize("redirections", ["<&- >&- 2>&-", "2>/dev/full", ">/dev/full", ">&- 2>/dev/full"])
def test_a_run_whose_streams_cannot_be_written_ends_as_any_other(
    redirections: str, place: Path, small_run: Path
) -> None:
    ended = shell(place, redirections, "run", "small.yaml", "--out", "run")
    assert ended.returncode == 0, ended.stderr
    assert summary(place / "run")["digest"] == summary(small_run)["digest"]
    for file in (place / "run").iterdir():  # no file has got the number of a closed stream
        assert b"prism: " not in file.read_bytes(), file


@NEEDS_FULL
@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("replay", "old"), 0),
        (("run", "missing.yaml"), 3),
        (("run", "--ticks", "none"), 2),
        (("resume", "old", "--ticks", "80"), 0),
        (("fork", "old", "--at", "30", "--out", "forked"), 0),
    ],
)
def test_every_command_that_simulates_ends_with_its_code_when_nothing_can_be_printed(
    arguments: tuple[str, ...], code: int, place: Path, small_run: Path
) -> None:
    shutil.copytree(small_run, place / "old")
    assert shell(place, ">/dev/full 2>/dev/full", *arguments).returncode == code


@NEEDS_FULL
@pytest.mark.everyday(1)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_whose_output_is_its_result_says_that_it_cannot_be_written(
    unbuffered: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)  # with "1" no buffer holds what failed
    ended = shell(place, ">/dev/full", "runs", ".")
    assert (ended.returncode, ended.stderr) == (1, "prism: standard output: No space left on device\n")


@pytest.mark.everyday(1)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_pipe_whose_reader_ends_in_the_middle_of_a_run_mutes_that_stream(stream: str, place: Path) -> None:
    others = {"stdout": None, "stderr": None, stream: subprocess.PIPE}
    with running(*ENDLESS, "--out", "run", cwd=place, **others) as process:
        reader = process.stdout or process.stderr
        assert reader is not None
        reader.close()  # as a `tee` that is killed does
        process.send_signal(signal.SIGTERM)  # it is answered with a line on standard error, and tables at the end
        assert process.wait(HANG_S) == 143
    assert summary(place / "run")["stopped_by"] == "SIGTERM"


@pytest.mark.slow
def test_a_terminal_that_goes_away_leaves_a_stop_that_can_be_resumed(place: Path, prism: Prism) -> None:
    number, other = pty.openpty()

    def take_terminal() -> None:  # as a shell over SSH starts a run
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    own = {"stdin": other, "stdout": other, "stderr": other, "start_new_session": True, "preexec_fn": take_terminal}
    with running(*ENDLESS, "--out", "run", cwd=place, **own) as process:
        os.close(other)
        os.read(number, 1)  # it has begun to draw
        os.close(number)  # the connection drops: the system sends SIGHUP, and the terminal can be written no more
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGHUP)  # and so does the shell when it ends
        assert process.wait(HANG_S) == 129
    run = place / "run"
    done = summary(run)["ticks"]
    assert summary(run)["stopped_by"] == "SIGHUP"
    stopped = json.loads((run / "manifest.json").read_text())["stopped"]
    assert (stopped["tick"], stopped["reason"]) == (done, "SIGHUP")
    assert any(f"{done:012d}" in file.name for file in run.glob("checkpoint-*.bin"))
    assert "by SIGHUP" in prism("runs", "run").out
    assert prism("resume", "run", "--ticks", str(done + 5), "--quiet").code == 0
    assert prism("verify", "run").code == 0


HIDES, SHOWS = b"\x1b[?25l", b"\x1b[?25h"
DRAWING = """
import anyio
from actors.display.progress import show_progress
from actors.runs.signals import StopOnSignal
from tests.actors.display.test_progress import READING

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(StopOnSignal(lambda: None).run)  # a tick that does not end
        tasks.start_soon(show_progress, lambda: READING)

anyio.run(main)
"""


Until = Callable[[bytes], bytes]


@contextmanager
def on_a_terminal(script: str, kind: str = "xterm-256color") -> Iterator[tuple[subprocess.Popen[bytes], Until]]:
    """Provide a process whose standard error is a terminal, and a function that reads there until a text has come.

    The function returns all that has come so far. The process is killed at the end whatever happens.
    """
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command, environment = [sys.executable, "-c", script], {**os.environ, "TERM": kind}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other, env=environment, cwd=ROOT)
    os.close(other)
    seen = bytearray()

    def until(text: bytes) -> bytes:
        give_up = monotonic() + HANG_S
        while text not in seen:
            assert monotonic() < give_up, seen
            if select.select([main], [], [], 1.0)[0]:
                with suppress(OSError):  # Linux says EIO where the other end is closed
                    seen.extend(os.read(main, 65536))
        return bytes(seen)

    try:
        yield process, until
    finally:
        process.kill()
        process.wait()
        os.close(main)


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_leaving_at_once_gives_the_cursor_back(kind: signal.Signals, code: int) -> None:
    with on_a_terminal(DRAWING) as (process, until):
        until(HIDES)
        process.send_signal(kind)
        until(b"a second signal exits at once")
        process.send_signal(kind)
        assert process.wait(timeout=HANG_S) == code
        seen = until(SHOWS)
    assert seen.count(HIDES) == 1
    assert seen.rfind(SHOWS) > seen.rfind(HIDES)


@pytest.mark.slow
def test_a_terminal_that_cannot_be_drawn_over_gets_a_line_from_time_to_time() -> None:
    often = "from actors.display import progress\nprogress.LINE_EVERY_S = 0.1\n"
    with on_a_terminal(DRAWING.replace("import anyio\n", f"import anyio\n{often}"), kind="dumb") as (_, until):
        seen = until(b"idle=900 scrolling=100\r\n")
    assert seen.startswith(b"tick 300/1200 (25%) eta ")
    assert b"\x1b" not in seen


ADDRESS_SPACE = 500 * 2**20
"""Bytes of address space that the processes here may use. The interpreter with all packages needs about 250 MiB."""
STUDY = "simulation: {{ticks: 1}}\npopulation: {{graph: {{path: {file}}}}}\n"


def limited(*arguments: str, cwd: Path, stdin: bytes = b"") -> Ended:
    """Return how the command line ends in a process that may use `ADDRESS_SPACE`."""
    # Without this OpenBLAS takes more for each processor of the machine.
    environment = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "actors.cli", *arguments],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        timeout=HANG_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, file in (("ties", "ties.txt"), ("packed", "ties.txt.gz")):
        (tmp_path / f"{name}.yaml").write_text(STUDY.format(file=file))
    (tmp_path / "ties.txt").write_text("1 2\n2 3\n")
    return tmp_path


@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_one_line_and_a_small_file_needs_little(here: Path) -> None:
    ended = limited("run", "--quiet", "--out", "small", "ties.yaml", cwd=here)
    assert (ended.code, ended.err) == (0, "")
    lines = b"".join(b"%d %d\n" % (number, number + 1) for number in range(100_000))
    with (here / "ties.txt").open("wb") as file:
        for _ in range(100):
            file.write(lines)
    with gzip.open(here / "ties.txt.gz", "wb") as packed:
        for _ in range(100):
            packed.write(b"1 2\n" * (1 << 20))
    for command, told in (
        (("validate", "ties.yaml"), "ties.txt: needs more memory than this process may use; take a sample, or allow"),
        (("run", "--quiet", "packed.yaml"), "ties.txt.gz: unpacks to more than 100 times its size of "),
    ):
        ended = limited(*command, cwd=here)
        assert (ended.code, "Traceback" in ended.err) == (3, False), ended
        assert ended.err.splitlines()[-1].startswith(f"prism: {told}")
    assert not (here / "runs").exists()


@pytest.mark.slow
def test_a_configuration_comes_from_a_pipe_that_the_process_was_given(here: Path) -> None:
    text = (here / "ties.yaml").read_bytes()
    assert limited("validate", "/dev/stdin", cwd=here, stdin=text).code == 0
    ended = limited("validate", "/dev/stdin", cwd=here, stdin=b"#" * 10_000_000)
    assert ended.code == 3
    assert ended.err == "prism: /dev/stdin: is longer than the 65,536 characters that a configuration may have\n"


UID = 54_321
"""A user whom the system does not know: containers have any uid, schedulers an empty environment."""
COMMANDS = """\
run CONFIG -q --out r --set population.size=30 --set simulation.rounds=2
validate CONFIG
replay r
explain r --agent 1
pack r
unpack r.prism --out again
report r --out r.html
export r --to csv
cause r --of likes --by people --budget 2 --draws 0
doctor
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_command_needs_a_home_directory_or_a_known_user(tmp_path: Path) -> None:
    command = [shutil.which("unshare") or "unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no other user can be had here")
    clean = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "TMPDIR": str(tmp_path)}
    for line in COMMANDS.replace("CONFIG", str(ROOT / "configs" / "friends.yaml")).splitlines():
        words = [*command, sys.executable, "-m", "actors.cli", *line.split()]
        done = subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (line, done.stderr)


PEOPLE = "user_id,name\n1,Łucja 😀\n2,José\n"
SHOWN = (
    "population: {size: 2, profiles: people.csv, graph: {kind: barabasi_albert, degree: 1}}\nsimulation: {ticks: 73}\n"
)


@pytest.fixture
def unicode(tmp_path: Path) -> Path:
    """A directory with a configuration that names people whom no short encoding can hold."""
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "prism.yaml").write_text(SHOWN, encoding="utf-8")
    return tmp_path


def ended(unicode: Path, variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Return the end of `prism`, in which text that is read or written in the locale's encoding is an error."""
    command = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-m", "actors.cli"]
    environment = {**without_settings(), **variables}
    return subprocess.run([*command, *arguments], cwd=unicode, env=environment, capture_output=True, check=False)


@pytest.mark.slow
def test_what_a_stream_cannot_hold_is_written_with_backslashes_and_in_json_as_json_has_it(unicode: Path) -> None:
    assert ended(unicode, {"PYTHONIOENCODING": "latin-1"}, "run", "--out", "run").returncode == 0
    json_of_it = ended(unicode, {"PYTHONIOENCODING": "latin-1"}, "explain", "run", "--agent", "0", "--json").stdout
    assert json.loads(json_of_it.decode("ascii"))["value"]["name"] == "Łucja 😀"
    for encoding, agent, name in (
        ("latin-1", "0", b"\\u0141ucja \\U0001f600 (person 0)"),
        ("cp1252", "1", b"Jos\xe9 (person 1)"),
        ("ascii:replace", "1", b"Jos? (person 1)"),  # a way to replace that the user has set, stays
    ):
        done = ended(unicode, {"PYTHONIOENCODING": encoding}, "explain", "run", "--agent", agent)
        assert name in done.stdout, encoding


def test_a_text_of_the_command_line_is_shown_with_backslashes_when_it_is_refused(tmp_path: Path) -> None:
    done = ended(tmp_path, {"PYTHONIOENCODING": "ascii"}, "run", "żółw.yaml")
    assert (done.returncode, rb"\u017c\xf3\u0142w" in done.stderr) == (3, True)


@pytest.mark.skipif(sys.platform != "linux", reason="the encoding of file names is the locale's on Linux")
def test_a_file_name_that_the_locale_cannot_write_is_one_line(tmp_path: Path) -> None:
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    text = 'oracle: {backend: ollama, tape: record, tape_path: "żółw.sqlite"}\nllm: {host: "http://127.0.0.1:9"}\n'
    (tmp_path / "prism.yaml").write_text(text, encoding="utf-8")
    done = ended(tmp_path, variables, "run", "prism.yaml", "--out", "run")
    assert done.returncode == 1
    last = (
        b"prism: \\u017c\\xf3\\u0142w.sqlite: ascii, the locale's encoding, has no such file name: set LC_ALL=C.UTF-8"
    )
    assert done.stderr.splitlines()[-1] == last
