"""The check of what kustomize builds: a field that is unknown, or of a wrong type, is refused by name."""

import shutil
from pathlib import Path

import pytest

from deploy.manifests import check, main
from tests.catalogue import catalogue
from tests.deploy.tools import DEPLOY, needs

pytestmark = needs("kubectl")

KUBERNETES = DEPLOY / "kubernetes"


def broken(tmp_path: Path, file: str, before: str, after: str) -> Path:
    """A copy of the kustomization with one change."""
    copy = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, copy)
    text = (copy / file).read_text(encoding="utf-8")
    assert before in text
    (copy / file).write_text(text.replace(before, after, 1), encoding="utf-8")
    return copy


def test_the_shipped_kustomization_is_taken_as_it_stands() -> None:
    assert list(check(KUBERNETES)) == []


@catalogue(
    ("file", "before", "after", "complaint"),
    [
        ("job.yaml", "Limit: 20", "Limit: many", "Job/prism: spec.backoffLimit: 'many' is not of type 'integer'"),
        (
            "podmonitor.yaml",
            "interval:",
            "every:",
            "PodMonitor/prism: spec.podMetricsEndpoints.0: Object contains unknown",
        ),
        (
            "podmonitor.yaml",
            "port: metrics",
            "port: 9464",
            "PodMonitor/prism: spec.podMetricsEndpoints.0.port: Expected",
        ),
        ("podmonitor.yaml", "PodMonitor", "PodMonitr", "PodMonitr/prism: Couldn't find schema for kind PodMonitr"),
    ],
)
def test_a_broken_manifest_is_refused_with_file_kind_name_and_field(
    tmp_path: Path, file: str, before: str, after: str, complaint: str
) -> None:
    copy = broken(tmp_path, file, before, after)
    (line,) = check(copy)
    assert line.startswith(f"{copy / file}: {complaint}")


def test_a_kustomization_that_cannot_be_built_says_what_kubectl_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = broken(tmp_path, "kustomization.yaml", "newTag:", "newTagg:")
    assert main([str(copy)]) == 1
    assert "newTagg" in capsys.readouterr().out
