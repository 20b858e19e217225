"""A world and its actors put down between any two ticks and taken up again go on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.checkpoint import RunState
from actors.engine import EngineState
from actors.frames import ORIGIN
from actors.simulation import Simulation
from prism.columns import Column, Columns
from prism.config import Config
from prism.social.chart import SOCIAL_CHART
from prism.social.domain import SocialDomain
from prism.social.population import build_population
from prism.statechart import Oracle, Statechart
from tests.actors.crossings import FaultError
from tests.actors.oracles import ScriptedOracle, SlowOracle
from tests.actors.runs import SMALL, with_oracle, with_run, with_simulation
from tests.schedules import run_scheduled

TICKS = SMALL.simulation.length
Taken = tuple[bytes, RunState, list[Column]]
"""The link, what the actors hold, and the world's columns after a tick."""


def crashing(every: int) -> Statechart[Any]:
    """The social chart, in which every so many people crash whenever they see a post."""

    def crash(agent: Any, _: Any) -> None:
        if agent.agent_id % every == 0:
            raise FaultError("on seeing a post")

    rows = (
        msgspec_replace(row) if row.trigger != "sees_post" else msgspec_replace(row, action=crash)
        for row in SOCIAL_CHART.transitions
    )
    return Statechart(states=SOCIAL_CHART.states, initial=SOCIAL_CHART.initial, transitions=tuple(rows))
