"""The experiments that come with PRISM, and the one in the documentation, can be planned."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from actors.studies.experiments.plan import make_plan
from prism.experiment import smallest_p
from tests.catalogue import catalogue
from tests.docs.pages import blocks
from tests.paths import ROOT

SHIPPED = sorted((ROOT / "configs" / "experiments").glob("*.yaml"))


@catalogue("path", SHIPPED)
def test_a_shipped_experiment_has_seeds_enough_for_each_of_its_hypotheses(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    experiment = make_plan(path).experiment
    for each in experiment.hypotheses:
        assert smallest_p(each, len(experiment.seeds)) * len(experiment.hypotheses) < experiment.alpha


def test_the_experiment_of_the_page_can_be_planned(tmp_path: Path) -> None:
    block = next(block for block in blocks(ROOT / "docs" / "experiments.md") if block.info == "yaml experiment.yaml")
    (tmp_path / "experiment.yaml").write_text(block.text)
    (tmp_path / "base.yaml").write_text("population: {size: 50}\n")
    plan = make_plan(tmp_path / "experiment.yaml")
    assert len(plan.cells) == 2 * 2 * 10
    assert plan.experiment.thresholds[0].most == 0.9
