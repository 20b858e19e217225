"""A number that a world shows while it runs, for metrics and displays."""

from __future__ import annotations

from typing import Literal

import msgspec

from prism.checked import Checked


class Measure(Checked, frozen=True, kw_only=True):
    """One number of a world at the end of a tick.

    A world has the same measures, by name and labels, from its first tick to its last, however many agents it has.

    Args:
        name: in base units and with a prefix of its own, such as `prism_posts_total`; a counter ends in `_total`.
        help: what it counts or measures, in one line.
        kind: a `counter` never falls, a `gauge` may.
        labels: `{label: value}`, each value from a small fixed set.
        value: the number.
    """

    name: str
    help: str
    kind: Literal["counter", "gauge"]
    value: float
    labels: dict[str, str] = msgspec.field(default_factory=dict)
