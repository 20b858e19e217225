"""A real Ray cluster of two nodes says the same about causes as one process, and the run stays as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.actors.studies.experiments.cluster import in_namespace, why_not
from tests.recorded import FEW, content, make_run


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_a_cluster_gives_the_same_answer_as_one_process(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not("ray"):
        pytest.skip(reason)
    monkeypatch.chdir(short)
    run = make_run(short, FEW)
    before = content(run)
    found = in_namespace(short, "tests.actors.studies.causes.cluster")
    assert found["there"] == found["here"]
    assert json.loads(found["here"])["causes"]
    assert content(run) == before
    assert list((short).glob("prism-cells-*/*/inputs/*/journal.prism")), "the nodes got the files of the run"
