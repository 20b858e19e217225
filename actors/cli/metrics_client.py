"""A client that reads the metrics of a run in another process."""

from __future__ import annotations

import os
import re
import ssl
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import httpx
import msgspec

from actors.cli.scrape import Interval, Scrape
from actors.core.errors import RunDirectoryError, WatchError
from actors.core.files import read_regular
from actors.core.ports import Address
from actors.metrics.http_server import PASSWORD
from actors.record.lock import LOCK, holder_of
from actors.record.manifest import MANIFEST, RECORD_BYTES_MAX, read_manifest, read_summary
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
            WatchError: there are none, or they cannot be read.
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
            return tuple(event for event in map(msgspec.json.decode, lines) if isinstance(event, dict))
        except (WatchError, msgspec.MsgspecError):
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
        if summary is None:
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
            return msgspec.json.decode(read_regular(path, RECORD_BYTES_MAX), type=Address)
        except FileNotFoundError:
            raise WatchError(
                str(self._directory), f"has no {ADDRESS}: the run has ended, or was started without metrics.enabled"
            ) from None
        except (OSError, msgspec.MsgspecError) as error:
            raise WatchError(str(path), f"cannot be read: {error}") from None

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
