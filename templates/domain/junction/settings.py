"""The settings of this domain, below `domain` in a configuration."""

from __future__ import annotations

from prism.config import Section, setting


class Settings(Section):
    """The lights and their traffic."""

    lights: int = setting(4, "number of traffic lights", ge=1, le=100_000)
    arrivals: float = setting(0.4, "probability that a car comes in a tick", ge=0.0, le=1.0)
    cars_per_green: int = setting(2, "cars that pass each time a light turns green", ge=1)
    patience: int = setting(2, "waiting cars for which a light turns green again", ge=0)
