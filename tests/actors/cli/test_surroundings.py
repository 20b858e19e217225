"""Processes with little memory, without a home, and with another encoding than UTF-8: a line, and never a hang."""

import gzip
import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Ended, without_settings
from tests.paths import ROOT
from tests.patience import HANG_S

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
def place(tmp_path: Path) -> Path:
    """A directory with a configuration that names people whom no short encoding can hold."""
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "prism.yaml").write_text(SHOWN, encoding="utf-8")
    return tmp_path


def ended(place: Path, variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Return the end of `prism`, in which text that is read or written in the locale's encoding is an error."""
    command = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-m", "actors.cli"]
    environment = {**without_settings(), **variables}
    return subprocess.run([*command, *arguments], cwd=place, env=environment, capture_output=True, check=False)


@pytest.mark.slow
def test_what_a_stream_cannot_hold_is_written_with_backslashes_and_in_json_as_json_has_it(place: Path) -> None:
    assert ended(place, {"PYTHONIOENCODING": "latin-1"}, "run", "--out", "run").returncode == 0
    json_of_it = ended(place, {"PYTHONIOENCODING": "latin-1"}, "explain", "run", "--agent", "0", "--json").stdout
    assert json.loads(json_of_it.decode("ascii"))["value"]["name"] == "Łucja 😀"
    for encoding, agent, name in (
        ("latin-1", "0", b"\\u0141ucja \\U0001f600 (person 0)"),
        ("cp1252", "1", b"Jos\xe9 (person 1)"),
        ("ascii:replace", "1", b"Jos? (person 1)"),  # a way to replace that the user has set, stays
    ):
        done = ended(place, {"PYTHONIOENCODING": encoding}, "explain", "run", "--agent", agent)
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
