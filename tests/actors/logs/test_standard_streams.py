"""Standard error that is protected for a while: whoever protects it last gives the old one back."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from io import StringIO

import pytest

from actors.logs.standard_streams import standard_error_protected


def test_blocks_that_overlap_end_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)
    first, second = ExitStack(), ExitStack()
    first.enter_context(standard_error_protected())
    protected = sys.stderr
    second.enter_context(standard_error_protected())
    assert sys.stderr is protected
    assert protected is not sys.__stderr__
    first.close()
    assert sys.stderr is protected
    second.close()
    assert sys.stderr is sys.__stderr__


def test_a_stream_that_somebody_has_put_in_its_place_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)
    other = StringIO()
    with standard_error_protected():
        monkeypatch.setattr(sys, "stderr", other)
    assert sys.stderr is other
    with standard_error_protected():
        assert sys.stderr is other
