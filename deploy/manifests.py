"""The check of a kustomization: what it builds is judged by the schemas of Kubernetes, strictly.

python -m deploy.manifests deploy/kubernetes

A field that Kubernetes does not know, or one of another type, is one line that names kind, name and field. Words of
which Kubernetes takes only some, such as `action: FailJob`, are strings in its schemas, and any of them passes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import kubernetes_validate
import yaml

KUBERNETES = "1.34"
"""The version whose schemas are used. `podReplacementPolicy` is stable since this one."""
OPERATOR = "monitoring.coreos.com/"
"""The Prometheus operator, whose kinds no schema of Kubernetes has: promtool tests the rules in them."""


def problem_of(resource: dict[str, Any]) -> str | None:
    """Return a field that a resource must not have, or that has a wrong value, with the reason; None if it has none."""
    try:
        if not resource["apiVersion"].startswith(OPERATOR):
            kubernetes_validate.validate(resource, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{'.'.join(str(step) for step in error.path)}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        return str(error.message)
    return None


def check(kustomization: str) -> Iterator[str]:
    """Yield a line for each resource that Kubernetes would not take as it stands, or that of `kubectl`."""
    command = ["kubectl", "kustomize", kustomization]
    built = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # no shell
    if built.returncode != 0:
        yield built.stderr.strip()
    for resource in yaml.safe_load_all(built.stdout):
        if problem := problem_of(resource):
            yield f"{kustomization}: {resource['kind']}/{resource['metadata']['name']}: {problem}"


def main(arguments: Sequence[str]) -> int:
    problems = [line for name in arguments for line in check(name)]
    sys.stdout.writelines(f"{line}\n" for line in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
