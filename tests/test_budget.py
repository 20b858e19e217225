"""The work of one step, counted: calls of functions and of methods, which no busy machine changes.

A regression in time hides in the noise of a machine; one more call in every step does not. Where a count rises for a
good reason, raise its budget; where it falls, lower it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from prism.agents import SocialAgent, Trigger, turn
from prism.social.chart import SOCIAL_CHART
from prism.social.posts.post import PostView
from tests.social.people import view as view_of

VIEW = view_of()
ROOT = Path(__file__).resolve().parents[1]
SLACK = 0.5
"""Calls a step that depend on when the event loop gets its turn."""
OURS = tuple(str(ROOT / room) for room in ("prism", "actors"))
KERNELS = ("_kernel.py", "kernel_rng.py", "kernel_delays.py", "prism/kernels.py", "expressions/source.py")
"""The modules of kernels: machine code makes no calls that cost anything."""


def calls(work: Callable[[], object]) -> int:
    """Return how many functions of this project run while something is done, without kernels, and builtins called."""
    count = 0

    def on_call(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        file = frame.f_code.co_filename
        if event in {"call", "c_call"} and file.startswith(OURS) and not file.endswith(KERNELS):
            count += 1

    before = sys.getprofile()
    sys.setprofile(on_call)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_firing_a_row_makes_few_calls() -> None:
    agent = SocialAgent(1, max_history_depth=0)

    def fire() -> None:
        for name in ("feed_ready", "sees_post", "ignores", "round_ends"):
            SOCIAL_CHART.fire(agent, name, VIEW)

    assert calls(fire) <= 4 * 4
    SOCIAL_CHART.fire(agent, "feed_ready")
    SOCIAL_CHART.fire(agent, "sees_post", VIEW)
    assert calls(lambda: SOCIAL_CHART.fire(agent, "decides", VIEW)) <= 10, "a row with a guard"


@pytest.mark.parametrize(
    ("name", "view", "budget"), [("feed_ready", None, 6), ("sees_post", VIEW, 6), ("decides", VIEW, 32)]
)
def test_a_turn_makes_few_calls(name: str, view: PostView | None, budget: int) -> None:
    agent = SocialAgent(1, max_history_depth=0)
    path = {"feed_ready": (), "sees_post": ("feed_ready",), "decides": ("feed_ready", "sees_post")}[name]
    for before in path:
        turn(SOCIAL_CHART, agent, Trigger(1, 1, before, VIEW))
    assert calls(lambda: turn(SOCIAL_CHART, agent, Trigger(2, 1, name, view))) <= budget


@pytest.mark.parametrize(
    ("way", "people", "budget"),
    [("resident", 300, 70.0), ("compiled", 300, 18.0), ("compiled", 3000, 3.1)],
)
def test_a_run_makes_few_calls_for_each_activation(
    way: Any, people: int, budget: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "actors.runtime.activation.SLICE_S", 1e9
    )  # a busy machine would end more slices, each some calls
    config = read_settings([f"run.activation={way}", f"population.size={people}", "simulation.ticks=48"])
    simulation = Simulation(config, build_domain(config).domain)
    made = calls(lambda: anyio.run(simulation.run))
    assert made / simulation.counters.activations <= budget + SLACK
