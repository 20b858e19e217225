"""The files for Kubernetes and for Ray: a field that is unknown, or of a wrong type, is refused by name."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from deploy.manifests import KUBERNETES, main
from tests.catalogue import catalogue
from tests.deploy.tools import DEPLOY, needs, read_yaml
from tests.paths import ROOT

RAY, KUSTOMIZATION = DEPLOY / "ray", DEPLOY / "kubernetes"


def manifests() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all((RAY / "rayjob.yaml").read_text(encoding="utf-8"))}


def groups() -> list[dict[str, Any]]:
    cluster = manifests()["RayJob"]["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def test_the_cluster_is_what_ray_takes() -> None:
    spec = find_spec("ray")
    if spec is None or spec.origin is None:
        pytest.skip("needs ray")
    import jsonschema

    schema = json.loads((Path(spec.origin).parent / "autoscaler" / "ray-schema.json").read_text())
    cluster = read_yaml(RAY / "cluster.yaml")
    jsonschema.validate(cluster, schema)
    with pytest.raises(jsonschema.ValidationError, match="max_worker"):
        jsonschema.validate({**cluster, "max_worker": 3}, schema)
    assert cluster["head_node_type"] in cluster["available_node_types"]


def test_the_pods_and_the_volume_are_what_kubernetes_takes() -> None:
    kubernetes_validate.validate(manifests()["PersistentVolumeClaim"], KUBERNETES, strict=True)
    for group in groups():
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **group["template"]}
        kubernetes_validate.validate(pod, KUBERNETES, strict=True)
        pod["spec"] = {**pod["spec"], "tolerationz": []}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(pod, KUBERNETES, strict=True)


def test_one_version_of_ray_everywhere() -> None:
    version = manifests()["RayJob"]["spec"]["rayClusterSpec"]["rayVersion"]
    assert f"rayproject/ray:{version}-py311" in (RAY / "Dockerfile").read_text(encoding="utf-8")
    assert f"=={version}'" in (RAY / "cluster.yaml").read_text(encoding="utf-8")
    copied = [line.split()[2:-1] for line in (RAY / "Dockerfile").read_text().splitlines() if line.startswith("COPY")]
    assert all((ROOT / name).exists() for names in copied for name in names)


@needs("kubectl")
def test_the_shipped_kustomization_is_taken_as_it_stands() -> None:
    assert main([str(KUSTOMIZATION)]) == 0


@needs("kubectl")
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
    shutil.copytree(KUSTOMIZATION, copy)
    text = (copy / file).read_text(encoding="utf-8")
    assert before in text
    (copy / file).write_text(text.replace(before, after, 1), encoding="utf-8")
    assert main([str(copy)]) == 1
    assert complaint in capsys.readouterr().out
