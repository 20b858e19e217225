"""`prism doctor`: what is installed, and whether the oracle answers."""

from __future__ import annotations

import os
import platform
from contextlib import aclosing, closing
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import anyio
import click
from rich.console import Console
from rich.table import Table

from actors.backends import make_model
from actors.cli.options import read_config
from prism.agents import SocialAgent
from prism.config import ChoiceConfig, Config, load_config
from prism.errors import OracleError
from prism.llm import Health, Tape
from prism.social.choice import ChoiceOracle
from prism.statechart import AgentState

PACKAGES = ("prism-sim", "anyio", "click", "igraph", "msgspec", "numpy", "ollama", "rich", "structlog", "xxhash")


@click.command()
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override one setting, as in --set oracle.backend=ollama. May be repeated; the last one wins.",
)
def doctor(config: Path | None, overrides: tuple[str, ...]) -> None:
    """Show what is installed, what this machine has, and whether the oracle answers.

    With CONFIG, or --set, the oracle that it names is checked: the server's version, the model, and how long it takes;
    with oracle.tape=replay the tape: what is on it, and who was recorded. Exit code 5 means that it does not answer.
    """
    if config is None:
        settings = load_config(None, "defaults", environment=os.environ, overrides=overrides)
    else:
        settings = read_config(config, overrides)
    table = Table(show_header=False, box=None)
    table.add_row("python", f"{platform.python_version()} ({platform.python_implementation()})")
    table.add_row("machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    for package in PACKAGES:
        table.add_row(package, version(package))
    overriding = sorted(name for name in os.environ if name.startswith("PRISM_"))
    table.add_row("environment", ", ".join(overriding) or "no PRISM_ variables")
    console = Console(markup=False)  # paths and servers' words may have brackets
    console.print(table)
    console.print(_oracle(settings))


def _oracle(settings: Config) -> Table:
    """What the oracle says of itself.

    Raises:
        OracleUnavailableError: it does not answer.
    """
    table = Table(show_header=False, box=None)
    if settings.oracle.backend == "choice":
        state, latency_s = anyio.run(_ask_embedded_oracle)
        table.add_row("oracle choice", f"embedded, no server; answered {state.value!r} in {latency_s * 1e6:.0f} us")
        return table
    if settings.oracle.tape == "replay":
        for name, found in _check_tape(settings):
            table.add_row(name, found)
        return table
    health = anyio.run(_check_model, settings)
    table.add_row("oracle", f"{health.server} at {settings.llm.host}")
    table.add_row("model", health.model)
    table.add_row("answers by", health.dialect)
    table.add_row("latency", f"{health.latency_s:.3f} s")
    if health.note:
        table.add_row("note", health.note)
    return table


async def _ask_embedded_oracle() -> tuple[AgentState, float]:
    oracle = ChoiceOracle(ChoiceConfig(), seed=0)
    options = [AgentState.SCROLLING, AgentState.ENGAGING_LIKE]
    begun = perf_counter()
    state = await oracle.ask(SocialAgent(), AgentState.EVALUATING, "decides", options)
    if state not in options:
        raise OracleError(f"the embedded oracle answered {state!r}, which is not an option")
    return state, perf_counter() - begun


async def _check_model(settings: Config) -> Health:
    async with aclosing(make_model(settings)) as model:
        return await model.check()


def _check_tape(settings: Config) -> list[tuple[str, str]]:
    """What a replay will answer from, in place of the server.

    Raises:
        TapeError: the tape cannot be used.
    """
    path = Path(settings.oracle.tape_path or "")
    model = make_model(settings)
    asked = model.identity
    anyio.run(model.aclose)
    with closing(Tape(path, "replay")) as tape:
        head, held = tape.recorded_by(), tape.contents()
    differences = head.differences(asked)
    rows = [
        ("oracle", f"tape {path}, replayed: nobody will be asked"),
        ("tape", f"format {tape.format}; answers {held.answers:,}, failed calls {held.failures:,}"),
        ("fallbacks", f"{held.fallbacks:,}"),
        ("recorded from", head.health.server),
        ("model", head.health.model),
        ("answered by", head.identity.dialect),
    ]
    if differences:
        rows.append(("note", f"recorded with {' and '.join(differences)}: the replay will miss answers"))
    return rows
