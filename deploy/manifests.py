"""The check of a kustomization: what it builds is judged by the schemas of Kubernetes, strictly.

python -m deploy.manifests deploy/kubernetes

A field that Kubernetes does not know, or one of another type, is one line that names file, kind, name and field. Words
of which Kubernetes takes only some, such as `action: FailJob`, are strings in its schemas, and any of them passes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import kubernetes_validate
import msgspec
import yaml

KUBERNETES = "1.34"
"""The version whose schemas are used. `podReplacementPolicy` is stable since this one."""
ORIGIN = "config.kubernetes.io/origin"


class Closed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A record that has no other fields."""


class Relabeling(Closed, frozen=True, kw_only=True):
    """A step that changes the labels of a target."""

    action: Literal["replace", "keep", "drop"]
    source_labels: Sequence[str] = ()
    separator: str = ";"
    regex: str = "(.*)"
    target_label: str = ""
    replacement: str = "$1"


class PodMetricsEndpoint(Closed, frozen=True, kw_only=True):
    """A port of a pod that is scraped."""

    port: str
    path: str = "/metrics"
    interval: str = ""
    scrape_timeout: str = ""
    relabelings: Sequence[Relabeling] = ()


class LabelSelector(Closed, frozen=True, kw_only=True):
    """The labels that pods must have."""

    match_labels: Mapping[str, str]


class PodMonitor(Closed, frozen=True, kw_only=True):
    """The `spec` of a PodMonitor: of this kind of the Prometheus operator, no schema comes with Kubernetes.

    It has only the fields that are used here: to use another one, add it, with its type from the operator's API
    reference.
    """

    selector: LabelSelector
    pod_metrics_endpoints: Sequence[PodMetricsEndpoint]


RULE = "PrometheusRule"
"""A kind of the Prometheus operator that is not judged here: promtool tests the rules in it."""


class ManifestError(Exception):
    """A kustomization that cannot be built; the message is that of `kubectl`."""


def build(kustomization: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every resource that a kustomization builds, with the file that it comes from.

    Raises:
        ManifestError: it cannot be built.
        FileNotFoundError: `kubectl` is not installed.
    """
    with TemporaryDirectory() as scratch:
        # The names of files are asked for from outside, so that what is applied does not have them.
        overlay = Path(scratch).resolve()
        base = os.path.relpath(kustomization.resolve(), overlay)
        told = {"resources": [base], "buildMetadata": ["originAnnotations"]}
        (overlay / "kustomization.yaml").write_text(yaml.safe_dump(told), encoding="utf-8")
        command = ["kubectl", "kustomize", str(overlay)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # no shell
        if built.returncode != 0:
            raise ManifestError(built.stderr.strip())
    for resource in yaml.safe_load_all(built.stdout):
        annotations = resource["metadata"]["annotations"]
        origin = yaml.safe_load(annotations.pop(ORIGIN))
        path = origin.get("path") or origin["configuredIn"]
        yield str(kustomization / os.path.relpath(path, base)), resource


def problem_of(resource: dict[str, Any]) -> str | None:
    """Return a field that a resource must not have, or that has a wrong value, with the reason; None if it has none."""
    try:
        if resource["kind"] == "PodMonitor":
            msgspec.convert(resource.get("spec"), PodMonitor)
        elif resource["kind"] != RULE:
            kubernetes_validate.validate(resource, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{'.'.join(str(step) for step in error.path)}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        return str(error.message)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        field = re.sub(r"\[(\d+)\]", r".\1", path.rstrip("`"))
        return f"spec{field}: {reason}"
    return None


def check(kustomization: Path) -> Iterator[str]:
    """Yield a line for each resource of a kustomization that Kubernetes would not take as it stands.

    Raises:
        ManifestError: it cannot be built.
    """
    for file, resource in build(kustomization):
        if problem := problem_of(resource):
            yield f"{file}: {resource['kind']}/{resource['metadata']['name']}: {problem}"


def main(arguments: Sequence[str]) -> int:
    """Check the kustomizations in these directories, and return the exit code."""
    try:
        problems = [line for name in arguments for line in check(Path(name))]
    except ManifestError as error:
        problems = [str(error)]
    for line in problems:
        sys.stdout.write(f"{line}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
