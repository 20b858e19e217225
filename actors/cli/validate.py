"""`prism validate`: checks a configuration and its input files. What it says of a run, other commands say, too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import anyio

from actors.cli.command import command, flag
from actors.cli.options import TRUST, choose_config, with_settings
from actors.cli.render import show
from actors.display.words import duration, plain, usd
from actors.display.work import SHOWN_AFTER_S, Standing, progress_shown
from actors.factory.config_file import placing, read_config
from actors.factory.domains import BuiltDomain, build_domain, lines_of_domain, no_effect_of
from actors.factory.oracle_backends import check_oracle
from actors.runs.forecast import FACTOR, Forecast, MeasuringModel, first_question, forecast
from prism.config import Config
from prism.domain import said_by
from prism.llm.oracle import SocialModelOracle
from prism.llm.prompt import NEEDED
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
    """Return the calls, tokens, dollars and hours of a run."""
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
    """Build the domain of a configuration, and show the step and its time if it takes long."""
    step, begun = "building", perf_counter()

    def begin(next_step: str) -> None:
        nonlocal step, begun
        step, begun = next_step, perf_counter()

    with progress_shown(lambda: Standing(f"{step}, {duration(perf_counter() - begun)}"), after_s=SHOWN_AFTER_S):
        return build_domain(config, begin)
