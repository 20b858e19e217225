"""An experiment and a calibration that are interrupted say in a line what is kept, and how to go on."""

from __future__ import annotations

import os
import signal

import pytest

from actors.cli.study_options import interruptible


@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_block_with_a_line_and_its_exit_code(
    kind: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @interruptible("Cells are kept")
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


def test_without_a_signal_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with interruptible("kept"):
        pass
    assert capsys.readouterr().err == ""
