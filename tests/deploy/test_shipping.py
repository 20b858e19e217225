"""Containers, Kubernetes, systemd and Loki: what a file promises of ports, users, restarts, patience and labels."""

import json
import re
import shutil
import signal
import subprocess
from datetime import datetime
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from actors import run
from actors.core.events import EVENTS
from deploy.manifests import KUBERNETES, main
from prism.config import Config, load_config
from tests.catalogue import catalogue
from tests.deploy.tools import BIN, DEPLOY, final_codes, needs, read_yaml
from tests.paths import ROOT

RUN_CONFIGS = (ROOT / "configs" / "soak.yaml", ROOT / "configs" / "stress.yaml", DEPLOY / "kubernetes" / "prism.yaml")


def read_config(path: Path) -> Config:
    return load_config(path.read_text(encoding="utf-8"), str(path), environment={}, overrides=())


@catalogue("path", RUN_CONFIGS)
def test_a_shipped_configuration_is_valid(path: Path) -> None:
    assert read_config(path).population.size >= 10_000


@pytest.mark.slow
def test_every_check_that_can_be_made_here_passes() -> None:
    linted = subprocess.run([DEPLOY / "lint.sh", BIN], capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert re.fullmatch(r"((ok|skipped) +.+\n)+", linted.stdout)


def compose() -> dict[str, Any]:
    return dict(read_yaml(DEPLOY / "compose.yaml")["services"])


def test_containers_are_reachable_from_this_machine_only() -> None:
    ports = [port for service in compose().values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_image_has_a_variable_for_its_digest_and_is_pinned_to_a_version() -> None:
    build = compose()["prism"]["build"]["args"]["PYTHON_IMAGE"]
    for image in [build, *(service["image"] for service in compose().values())]:
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-\S+:v?\d+\.\d+\.\d+[a-z-]*\}", image), image
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^ARG (.*)$", dockerfile, re.MULTILINE) == [build[2:-1].replace(":-", "=")]
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    assert "# syntax=" not in dockerfile.splitlines()[0]  # it names an image, too


def test_a_container_comes_back_with_its_daemon_and_does_not_repeat_an_end() -> None:
    service = compose()["prism"]
    assert service["restart"] == "unless-stopped"
    assert service["entrypoint"] == ["run-or-resume", "--stay"]
    script = (DEPLOY / "run-or-resume").read_text(encoding="utf-8")
    (stays,) = re.findall(r"^([\d |]+)\) stay error ", script, re.MULTILINE)
    assert {int(code) for code in stays.split("|")} == final_codes()


def test_a_service_and_a_pod_are_not_started_again_where_that_would_only_repeat_the_end() -> None:
    unit = (DEPLOY / "systemd" / "prism@.service").read_text(encoding="utf-8")
    (never,) = re.findall(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE)
    assert set(map(int, never.split())) == final_codes()
    _, failed = read_yaml(DEPLOY / "kubernetes" / "job.yaml")["spec"]["podFailurePolicy"]["rules"]
    assert failed["action"] == "FailJob"
    assert set(failed["onExitCodes"]["values"]) == final_codes()
    (stopped,) = re.findall(r"^SuccessExitStatus=(.*)$", unit, re.MULTILINE)
    assert [int(code) - 128 for code in stopped.split()] == [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]


def test_no_file_holds_a_secret() -> None:
    setting = re.compile(
        r"^\s*(?:- |Environment=|ENV )?\w*(?:password|key|token|secret)\w*\s*[:=]\s*(\S+)", re.I | re.M
    )
    for path in DEPLOY.rglob("*"):
        if path.suffix in {".yml", ".yaml", ".service"} or path.name == "Dockerfile":
            values = setting.findall(path.read_text(encoding="utf-8"))
            assert [value for value in values if value not in ("false", "true") and not value.startswith("${")] == [], (
                path
            )


def pod() -> dict[str, Any]:
    return dict(read_yaml(DEPLOY / "kubernetes" / "job.yaml")["spec"]["template"]["spec"])


def test_whoever_stops_a_run_waits_longer_than_a_decision_may_take() -> None:
    longest = max(read_config(path).oracle.deadline_s for path in RUN_CONFIGS)
    unit = (DEPLOY / "systemd" / "prism@.service").read_text(encoding="utf-8")
    grace = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert grace
    assert int(grace[1]) >= longest + 30
    assert pod()["terminationGracePeriodSeconds"] >= longest + 30
    assert compose()["prism"]["stop_grace_period"] == "3m"


def test_probes_ask_what_the_endpoint_answers() -> None:
    (container,) = pod()["containers"]
    config = read_config(DEPLOY / "kubernetes" / "prism.yaml")
    (port,) = container["ports"]
    assert port == {"name": "metrics", "containerPort": config.metrics.port}
    assert config.metrics.enabled
    paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


def test_what_is_sent_to_loki_has_labels_from_closed_sets_and_a_time(tmp_path: Path) -> None:
    shipped = read_yaml(DEPLOY / "logs" / "vector.yaml")
    (name,) = re.findall(r"match\(name, r'(.+)'\)", shipped["transforms"]["events"]["source"])
    assert all(re.search(name, event.name()) for event in EVENTS)
    assert not re.search(name, "Task was destroyed but it is pending!"), "a library's sentence is no label"
    config = load_config("simulation: {ticks: 3}\npopulation: {size: 20}\n", "c", environment={}, overrides=())
    run(config, out=tmp_path / "study")
    (include,) = shipped["sources"]["runs"]["include"]
    pattern = include.replace("${PRISM_RUNS:-/runs}", str(tmp_path))
    (log,) = [path for path in tmp_path.glob("*/*") if fnmatch(str(path), pattern)]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines if line["actor"] == "run"][-1] == "run_ended"
    for line in lines:
        assert line.keys() >= {"run_id", "event", "level"}
        assert line["run_id"] == "study"
        assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None


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
