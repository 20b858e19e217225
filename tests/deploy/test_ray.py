"""The files for Ray: the cluster by Ray's schema, the pods by that of Kubernetes, the job by KubeRay's keys."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from deploy.manifests import KUBERNETES
from tests.deploy.tools import DEPLOY, read_yaml
from tests.paths import ROOT

RAY = DEPLOY / "ray"


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
