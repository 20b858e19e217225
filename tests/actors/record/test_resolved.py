"""The resolved configuration of a run, read again and again."""

from __future__ import annotations

from pathlib import Path

from actors.record.run import read_resolved


def test_settings_are_loaded_once_until_their_file_or_the_overrides_change(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("population: {size: 61}")
    first = read_resolved(path)
    assert read_resolved(path) is first
    assert read_resolved(path, ["population.size=62"]).population.size == 62
    path.write_text("population: {size: 63}")
    assert read_resolved(path).population.size == 63
