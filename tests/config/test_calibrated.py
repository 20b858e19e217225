"""The label of a calibrated configuration: what it is calibrated on, and what was changed since."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from prism.config import CalibrationConfig, Config, calibration_label, fitted_settings


def calibrated(**sections: Any) -> Config:
    config = Config(**sections)
    calibration = CalibrationConfig(data="panel.csv", fit=0.5, holdout=0.6129, settings=fitted_settings(config))
    return replace(config, run=replace(config.run, calibration=calibration))


def test_settings_that_were_changed_since_are_named() -> None:
    config = calibrated(feed={"size": 7}, population={"intentions": {"base": {"like": 1.0}}})
    assert calibration_label(config) == "calibrated on panel.csv, holdout 0.613"
    other = replace(config, feed=replace(config.feed, size=8))
    assert calibration_label(other) == "calibrated on panel.csv, holdout 0.613, but feed.size was changed"
    more = replace(config, feed=type(config.feed)(), population=replace(config.population, ambiguity=0.3))
    assert str(calibration_label(more)).endswith("but population.ambiguity, feed.size were changed")


def test_what_changes_no_result_may_change() -> None:
    config = calibrated(feed={"size": 7})
    run = replace(config.run, question="another one")
    other = replace(config, simulation=replace(config.simulation, seed=9), run=run)
    assert calibration_label(other) == calibration_label(config)


def test_a_file_counts_by_its_name_wherever_it_is() -> None:
    config = calibrated(population={"graph": {"path": "data/graph.csv"}})
    graph = replace(config.population.graph, path="/elsewhere/graph.csv")
    moved = replace(config, population=replace(config.population, graph=graph))
    assert "changed" not in str(calibration_label(moved))
    graph = replace(config.population.graph, path="data/other.csv")
    other = replace(config, population=replace(config.population, graph=graph))
    assert str(calibration_label(other)).endswith("but population.graph.path was changed")
