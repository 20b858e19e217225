"""The memory that is left, in a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.studies.experiments import machine


def test_files_that_were_read_take_no_memory_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_CONTAINER", tmp_path)
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 300000\ninactive_file 500000\nactive_file 100000\n")
    (tmp_path / "memory.max").write_text("1000000\n")
    assert machine.available_bytes() == 600_000
    (tmp_path / "memory.max").write_text("max\n")
    assert (machine.available_bytes() or 0) > 1_000_000
