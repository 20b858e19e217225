"""The forecast of a run, and the time that people deliberate, as rows for `prism validate` and `prism doctor`."""

from __future__ import annotations

from actors.display.words import amount_of, duration, plain, usd
from actors.runs.forecast import FACTOR, Forecast
from prism.config import Config
from prism.sharing.settings import calls_a_judgement


def rows(config: Config, forecast: Forecast) -> list[tuple[str, str]]:
    """Return the calls, tokens, dollars and hours of a run, and the waits that deliberation hides."""
    oracle = config.oracle
    read, written = forecast.prompt_tokens, forecast.completion_tokens
    about = "at most about" if oracle.sharing.by == "archetype" else "about"
    calls = f"{about} {_rounded(forecast.calls)}{_cap(oracle.max_calls, forecast.calls, 'max_calls')}"
    if oracle.sharing.by == "archetype":
        calls += f" ({_shared_by(config)}) for about {_rounded(forecast.questions)} questions"
    tokens = (
        f"about {_rounded(read)} in, {_rounded(written)} out{_cap(oracle.max_tokens, read + written, 'max_tokens')}"
    )
    at_once = f"{plain(forecast.latency_s, 3)} s a call and up to {oracle.max_concurrency} at once"
    rehearsal = f"{forecast.ticks:,} ticks of {forecast.agents:,} agents without a model"
    found = [
        ("calls", calls),
        ("tokens", tokens),
        ("cost", _cost(config, forecast.usd)),
        ("time", f"at least {duration(forecast.hours * 3600)}, at {at_once}"),
        ("forecast from", f"{rehearsal}; usually right within a factor of {FACTOR}"),
    ]
    calls_per_tick = forecast.calls / config.simulation.length
    if (hidden := hidden_row(config, forecast.tick_s, forecast.latency_s, calls_per_tick)) is not None:
        found.insert(-1, hidden)
    return found


def _shared_by(config: Config) -> str:
    """Return the things that decide how many calls a run makes whose questions share judgements."""
    found = "audits, and each archetype of the rehearsal"
    if config.llm.method == "auto" and (calls := calls_a_judgement(config)) > 1:
        found += f"; {calls} times as many if the server has no probabilities"
    return found


def needed_rows(config: Config, forecast: Forecast) -> list[tuple[str, str]]:
    """Return the time, memory and disk that a run in one process takes of this machine, as names and texts."""
    return [
        ("this machine", f"about {duration(config.simulation.length * forecast.tick_s)} to run without a model"),
        ("memory", f"about {amount_of(forecast.memory_bytes)}"),
        ("journal", f"about {amount_of(forecast.journal_bytes)} on the disk, and some checkpoints"),
    ]


def _cost(config: Config, amount: float | None) -> str:
    if amount is None:
        return "unknown: set llm.prices.input and llm.prices.output"
    most = config.oracle.max_usd
    capped = "" if most is None or amount < most else f"; the run stops at oracle.max_usd {usd(most)}"
    return f"about {usd(amount)}{capped}"


def _cap(most: int | None, expected: int, name: str) -> str:
    return "" if most is None or expected < most else f"; oracle.{name} is {most:,}"


def _rounded(number: int) -> str:
    """Return a number with two significant digits: a forecast knows no more."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"


def deliberation(config: Config) -> str | None:
    """Return how many ticks people deliberate, and the waits that this hides; None in a domain without deliberation."""
    if not config.deliberates:
        return None
    minutes, ticks, tick_s = config.population.deliberation_minutes, config.deliberation_ticks, config.run.tick_s
    if not ticks:
        return f"deliberation: none, so a decision takes effect in the tick of its question{_wait(config)}"
    of_simulated_time = f"{ticks:,} {_ticks(ticks)} of {config.simulation.tick_seconds:g} s"
    told = f"deliberation: {minutes:g} simulated minutes are {of_simulated_time}"
    if config.oracle.backend == "choice":
        return f"{told}; the embedded oracle answers at once"
    late = "a later answer is a fallback" if config.oracle.mode == "realtime" else "the clock waits for a longer one"
    hides = f"calls of up to {plain(ticks * tick_s, 3)} s" if tick_s else "no more of a call than they take"
    return f"{told}, which hide {hides} (run.tick_s {tick_s:g}); {late} (llm.timeout_s {config.llm.timeout_s:g})"


def hidden_row(config: Config, tick_s: float, latency_s: float, calls_per_tick: float = 0.0) -> tuple[str, str] | None:
    """Return the waits that people's deliberation hides, as a name and a text; None if nobody deliberates.

    Args:
        tick_s: the seconds that the work of a tick takes.
        latency_s: the seconds of a call.
        calls_per_tick: the mean number of calls in a tick. Only `oracle.max_concurrency` of them are made at once, so
            together they may hold up the clock where a single call does not.
    """
    ticks = config.deliberation_ticks
    if not ticks:
        return None
    paced = max(tick_s, config.run.tick_s)
    hidden_s = ticks * paced
    told = f"{ticks:,} {_ticks(ticks)} of about {plain(paced)} s hide calls of up to {plain(hidden_s)} s"
    a_call = f"{plain(latency_s, 3)} s"
    calls_s = calls_per_tick / config.oracle.max_concurrency * latency_s
    if calls_s > max(paced, latency_s / ticks):
        of_a_tick = f"the calls of a tick need about {plain(calls_s)} s at {config.oracle.max_concurrency:,} at once"
        return "deliberation", f"{told}; {of_a_tick}, so they hold up the clock"
    if latency_s <= hidden_s:
        return "deliberation", f"{told}; one of {a_call} does not hold up the clock"
    needed = f"run.tick_s {plain(latency_s / ticks)} would hide one of {a_call}"
    return "deliberation", f"{told}; the clock waits for longer ones, and {needed}"


def _wait(config: Config) -> str:
    return "" if config.oracle.backend == "choice" else ", and the clock waits for every call"


def _ticks(number: int) -> str:
    return "tick" if number == 1 else "ticks"
