"""The settings of this domain, below `domain` in a configuration."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from prism.config import Section


class Settings(Section, frozen=True, kw_only=True):
    """The lights and their traffic."""

    lights: Annotated[int, Meta(ge=1, le=100_000, description="number of traffic lights")] = 4
    arrivals: Annotated[float, Meta(ge=0.0, le=1.0, description="probability that a car comes in a tick")] = 0.4
    cars_per_green: Annotated[int, Meta(ge=1, description="cars that pass each time a light turns green")] = 2
    patience: Annotated[int, Meta(ge=0, description="waiting cars for which a light turns green again")] = 2
