"""A user's files: what is no file, or is too large for the memory, is one line and an exit code, and never a hang."""

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Ended
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


def test_a_small_file_needs_little_memory_though_the_limit_of_a_file_is_high(here: Path) -> None:
    ended = limited("run", "--quiet", "ties.yaml", cwd=here)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_one_line(here: Path) -> None:
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
