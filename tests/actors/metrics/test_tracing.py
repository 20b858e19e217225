"""Tracing that is on without its packages, which are an extra, or with an observer of the caller's own."""

from __future__ import annotations

import sys

import pytest

from actors import run
from actors.core.ports import Observer
from actors.metrics.observation import observation
from prism.config import Config, MetricsConfig
from prism.errors import ConfigError

TRACED = Config(metrics=MetricsConfig(tracing=True))


def test_a_missing_package_is_one_line_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "actors.metrics.spans", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for name in [name for name in sys.modules if name.startswith("opentelemetry.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError) as caught, observation(TRACED):
        raise AssertionError("it begins without them")
    assert str(caught.value) == (
        "run: metrics.tracing: tracing needs the package opentelemetry; install it with: pip install 'prism-sim[otel]'"
    )


def test_without_tracing_no_package_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with observation(Config()) as observed, observed.observing("study-001") as observer:
        assert type(observer) is Observer


def test_an_observer_of_ones_own_and_tracing_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match=r"metrics\.tracing: expected false where the run has an observer of its own"):
        run(TRACED, observer=Observer())
