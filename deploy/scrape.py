"""The numbers of a page of metrics, as a test or a soak reads them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from prometheus_client.parser import text_string_to_metric_families

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
