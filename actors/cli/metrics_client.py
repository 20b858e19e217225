"""A client that reads the metrics of a run in another process: scrapes, their numbers, and the changes between two."""

from __future__ import annotations

import math
import os
import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import httpx
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from actors.core.errors import RunDirectoryError, WatchError
from actors.core.files import json_value, read_json
from actors.core.ports import Address
from actors.metrics.access import PASSWORD
from actors.record.lock import LOCK, holder_of
from actors.record.manifest import MANIFEST, read_manifest, read_summary
from actors.runs.directory import ADDRESS, RunDirectory
from prism.quoting import printable

HEADERS = {"Accept": "text/plain", "User-Agent": "prism-watch"}
TIMEOUT_S = 5.0
ERRNO = re.compile(r"^\[Errno -?\d+\] ")


class MetricsClient:
    """A client of a run's metrics.

    Args:
        run: the address, or the run's directory: after a resume, a run may have another address.
        user: the user name.
        ca: a file of certificates that are trusted too.
    """

    def __init__(self, run: str, user: str | None = None, ca: Path | None = None) -> None:
        self.name = run
        """The address or the directory, as it was given."""
        self._url = run if run.startswith(("http://", "https://")) else None
        self._directory = Path(run)
        self._user = user
        self._ca = ca
        if self._url is None and not self._directory.is_dir():
            raise click.UsageError(f"{run}: expected an address that begins with http, or the directory of a run")
        if self._url is None and not any((self._directory / name).exists() for name in (MANIFEST, ADDRESS)):
            raise click.UsageError(f"{run}: is no run's directory: it has no {MANIFEST}")

    def read(self) -> Scrape:
        """Read the metrics now.

        Raises:
            WatchError: there are no metrics, or they cannot be read.
        """
        text = self._get("/metrics")
        url = self._page("/metrics")
        try:
            scrape = Scrape.parse(text, time.monotonic())
        except ValueError:
            raise WatchError(url, "is no page of metrics") from None
        if not scrape.value("prism_population") and not scrape.value("prism_run_phase"):
            raise WatchError(url, "shows no run yet")
        return scrape

    def events(self) -> tuple[dict[str, Any], ...]:
        """Read the latest events, the oldest first; none if they cannot be read, as from a version without them."""
        try:
            lines = self._get("/events").splitlines()
            return tuple(event for event in map(json_value, lines) if isinstance(event, dict))
        except (WatchError, ValueError):
            return ()

    def _page(self, path: str) -> str:
        return f"{self._address().url.rstrip('/').removesuffix('/metrics')}{path}"

    def _get(self, path: str) -> str:
        address, url = self._address(), self._page(path)
        user = self._user or address.username
        try:
            with httpx.Client(trust_env=False, timeout=TIMEOUT_S, verify=self._trust(address)) as client:
                auth = (user, os.environ.get(PASSWORD, "")) if user else None
                answer = client.get(url, auth=auth, headers=HEADERS)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise WatchError(url, ERRNO.sub("", str(error)) or type(error).__name__) from None
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise WatchError(url, f"needs --user NAME and its password in ${PASSWORD}")
        if answer.status_code != httpx.codes.OK:
            raise WatchError(url, f"answered {answer.status_code}")
        return answer.text

    def end_words(self, reason: str, ticks: int, detail: str) -> str:
        """Return the end of the run in words.

        Args:
            reason: one of `actors.core.phase.ENDS`.
            ticks: committed.
            detail: of the reason; may be empty.
        """
        if reason.startswith("done"):
            return f"{self.name}: {reason.replace('_', ' ')} after {ticks:,} ticks"
        what = "ended by an error" if reason == "error" else f"stopped by {reason}"
        why = f" ({printable(detail)})" if detail else ""
        again = "" if self._url is not None else f"; continue with: prism resume {self._directory}"
        return f"{self.name}: {what}{why} after {ticks:,} ticks{again}"

    @property
    def outcome(self) -> str | None:
        """The end of the run in the directory, in words; None while the run is under way, and for an address."""
        if self._url is not None:
            return None
        if (self._directory / ADDRESS).exists():
            if holder_of(self._directory) is not None or not (self._directory / LOCK).exists():
                return None
            return f"{self._directory}: its process is gone; continue with: prism resume {self._directory}"
        directory = RunDirectory(self._directory)
        with suppress(RunDirectoryError):
            if (stop := read_manifest(directory.path).stopped) is not None:
                end = f"stopped by {stop} after {stop.tick:,} ticks"
                return f"{self._directory}: {end}; continue with: prism resume {self._directory}"
        summary = read_summary(directory.path)
        if not summary:
            return None
        status = str(summary.get("status")).replace("_", " ")
        return f"{self._directory}: {status} after {summary.get('ticks')} ticks"

    def intervals(self, every_s: float, window_s: float) -> Iterator[tuple[Interval | None, str]]:
        """Yield `(the latest window_s seconds, "")`, or `(None, the problem)`, every `every_s` seconds."""
        scrapes: deque[Scrape] = deque()
        while True:
            try:
                scrapes.append(self.read())
            except WatchError as error:
                yield None, str(error)
            else:
                while scrapes[-1].moment_s - scrapes[0].moment_s > window_s:
                    scrapes.popleft()
                yield Interval(scrapes[0], scrapes[-1]), ""
            time.sleep(every_s)

    def _address(self) -> Address:
        if self._url is not None:
            return Address(url=self._url)
        path = self._directory / ADDRESS
        try:
            return read_json(path, Address)
        except FileNotFoundError:
            raise WatchError(
                str(self._directory), f"has no {ADDRESS}: the run has ended, or was started without metrics.enabled"
            ) from None
        except OSError as error:
            raise WatchError(str(path), f"cannot be read: {error.strerror or error}") from None

    def _trust(self, address: Address) -> ssl.SSLContext | bool:
        extra = self._ca or address.tls_cert
        if extra is None:
            return True
        context = ssl.create_default_context()
        try:
            context.load_verify_locations(extra)
        except OSError:
            raise WatchError(str(extra), "holds no certificates") from None
        return context


