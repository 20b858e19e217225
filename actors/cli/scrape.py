"""Scrapes: the numbers on a page of metrics, and the changes between two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from prism.quoting import printable

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
        """Return the sum of the samples of that name with at least these labels; 0 for none."""
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
        """Return a quantile of a histogram's observations in the interval, or of all if there were none in it.

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
