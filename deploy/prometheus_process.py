"""A Prometheus process with the shipped configuration and rules, for tests and for a soak."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import yaml
from prometheus_client.parser import text_string_to_metric_families

SHIPPED = Path(__file__).parent / "prometheus"
RULES = ("recording.yml", "alerts.yml")
TARGETS = "targets.yml"
QUICK = 60
"""The speed of a quick Prometheus: a minute in the shipped rules takes it a second."""
_DURATION = re.compile(r"(?<=[\[ ])(\d+)(s|m|h)(?=[\])\s])")
_MS = {"s": 1000, "m": 60_000, "h": 3_600_000}


class Sample(msgspec.Struct, frozen=True):
    """One series of an answer, and its present value."""

    labels: Mapping[str, str]
    value: float


class Prometheus:
    """A running Prometheus, with the file of the targets that it scrapes."""

    def __init__(self, url: str, targets: Path) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=10, trust_env=False)
        self._targets = targets

    def scrape(self, targets: Sequence[str]) -> None:
        """Scrape these targets from now on, host:port each, and no others. It notices within a second or so."""
        _write_targets(self._targets, targets)

    def query(self, expr: str) -> list[Sample]:
        """Return the present value of an expression: a sample for each series; a scalar is a sample without labels."""
        data = self._get("query", query=expr)
        if data["resultType"] == "scalar":
            return [Sample({}, float(data["result"][1]))]
        return [Sample(each["metric"], float(each["value"][1])) for each in data["result"]]

    def ever_fired(self, window: str) -> dict[tuple[str, str], int]:
        """Return `{(alert, instance): evaluations at which it fired}` over a window such as `30m`."""
        found = self.query(f'count_over_time(ALERTS{{alertstate="firing"}}[{window}])')
        return {(each.labels["alertname"], each.labels.get("instance", "")): int(each.value) for each in found}

    def is_ready(self) -> bool:
        try:
            return self._client.get("/-/ready").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def close(self) -> None:
        self._client.close()

    def _get(self, path: str, **parameters: str) -> Any:
        answer = self._client.get(f"/api/v1/{path}", params=parameters)
        answer.raise_for_status()
        return answer.json()["data"]


@contextmanager
def prometheus(directory: Path, targets: Sequence[str], *, quick: bool = False) -> Iterator[Prometheus]:
    """Return a context with a Prometheus that scrapes these targets. At its start it may not be ready yet.

    Its data and its log are in this directory.

    Args:
        quick: run faster than shipped; it scrapes as often as it evaluates the rules: four times a second.

    Raises:
        FileNotFoundError: it is not installed.
    """
    binary = shutil.which("prometheus")
    if binary is None:
        raise FileNotFoundError("prometheus is not installed")
    config = _configuration(directory, quick=quick)
    _write_targets(directory / TARGETS, targets)
    address = f"127.0.0.1:{free_port()}"
    options = [
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address={address}",
    ]
    with (directory / "prometheus.log").open("wb") as log:
        # The program is looked up, and the paths are our own.
        process = subprocess.Popen([binary, *options], stdout=log, stderr=subprocess.STDOUT)  # noqa: S603
        server = Prometheus(f"http://{address}", directory / TARGETS)
        try:
            yield server
        finally:
            server.close()
            process.terminate()
            process.wait(timeout=20)


def quickened(rules: str) -> str:
    """Return the rules with shorter durations: `[5m]` is `[5000ms]`, `for: 1m` is `1000ms`."""
    return _DURATION.sub(lambda found: f"{int(found[1]) * _MS[found[2]] // QUICK}ms", rules)


def _write_targets(path: Path, targets: Sequence[str]) -> None:
    """Write the file in one step: Prometheus may read it at any time."""
    draft = path.with_suffix(".draft")
    draft.write_text(yaml.safe_dump([{"targets": list(targets)}]), encoding="utf-8")
    draft.replace(path)


def _configuration(directory: Path, *, quick: bool) -> Path:
    for name in RULES:
        rules = (SHIPPED / "rules" / name).read_text(encoding="utf-8")
        (directory / name).write_text(quickened(rules) if quick else rules, encoding="utf-8")
    config = yaml.safe_load((SHIPPED / "prometheus.yml").read_text(encoding="utf-8"))
    config["rule_files"] = list(RULES)
    (job,) = config["scrape_configs"]
    job["file_sd_configs"] = [{"files": [TARGETS], "refresh_interval": "1s"}]
    if quick:
        every = f"{15_000 // QUICK}ms"
        config["global"] |= {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every}
    path = directory / "prometheus.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


Key = tuple[str, frozenset[tuple[str, str]]]


class Scrape(msgspec.Struct, frozen=True):
    """The numbers of one page of metrics in its order, and the time of reading on the reader's clock."""

    moment_s: float
    samples: Mapping[Key, float]

    @classmethod
    def parse(cls, text: str, moment_s: float) -> Scrape:
        """Return the numbers on a page in the Prometheus text format.

        Raises:
            ValueError: it is not in that format.
        """
        samples: dict[Key, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples[sample.name, frozenset(sample.labels.items())] = sample.value
        return cls(moment_s, samples)

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the samples of that name with at least these labels; 0 if there is none."""
        wanted = labels.items()
        return sum(value for (key, has), value in self.samples.items() if key == name and wanted <= has)

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return `{label value: sum}` of the samples of that name, in the order of the page."""
        sums: dict[str, float] = {}
        for (key, has), value in self.samples.items():
            if key == name:
                label_value = dict(has).get(label, "")
                sums[label_value] = sums.get(label_value, 0.0) + value
        return sums

    def labels(self, name: str) -> dict[str, str]:
        """Return the labels of the first sample of that name; none if there is no such sample."""
        return next((dict(has) for key, has in self.samples if key == name), {})
