"""`prism validate` and `prism doctor`: checks of a configuration, its input files, the machine and the oracle."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Sequence
from contextlib import aclosing, closing
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import anyio
import click
import msgspec

from actors.cli.command import command, flag
from actors.cli.options import TRUST, choose_config, set_option, with_settings
from actors.cli.render import show, table
from actors.display.progress import step_shown
from actors.display.words import duration, plain, usd
from actors.factory.config_file import placing, read_config, read_settings
from actors.factory.domains import BuiltDomain, build_domain, is_own, lines_of_domain, no_effect_of
from actors.factory.oracle_backends import check_models, check_oracle, make_model
from actors.logs.output import output
from actors.runs.forecast import FACTOR, Asked, Forecast, MeasuringModel, first_question, forecast
from prism.config import Config
from prism.domain import said_by
from prism.economy.nation import Proposed
from prism.errors import OracleUnavailableError
from prism.llm import Health, LLMFailureException, Tape
from prism.llm.oracle import SocialModelOracle
from prism.llm.prompt import NEEDED
from prism.llm.tape import FORMAT
from prism.no_effect import told
from prism.sharing.archetypes import calls_a_judgement
from prism.wording import counted


@command()
@with_settings
@TRUST
@flag(
    "--forecast",
    "foretells",
    help="Rehearse the beginning without a model, and say about how much time it takes, and how many "
    "calls, tokens, dollars and hours of a model.",
)
@flag("--prompt", "prompts", help="Show the prompt of the run's first question, and what was filled in.")
def validate(config: Path | None, overrides: Sequence[str], *, foretells: bool, prompts: bool) -> None:
    """Check a configuration and its files, and say what would be run.

    CONFIG is chosen as for `prism run`. All that a run makes before its first tick is made here, too. --prompt asks no
    model: it shows what one would be asked. A mistake is one line that names the file, the key and the line, and what
    was expected; the exit code is then 3.
    """
    path = choose_config(config, "checking")
    settings = read_config(path, overrides)
    with placing(path, overrides):
        built = build_with_progress(settings)
        if settings.metrics.enabled:
            from actors.metrics.endpoint import read_credentials, read_tls  # noqa: PLC0415  # most runs serve nothing

            read_tls(settings.metrics)
            read_credentials(settings.metrics, os.environ)
        check_oracle(settings)
    simulation, deliberates = settings.simulation, deliberation(settings)
    length = f"{simulation.rounds:,} rounds of {simulation.ticks_per_round} ticks ({simulation.length:,} ticks)"
    idle = told(no_effect_of(settings, built.domain))
    notes = [*said_by(built.domain).understood, *lines_of_domain(settings, built.domain), *idle]
    expected = dict[str, str]()  # the needs of the run of this machine and of a model, each in words
    if foretells:
        estimate = forecast(settings)
        seconds = settings.simulation.length * estimate.tick_s
        expected["this machine"] = f"about {duration(seconds)} to run without a model"
        if settings.oracle.backend == "choice":
            expected[""] = "oracle.backend is choice, which asks no model; a model would be asked as follows"
        expected |= forecast_rows(settings, estimate)
    prompt = _prompt(settings) if prompts else []
    lines = [
        f"{path}: ok: {built.domain.size:,} agents, {length}, seed {simulation.seed}, oracle {settings.oracle.backend}",
        *(f"{name}: ok: sha256 {sha256}" for name, sha256 in built.inputs.items()),
        *(notes if deliberates is None else [*notes, deliberates]),
        *(f"{name}: {text}" if name else text for name, text in expected.items()),
        *(line for part, text in prompt for line in (f"--- {part}", text)),
    ]
    record = {"config": path, "agents": built.domain.size, "ticks": simulation.length, "seed": simulation.seed}
    record |= {"oracle": settings.oracle.backend, "inputs": built.inputs, "notes": notes, "forecast": expected}
    record["prompt"] = [{"part": part, "text": text} for part, text in prompt]
    show(record, lambda: lines)


def _prompt(config: Config) -> list[tuple[str, str]]:
    """Return the roles and texts of the first prompt of a run, and last the texts that were filled in."""
    asked = first_question(config)
    if asked is None:
        return [("prompt", "the beginning of the run has no question")]
    oracle = asked.domain.oracle(model := MeasuringModel())
    anyio.run(asked.put_to, oracle)
    parts: list[tuple[str, str]] = [(message.role, message.content) for message in model.messages]
    if not isinstance(oracle, SocialModelOracle):
        return parts
    prompt = oracle.prompt(*asked.question)
    texts = {name: prompt.value(name) for name in prompt.template.placeholders if name not in NEEDED}
    filled = [f"{{{name}}}: {text}" for name, text in texts.items() if text]
    return [*parts, (f"filled in: template {prompt.template.sha256[:12]}", "\n".join(filled))]


def forecast_rows(config: Config, expected: Forecast) -> list[tuple[str, str]]:
    oracle = config.oracle
    read, written = expected.prompt_tokens, expected.completion_tokens
    about = "at most about" if oracle.sharing.by == "archetype" else "about"
    calls = f"{about} {_rounded(expected.calls)}{_cap(oracle.max_calls, expected.calls, 'max_calls')}"
    if oracle.sharing.by == "archetype":
        by = "audits, and each archetype of the rehearsal"
        if config.llm.method == "auto" and (times := calls_a_judgement(config)) > 1:
            by += f"; {times} times as many if the server has no probabilities"
        calls += f" ({by}) for about {_rounded(expected.questions)} questions"
    tokens = (
        f"about {_rounded(read)} in, {_rounded(written)} out{_cap(oracle.max_tokens, read + written, 'max_tokens')}"
    )
    cost, most = "unknown: set llm.prices.input and llm.prices.output", oracle.max_usd
    if expected.usd is not None:
        capped = "" if most is None or expected.usd < most else f"; the run stops at oracle.max_usd {usd(most)}"
        cost = f"about {usd(expected.usd)}{capped}"
    at_once = f"{plain(expected.latency_s, 3)} s a call and up to {oracle.max_concurrency} at once"
    rehearsal = f"{expected.ticks:,} ticks of {expected.agents:,} agents without a model"
    return [
        ("calls", calls),
        ("tokens", tokens),
        ("cost", cost),
        ("time", f"at least {duration(expected.hours * 3600)}, at {at_once}"),
        ("forecast from", f"{rehearsal}; usually right within a factor of {FACTOR}"),
    ]


def _cap(most: int | None, expected: int, name: str) -> str:
    return "" if most is None or expected < most else f"; oracle.{name} is {most:,}"


def _rounded(number: int) -> str:
    """Return a number with two significant digits: a forecast knows no more."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"


def deliberation(config: Config) -> str | None:
    """Return how many ticks people deliberate, and what a slower answer does; None in a domain without deliberation."""
    if not config.deliberates:
        return None
    minutes, ticks = config.population.deliberation_minutes, config.deliberation_ticks
    if not ticks:
        return "deliberation: none, so a decision takes effect in the tick of its question"
    of_time = f"{minutes:g} simulated minutes are {counted(ticks, 'tick')} of {config.simulation.tick_seconds:g} s"
    late = "a later answer is a fallback" if config.oracle.mode == "realtime" else "the clock waits for a longer one"
    is_embedded = config.oracle.backend == "choice"
    return f"deliberation: {of_time}; {'the embedded oracle answers at once' if is_embedded else late}"


def build_with_progress(config: Config) -> BuiltDomain:
    with step_shown("building") as begin:
        return build_domain(config, begin)


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
