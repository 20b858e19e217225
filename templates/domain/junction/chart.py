"""The chart: red, green, amber; after amber it is open whether to stop or to go on."""

from __future__ import annotations

from junction.light import Light, TrafficLight
from prism.statechart import Statechart, Transition


def cars_wait(light: TrafficLight, cars: int) -> bool:
    """Return whether cars wait at a light."""
    return cars > 0


# Without an answer of the oracle the first row is taken: a light that nobody answers turns red.
CHART = Statechart(
    states=Light,
    initial=Light.RED,
    transitions=(
        Transition("clock", Light.RED, Light.GREEN, guard=cars_wait),
        Transition("clock", Light.GREEN, Light.AMBER),
        Transition("clock", Light.AMBER, Light.RED, guard=lambda *_: True, oracle=True),
        Transition("clock", Light.AMBER, Light.GREEN, guard=lambda *_: True, oracle=True),
    ),
)
