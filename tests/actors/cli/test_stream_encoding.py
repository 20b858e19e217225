"""Standard streams in another encoding than UTF-8: real processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import without_settings

PEOPLE = "user_id,name\n1,Łucja 😀\n2,José\n"
CONFIG = (
    "population: {size: 2, profiles: people.csv, graph: {kind: barabasi_albert, degree: 1}}\nsimulation: {ticks: 73}\n"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a configuration that names people whom no short encoding can hold."""
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "prism.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def ended(place: Path, variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Return the end of `prism`, in which text that is read or written in the locale's encoding is an error."""
    command = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-m", "actors.cli"]
    environment = {**without_settings(), **variables}
    return subprocess.run([*command, *arguments], cwd=place, env=environment, capture_output=True, check=False)


@pytest.mark.slow
def test_what_a_stream_cannot_hold_is_written_with_backslashes_and_in_json_as_json_has_it(place: Path) -> None:
    variables = {"PYTHONIOENCODING": "latin-1"}
    for command in ("run --out run", "explain run --agent 0", "explain run --agent 0 --json"):
        done = ended(place, variables, *command.split())
        assert done.returncode == 0, (command, done.stderr)
        if "--json" in command:
            assert json.loads(done.stdout.decode("ascii"))["value"]["name"] == "Łucja 😀"
        elif "explain" in command:
            assert b"\\u0141ucja \\U0001f600 (person 0)" in done.stdout
    for encoding, name in (
        ("ascii", b"Jos\\xe9 (person 1)"),
        ("cp1252", b"Jos\xe9 (person 1)"),
        ("ascii:replace", b"Jos? (person 1)"),
    ):
        done = ended(place, {"PYTHONIOENCODING": encoding}, "explain", "run", "--agent", "1")
        assert name in done.stdout, encoding  # a way to replace that the user has set, stays


def test_a_text_of_the_command_line_is_shown_with_backslashes_when_it_is_refused(tmp_path: Path) -> None:
    variables = {"PYTHONIOENCODING": "ascii"}
    for arguments, code in ((["żółw"], 2), (["run", "--żółw"], 2), (["run", "żółw.yaml"], 3)):
        done = ended(tmp_path, variables, *arguments)
        assert done.returncode == code
        assert b"\\u017c\\xf3\\u0142w" in done.stderr


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
