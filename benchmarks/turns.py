"""The cost of a turn and its parts, against another checkout of PRISM: the two are measured alternately.

    git worktree add ../before COMMIT
    python -m benchmarks.turns --before ../before [--repeats 9]

Each measurement is a process of its own with the modules of one checkout, and counts processor time. The figure is the
least of all: whatever else the machine does only adds to it. Without `--before`, this checkout alone is measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

from prism.agents import SocialAgent, Trigger, turn
from prism.social.chart import SOCIAL_CHART
from prism.social.people.persona import Persona
from prism.social.posts.post import PostView
from prism.statechart import AgentState, Statechart, Transition

HERE = Path(__file__).resolve().parent.parent
CALLS = 4_000
PERSONA = Persona(name="Ada", interests=("science",), personality="")


def view(appeal: float) -> PostView:
    """Return a post whose relevance is nearly its appeal."""
    return PostView(
        id=1,
        author=2,
        author_name="Ben",
        text="A sentence as long as the ones people post.",
        topics=("science",),
        age_ticks=3,
        likes=4,
        replies=1,
        reshares=2,
        velocity=0.5,
        popularity=appeal,
        followed=False,
        topic_match=appeal,
        appeal=appeal,
        fatigue=0.2,
    )


DULL, TORN = view(0.0), view(0.5)


def person(state: AgentState = AgentState.IDLE) -> SocialAgent:
    """Return a person without a history, as in a run."""
    return SocialAgent(1, persona=PERSONA, state=state, seed=7, max_history_depth=0)


def fire_certain() -> None:
    """Fire rows without a guard."""
    agent, fire = person(), SOCIAL_CHART.fire
    for _ in range(CALLS // 2):
        fire(agent, "feed_ready")
        fire(agent, "round_ends")


def fire_guarded() -> None:
    """Fire a row whose guard is an expression of the chart, and one without."""
    agent, fire = person(AgentState.SCROLLING), SOCIAL_CHART.fire
    for _ in range(CALLS // 2):
        fire(agent, "sees_post", DULL)
        fire(agent, "decides", DULL)


def fire_function() -> None:
    """Fire a row whose guard is a Python function."""
    row = Transition("go", AgentState.IDLE, AgentState.IDLE, lambda _agent, _context: True)
    agent, fire = person(), Statechart(AgentState, [row], AgentState.IDLE).fire
    for _ in range(CALLS):
        fire(agent, "go")


def select_sure() -> None:
    """Select among rows with guards, of which one is enabled."""
    agent, select = person(AgentState.EVALUATING), SOCIAL_CHART.select
    for _ in range(CALLS):
        select(agent, "decides", DULL)


def select_torn() -> None:
    """Select among rows with guards, of which the oracle has to choose."""
    agent, select = person(AgentState.EVALUATING), SOCIAL_CHART.select
    for _ in range(CALLS):
        select(agent, "decides", TORN)


def turn_certain() -> None:
    """Take turns on rows without a guard."""
    agent = person()
    triggers: list[Trigger[PostView]] = [
        Trigger(tick, 1, ("feed_ready", "round_ends")[tick % 2]) for tick in range(CALLS)
    ]
    for trigger in triggers:
        turn(SOCIAL_CHART, agent, trigger)


def turn_guarded() -> None:
    """Take turns on posts that are scrolled past."""
    agent = person(AgentState.SCROLLING)
    triggers: list[Trigger[PostView]] = [
        Trigger(tick, 1, ("sees_post", "decides")[tick % 2], DULL) for tick in range(CALLS)
    ]
    for trigger in triggers:
        turn(SOCIAL_CHART, agent, trigger)


def construct() -> None:
    """Make people."""
    for number in range(CALLS):
        SocialAgent(number, persona=PERSONA, seed=7, max_history_depth=0)


WORK: dict[str, Callable[[], None]] = {
    "fire, no guard": fire_certain,
    "fire, guard of the chart and none": fire_guarded,
    "fire, guard in Python": fire_function,
    "select, one row enabled": select_sure,
    "select, the oracle's choice": select_torn,
    "turn, no guard": turn_certain,
    "turn, guard of the chart and none": turn_guarded,
    "a person made": construct,
}


def measured() -> dict[str, float]:
    """Return the seconds of processor time of each call: the least of 20, after one to warm up."""
    gc.disable()
    found = {}
    for name, work in WORK.items():
        work()
        times = []
        for _ in range(20):
            begun = process_time()
            work()
            times.append((process_time() - begun) / CALLS)
        found[name] = min(times)
    return found


def measured_in(checkout: Path) -> dict[str, float]:
    """Return the measurements of a process with the modules of a checkout."""
    command = [sys.executable, "-P", str(Path(__file__).resolve()), "--here"]
    done = subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print the times, and their ratios to those of the other checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each checkout")
    parser.add_argument("--here", action="store_true", help="print one measurement of the imported modules, as JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured()))
        return
    before, now = [], []
    for _ in range(options.repeats):
        now.append(measured_in(HERE))
        if options.before:
            before.append(measured_in(options.before.resolve()))
    for name in WORK:
        least = min(each[name] for each in now)
        line = f"{name:36} {least * 1e6:7.3f} us"
        if before:
            least_before = min(each[name] for each in before)
            line += f"  before {least_before * 1e6:7.3f} us  ratio {least / least_before:5.2f}"
        print(line)


if __name__ == "__main__":
    main()
