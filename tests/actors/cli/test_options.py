"""Which configuration a command takes, and the name of its run."""

from __future__ import annotations

from pathlib import Path

from actors.cli.options import run_name
from tests.catalogue import catalogue
from tests.command import Prism

SHIPPED = (
    "running the shipped default configuration (default.yaml: 2,000 made-up people on a social network, 50 rounds, "
    "an interest feed)"
)


def test_a_run_without_a_configuration_takes_the_shipped_default_and_names_it(prism: Prism) -> None:
    ended = prism("run", "--ticks", "2")
    assert ended.code == 0
    assert ended.err.splitlines()[0] == f"prism: no CONFIG given: {SHIPPED}"
    assert "2,000 agents" in ended.err
    assert Path("runs/default-001/journal.prism").exists()


def test_a_run_without_a_configuration_takes_the_one_of_its_directory(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "prism.yaml").write_text(Path("small.yaml").read_text())
    ended = prism("run", "--ticks", "2")
    assert ended.err.splitlines()[0] == "prism: no CONFIG given: running prism.yaml"
    assert "60 agents" in ended.err
    assert Path(f"runs/{tmp_path.name}-001").is_dir()


@catalogue(
    ("path", "name"),
    [
        ("small.yaml", "small"),
        ("my-study/prism.yaml", "my-study"),
        ("my-study/other.yaml", "other"),
        ("feed/experiment.yaml", "feed"),
        ("fit/calibrate.yaml", "fit"),
        ("my-study/../my-study/prism.yaml", "my-study"),
        ("/prism.yaml", "prism"),
        ("noextension", "noextension"),
    ],
)
def test_a_run_is_called_after_its_configuration_or_the_directory_of_it(path: str, name: str) -> None:
    assert run_name(Path(path)) == name
