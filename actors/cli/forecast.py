"""The forecast of a run, and the time that people deliberate, as rows for `prism validate` and `prism doctor`."""

from __future__ import annotations

from actors.display.words import duration, plain, usd
from actors.runs.forecast import FACTOR, Forecast
from prism.config import Config
from prism.sharing.table import calls_a_judgement
from prism.wording import counted


def rows(config: Config, forecast: Forecast) -> list[tuple[str, str]]:
    """Return the calls, tokens, dollars and hours of a run."""
    oracle = config.oracle
    read, written = forecast.prompt_tokens, forecast.completion_tokens
    about = "at most about" if oracle.sharing.by == "archetype" else "about"
    calls = f"{about} {_rounded(forecast.calls)}{_cap(oracle.max_calls, forecast.calls, 'max_calls')}"
    if oracle.sharing.by == "archetype":
        by = "audits, and each archetype of the rehearsal"
        if config.llm.method == "auto" and (times := calls_a_judgement(config)) > 1:
            by += f"; {times} times as many if the server has no probabilities"
        calls += f" ({by}) for about {_rounded(forecast.questions)} questions"
    tokens = (
        f"about {_rounded(read)} in, {_rounded(written)} out{_cap(oracle.max_tokens, read + written, 'max_tokens')}"
    )
    cost, most = "unknown: set llm.prices.input and llm.prices.output", oracle.max_usd
    if forecast.usd is not None:
        capped = "" if most is None or forecast.usd < most else f"; the run stops at oracle.max_usd {usd(most)}"
        cost = f"about {usd(forecast.usd)}{capped}"
    at_once = f"{plain(forecast.latency_s, 3)} s a call and up to {oracle.max_concurrency} at once"
    rehearsal = f"{forecast.ticks:,} ticks of {forecast.agents:,} agents without a model"
    return [
        ("calls", calls),
        ("tokens", tokens),
        ("cost", cost),
        ("time", f"at least {duration(forecast.hours * 3600)}, at {at_once}"),
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
