from __future__ import annotations

import prometheus_client
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from actors.metrics.snapshot import Histogram

BOUNDS = (0.1, 0.5, 1.0)


@given(values=st.lists(st.floats(0, 2) | st.sampled_from(BOUNDS), max_size=50))
def test_it_counts_as_the_prometheus_client_does(values: list[float]) -> None:
    ours = Histogram(BOUNDS)
    registry = CollectorRegistry()
    theirs = prometheus_client.Histogram("seconds", "Theirs.", buckets=BOUNDS, registry=registry)
    for value in values:
        ours.observe(value)
        theirs.observe(value)
    counts, seen = ours.counts(), 0
    for bound, count in zip(("0.1", "0.5", "1.0", "+Inf"), counts.counts, strict=True):
        seen += count
        assert registry.get_sample_value("seconds_bucket", {"le": bound}) == seen
    assert registry.get_sample_value("seconds_sum") == counts.total
