"""The experiments that come with PRISM, and the one in the documentation, can be planned."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from actors.studies.experiments.plan import make_plan
from prism.experiment import smallest_p
from tests.catalogue import catalogue
from tests.paths import ROOT

SHIPPED = sorted((ROOT / "configs" / "experiments").glob("*.yaml"))


@pytest.mark.slow
@catalogue("path", SHIPPED)
def test_a_shipped_experiment_has_seeds_enough_for_each_of_its_hypotheses(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    experiment = make_plan(path).experiment
    for each in experiment.hypotheses:
        assert smallest_p(each, len(experiment.seeds)) * len(experiment.hypotheses) < experiment.alpha
