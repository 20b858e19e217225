"""`prism doctor`: what is installed, and whether the oracle answers."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from time import perf_counter

import anyio
import click
from rich.console import Console
from rich.table import Table

from prism.agents import SocialAgent
from prism.config import ChoiceConfig
from prism.errors import OracleError
from prism.social.choice import ChoiceOracle
from prism.statechart import AgentState

PACKAGES = ("prism-sim", "anyio", "click", "igraph", "msgspec", "numpy", "ollama", "rich", "structlog", "xxhash")


@click.command()
def doctor() -> None:
    """Show what is installed, what this machine has, and whether the oracle answers.

    Exit code 5 means that the oracle does not answer.
    """
    table = Table(show_header=False, box=None)
    table.add_row("python", f"{platform.python_version()} ({platform.python_implementation()})")
    table.add_row("machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    for package in PACKAGES:
        table.add_row(package, version(package))
    overriding = sorted(name for name in os.environ if name.startswith("PRISM_"))
    table.add_row("environment", ", ".join(overriding) or "no PRISM_ variables")
    state, latency_s = anyio.run(_ask_embedded_oracle)
    table.add_row("oracle choice", f"embedded, no server; answered {state.value!r} in {latency_s * 1e6:.0f} us")
    Console().print(table)


async def _ask_embedded_oracle() -> tuple[AgentState, float]:
    oracle = ChoiceOracle(ChoiceConfig(), seed=0)
    options = [AgentState.SCROLLING, AgentState.ENGAGING_LIKE]
    begun = perf_counter()
    state = await oracle.ask(SocialAgent(), AgentState.EVALUATING, "decides", options)
    if state not in options:
        raise OracleError(f"the embedded oracle answered {state!r}, which is not an option")
    return state, perf_counter() - begun