Key = tuple[str, frozenset[tuple[str, str]]]


class Scrape(msgspec.Struct, frozen=True):
    """The numbers of one page.

    Args:
        moment_s: the time of reading, on the reader's clock.
        samples: `{(name, labels): value}`, in the order of the page.
    """

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
                # A server's text goes to a terminal, which would act on control characters.
                labels = frozenset((name, printable(value)) for name, value in sample.labels.items())
                samples[sample.name, labels] = sample.value
        return cls(moment_s, samples)

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the samples of that name with at least these labels; 0 if there is none."""
        wanted = labels.items()
        return sum(value for (key, has), value in self.samples.items() if key == name and wanted <= has)

    def has(self, name: str) -> bool:
        """Return whether there is a sample of that name."""
        return any(key == name for key, _ in self.samples)

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


class Interval(msgspec.Struct, frozen=True):
    """The changes between two scrapes. A counter falls if the process was started again between them."""

    before: Scrape
    after: Scrape

    def growth(self, read: Callable[[Scrape], float]) -> float:
        """Return the growth of a counter."""
        return max(0.0, read(self.after) - read(self.before))

    def rate(self, read: Callable[[Scrape], float]) -> float:
        """Return the growth of a counter a second."""
        elapsed_s = self.after.moment_s - self.before.moment_s
        return self.growth(read) / elapsed_s if elapsed_s > 0 else 0.0

    def quantile(self, share: float, name: str, **labels: str) -> float | None:
        """Return a quantile of a histogram's observations in the interval, or of all observations if it has none.

        It is interpolated within its bucket, as in Prometheus; None if there are no observations at all.
        """
        return _quantile(share, self._buckets(name, labels)) or _quantile(share, _buckets(self.after, name, labels))

    def _buckets(self, name: str, labels: Mapping[str, str]) -> dict[float, float]:
        before = _buckets(self.before, name, labels)
        return {bound: count - before.get(bound, 0.0) for bound, count in _buckets(self.after, name, labels).items()}


def _buckets(scrape: Scrape, name: str, labels: Mapping[str, str]) -> dict[float, float]:
    """Return `{upper bound: observations up to it}`, ascending."""
    sums: dict[float, float] = {}
    for (key, has), value in scrape.samples.items():
        if key == f"{name}_bucket" and labels.items() <= has:
            bound = float(dict(has)["le"])
            sums[bound] = sums.get(bound, 0.0) + value
    return dict(sorted(sums.items()))


def _quantile(share: float, buckets: Mapping[float, float]) -> float | None:
    total = max(buckets.values(), default=0.0)
    if total <= 0 or min(buckets.values()) < 0:
        return None
    lower, below = 0.0, 0.0
    for bound, count in buckets.items():
        if count >= share * total and count > below:
            if math.isinf(bound):
                return lower  # the last bucket has no upper bound
            return lower + (bound - lower) * (share * total - below) / (count - below)
        lower, below = bound, count
    return lower
