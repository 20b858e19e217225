"""`prism doctor`: shows what is installed, and whether the oracle answers."""

from __future__ import annotations

import logging
import os
import platform
from contextlib import aclosing, closing
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import anyio
import click
import msgspec

from actors.cli.command import command
from actors.cli.options import TRUST, set_option
from actors.cli.render import show, table
from actors.cli.validate import forecast_rows
from actors.factory.config_file import read_config, read_settings
from actors.factory.domains import is_own
from actors.factory.oracle_backends import check_models, make_model
from actors.logs.output import output
from actors.runs.forecast import Asked, first_question, forecast
from prism.config import Config
from prism.economy.nation import Proposed
from prism.errors import OracleUnavailableError
from prism.llm import Health, LLMFailureException, Tape
from prism.llm.tape import FORMAT

PACKAGES = ("prism-sim", "anyio", "click", "igraph", "msgspec", "numpy", "ollama", "rich", "structlog", "xxhash")
TRIES = 2
"""The times that the first question of a run is asked: a run asks again, too."""


@command()
@click.argument("config", required=False, type=click.Path(path_type=Path))
@set_option("oracle.backend=ollama")
@TRUST
def doctor(config: Path | None, overrides: tuple[str, ...]) -> None:
    """Show what is installed, and whether the oracle answers.

    With CONFIG, or --set, the oracle that it names is checked: the server's version, the model, and how long it takes.
    That of an economy or a domain of your own is asked the first question of the run, too. With oracle.tape=replay it
    is the tape that is looked at. Exit code 5 means that it does not answer. For a model, the calls, tokens, dollars
    and hours of the configured run are estimated from a rehearsal without it.
    """
    settings = read_settings(overrides) if config is None else read_config(config, overrides)
    overriding = sorted(name for name in os.environ if name.startswith("PRISM_"))
    installed = [
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        *((package, version(package)) for package in PACKAGES),
        ("environment", ", ".join(overriding) or "no PRISM_ variables"),
    ]
    if output.as_json or output.is_quiet:
        show({"installed": dict(installed), "oracle": dict(_rows(settings))}, list)
        return
    # The first table is shown before the oracle is asked, which may take long or fail.
    show(installed, lambda: [table(("", ""), installed)])
    found = _rows(settings)
    show(found, lambda: [table(("", ""), found)])


def _rows(settings: Config) -> list[tuple[str, str]]:
    if settings.oracle.backend == "choice":
        answer = ""
        if is_own(settings):
            answer = "; not asked, because the beginning of the run has no question"
            if (first := first_question(settings)) is not None:
                answer = f"; answered {str(first.answer.state)!r} in {first.latency_s * 1e6:.0f} us"
        return [("oracle choice", f"embedded, no server{answer}")]
    if settings.oracle.tape == "replay":
        return _check_tape(settings)
    asked = first_question(settings) if settings.simulation.domain != "social" else None
    health, answered = anyio.run(_check_model, settings, asked)
    rows = [
        ("oracle", f"{health.server} at {settings.llm.host}"),
        ("model", health.model),
        *((f"model for {settings.llm.by.attribute} {value}", name) for value, name in settings.llm.by.models.items()),
        ("answers by", health.dialect),
        ("latency", f"{health.latency_s:.3f} s"),
    ]
    latency_s = health.latency_s
    if answered is not None:
        what, latency_s, calls = answered
        again = ", at the second attempt" if calls > 1 else ""
        rows.append(("question", f"answered {what!r} in {latency_s:.3f} s{again}"))
    elif health.note:  # about the choices of people
        rows.append(("note", health.note))
    return rows + forecast_rows(settings, forecast(settings, max(latency_s, 0.001)))


async def _check_model(settings: Config, asked: Asked | None) -> tuple[Health, tuple[str, float, int] | None]:
    """Return the health of the server, and its answer to a question in a word, with the seconds and calls that it took.

    Args:
        asked: the first question of a run of nations or of a domain of its own; None if there is none.
    """
    log, discarding, failures = logging.getLogger("prism"), logging.NullHandler(), list[LLMFailureException]()
    async with aclosing(make_model(settings)) as model:
        health = await check_models(settings, model)
        if asked is None:
            return health, None
        log.addHandler(discarding)  # the doctor prints all that `prism` would log
        try:
            while len(failures) < TRIES:
                begun = perf_counter()
                try:
                    answer = await asked.put_to(asked.domain.oracle(model))
                except LLMFailureException as error:
                    failures.append(error)
                    continue
                is_policy = settings.simulation.domain == "economy"
                what = msgspec.json.decode(answer.content, type=Proposed).decision.action if is_policy else answer.state
                return health, (str(what), perf_counter() - begun, len(failures) + 1)
        finally:
            log.removeHandler(discarding)
    last = failures[-1]
    raise OracleUnavailableError(
        f"{health.server} at {settings.llm.host} is there, but {health.model} gives no usable answer to the first "
        f"question of the run: {last.reason}: {last.detail}; a run would end there"
    ) from last


def _check_tape(settings: Config) -> list[tuple[str, str]]:
    """Return what is known of the tape that a replay reads, instead of the server."""
    path = Path(settings.oracle.tape_path or "")
    model = make_model(settings)
    asked = model.identity
    anyio.run(model.aclose)
    with closing(Tape(path, "replay")) as tape:
        header, counts = tape.required_header(), tape.statistics()
    differences, answers = header.differences(asked), counts["completion"] + counts["distribution"]
    rows = [
        ("oracle", f"tape {path}, replayed: no server is asked"),
        ("tape", f"format {FORMAT}; answers {answers:,}, failed calls {counts['failed']:,}"),
        ("fallbacks", f"{counts['forgone']:,}"),
        ("recorded from", header.health.server),
        ("model", header.health.model),
        ("answered by", header.identity.dialect),
    ]
    if differences:
        rows.append(("note", f"recorded with {' and '.join(differences)}: the replay will miss answers"))
    return rows
