"""The script that looks up the digests of images, with a `docker` that knows some."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.catalogue import catalogue
from tests.deploy.tools import DEPLOY

DIGEST = "sha256:" + "0123456789abcdef" * 4
NAMES = ("GRAFANA_IMAGE", "OLLAMA_IMAGE", "PROMETHEUS_IMAGE", "PYTHON_IMAGE")
KNOWS_ALL = f"echo {DIGEST}"


def pin(tmp_path: Path, docker: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a copy of deploy/, with this body of a `docker` that notes what it is asked."""
    place = tmp_path / "deploy"
    place.mkdir(exist_ok=True)
    for name in ("pin-images", "compose.yaml"):
        shutil.copy(DEPLOY / name, place)
    fake = tmp_path / "docker"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{docker}\n', encoding="utf-8")
    fake.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_IMAGE")}
    environment = {**inherited, "PATH": f"{tmp_path}:{os.environ['PATH']}", **variables}
    return subprocess.run([place / "pin-images"], env=environment, capture_output=True, text=True, check=False)


def written(tmp_path: Path) -> dict[str, str]:
    lines = (tmp_path / "deploy" / "images.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def test_every_image_is_written_with_its_tag_and_the_digest_that_docker_says(tmp_path: Path) -> None:
    pinned = pin(tmp_path, KNOWS_ALL)
    assert pinned.returncode == 0, pinned.stderr
    images = written(tmp_path)
    assert tuple(images) == NAMES
    assert all(re.fullmatch(rf"[a-z/]+:v?[0-9][0-9a-z.-]+@{DIGEST}", image) for image in images.values())
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    question = "buildx imagetools inspect --format {{.Manifest.Digest}} "
    assert asked == [question + image.split("@")[0] for image in images.values()]
    assert [path.name for path in (tmp_path / "deploy").glob("images*")] == ["images.env"]


@catalogue(
    ("docker", "complaint"),
    [
        ("echo no such host >&2; exit 1", "GRAFANA_IMAGE: grafana/grafana:12.1.1 cannot be looked up"),
        (f"case $* in *prom/*) exit 1;; esac; {KNOWS_ALL}", "PROMETHEUS_IMAGE: prom/prometheus:v3.5.0 cannot be"),
    ],
)
def test_one_digest_that_is_not_found_leaves_the_file_as_it_was(tmp_path: Path, docker: str, complaint: str) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "images.env").write_text("as it was", encoding="utf-8")
    pinned = pin(tmp_path, docker)
    assert pinned.returncode == 1
    assert complaint in pinned.stderr
    assert [path.read_text("utf-8") for path in (tmp_path / "deploy").glob("images*")] == ["as it was"]
