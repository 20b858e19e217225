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
