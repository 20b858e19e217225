"""`prism doctor`: shows what is installed, and whether the oracle answers."""

from __future__ import annotations

import logging
import os
import platform
from contextlib import aclosing, closing
from functools import partial
from importlib.metadata import version
from pathlib import Path

import anyio
import click
import msgspec
from msgspec.structs import replace

from actors.cli.command import command
from actors.cli.forecast import rows as forecast_rows
from actors.cli.options import set_option
from actors.cli.render import show, table
from actors.cli.trust import TRUST
from actors.factory.config_file import read_config, read_settings
from actors.factory.domains import is_own
from actors.factory.oracle_backends import check_models, make_model
from actors.logs.output import output
from actors.runs.forecast import Asked, first_question, forecast
from prism.agents.turn import Question, turn
from prism.config import Config
from prism.economy.domain import EconomyDomain
from prism.economy.initial import initial_state
from prism.economy.nation import Proposed
from prism.economy.oracle import EconomyOracle
from prism.errors import OracleError, OracleUnavailableError
from prism.llm import Health, LanguageModel, LLMClient, LLMFailureException, Tape
from prism.llm.tape import FORMAT
from prism.statechart import Answer

PACKAGES = ("prism-sim", "anyio", "click", "igraph", "msgspec", "numpy", "ollama", "rich", "structlog", "xxhash")


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
    asked = first_question(settings) if is_own(settings) else None
    health, proposed, decided = anyio.run(_check_model, settings, asked)
    rows = [
        ("oracle", f"{health.server} at {settings.llm.host}"),
        ("model", health.model),
        *((f"model for {settings.llm.by.attribute} {value}", name) for value, name in settings.llm.by.models.items()),
        ("answers by", health.dialect),
        ("latency", f"{health.latency_s:.3f} s"),
    ]
    if proposed is not None:
        again = ", at the second attempt" if proposed.chain.retry_count else ""
        rows.append(("policy", f"answered {proposed.decision.action!r}"))
        rows.append(("policy latency", f"{proposed.chain.duration_ms / 1000:.3f} s{again}"))
    elif decided is not None:
        rows.append(("question", f"answered {str(decided.state)!r}"))
    elif health.note:  # about the choices of people; a policy has none
        rows.append(("note", health.note))
    latency_s = health.latency_s if proposed is None else proposed.chain.duration_ms / 1000
    return rows + forecast_rows(settings, forecast(settings, max(latency_s, 0.001)))


async def _check_model(settings: Config, asked: Asked | None) -> tuple[Health, Proposed | None, Answer | None]:
    """Return the health of the server, in an economy the policy that the model proposes, and its answer to a question.

    Args:
        asked: the first question of a run in a domain of its own; None if there is none.
    """
    log, discarding = logging.getLogger("prism"), logging.NullHandler()
    async with aclosing(make_model(settings)) as model:
        health = await check_models(settings, model)
        log.addHandler(discarding)  # the doctor prints all that `prism` would log
        try:
            if settings.simulation.domain == "economy":
                return health, await _propose(settings, model), None
            answer = None if asked is None else await asked.put_to(asked.domain.oracle(model))
            return health, None, answer
        except LLMFailureException as error:
            whose = "an economy's question" if asked is None else "the first question of the run"
            raise OracleUnavailableError(
                f"{health.server} at {settings.llm.host} is there, but {health.model} gives no usable answer to "
                f"{whose}: {error.reason}: {error.detail}; a run would end there"
            ) from error
        finally:
            log.removeHandler(discarding)


async def _propose(settings: Config, model: LanguageModel) -> Proposed:
    """Return the first nation's proposal in an economy that starts without a file."""
    domain = EconomyDomain(settings, initial_state(replace(settings.economy.initial, path=None)))
    trigger = domain.world.triggers(0)[0]
    question = turn(domain.chart, domain.agent(trigger.agent), trigger)
    if not isinstance(question, Question):
        raise OracleError(f"the nation {settings.economy.nations[0]!r} had nothing to ask about {trigger.name!r}")
    asker = domain.asker(question)
    # Asked as in a run, but by clients that ask a second time themselves.
    ask = partial(LLMClient, model, seed=settings.llm.seed)
    oracle = EconomyOracle(domain.model_components(lambda component: ask(component=component)))
    options = domain.chart.valid_targets(asker.state, question.trigger)
    answer = await oracle.answer(asker, asker.state, question.trigger, options, question.context)
    return msgspec.json.decode(answer.content, type=Proposed)


def _check_tape(settings: Config) -> list[tuple[str, str]]:
    """Return what is known of the tape that a replay reads, instead of the server."""
    path = Path(settings.oracle.tape_path or "")
    model = make_model(settings)
    asked = model.identity
    anyio.run(model.aclose)
    with closing(Tape(path, "replay")) as tape:
        header, counts = tape.required_header(), tape.statistics()
    differences = header.differences(asked)
    rows = [
        ("oracle", f"tape {path}, replayed: no server is asked"),
        ("tape", f"format {FORMAT}; answers {counts.answers:,}, failed calls {counts.failures:,}"),
        ("fallbacks", f"{counts.fallbacks:,}"),
        ("recorded from", header.health.server),
        ("model", header.health.model),
        ("answered by", header.identity.dialect),
    ]
    if differences:
        rows.append(("note", f"recorded with {' and '.join(differences)}: the replay will miss answers"))
    return rows
