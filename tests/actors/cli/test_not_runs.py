"""The directory of a calibration or of an experiment is no damaged run: commands say what it is, and what shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.studies.calibration.files import CALIBRATION, write_calibration
from tests.command import prism_alone

EXPERIMENT = """\
question: Does the size of a feed matter?
base: base.yaml
design: {conditions: {small: {feed.size: 2}, large: {feed.size: 9}}}
seeds: 2
measures: {likes: likes}
"""
COMMANDS = (("verify",), ("export", "--to=csv", "--out=tables"))


def test_commands_for_runs_say_what_else_a_directory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    write_calibration(tmp_path, CALIBRATION.replace("design: 50, confirm: 11", "design: 3, confirm: 0"))
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    ended = prism_alone("calibrate", "c.yaml", "--out", "c")
    assert ended.code == 4  # too few runs for a fit
    assert (
        ended.out
        == f"{Path('c/calibration.md').read_text().rstrip()}\nwritten to c: calibration.md, calibration.json\n"
    )
    assert prism_alone("experiment", "e.yaml", "--out", "e", "--quiet").code == 0
    shows = "`prism calibrate FILE` shows it, and `prism view c/cells` its runs"
    calibration = f"prism: c: is a calibration, not a run; its result is in calibration.md; {shows}\n"
    for command in (*COMMANDS, ("report",), ("view", "--port=0")):
        ended = prism_alone(command[0], "c", *command[1:])
        assert (ended.code, ended.err) == (2, calibration), command
    for command in COMMANDS:
        ended = prism_alone(command[0], "e", *command[1:])
        experiment = "prism: e: is an experiment, not a run; `prism report e` and `prism view e` show it\n"
        assert (ended.code, ended.err) == (2, experiment), command
