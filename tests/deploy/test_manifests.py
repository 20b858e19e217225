"""The check of what kustomize builds: a field that is unknown, or of a wrong type, is refused by name."""

import shutil
from pathlib import Path

import pytest

from deploy.manifests import main
from tests.catalogue import catalogue
from tests.deploy.tools import DEPLOY, needs

pytestmark = needs("kubectl")

KUBERNETES = DEPLOY / "kubernetes"


def test_the_shipped_kustomization_is_taken_as_it_stands() -> None:
    assert main([str(KUBERNETES)]) == 0


@catalogue(
    ("file", "before", "after", "complaint"),
    [
        ("job.yaml", "Limit: 20", "Limit: many", ": Job/prism: spec.backoffLimit: 'many' is not of type 'integer'"),
        ("job.yaml", "kind: Job", "kind: Jab", ": Jab/prism: Couldn't find schema for kind Jab"),
        ("kustomization.yaml", "newTag:", "newTagg:", "newTagg"),
    ],
)
def test_a_broken_manifest_is_refused_with_kind_name_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, before: str, after: str, complaint: str
) -> None:
    copy = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, copy)
    text = (copy / file).read_text(encoding="utf-8")
    assert before in text
    (copy / file).write_text(text.replace(before, after, 1), encoding="utf-8")
    assert main([str(copy)]) == 1
    assert complaint in capsys.readouterr().out
