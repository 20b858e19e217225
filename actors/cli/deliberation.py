"""The time that people deliberate, in words: its ticks, and how long a call may take before the clock waits for it."""

from __future__ import annotations

from actors.display.words import plain
from prism.config import Config


def deliberation(config: Config) -> str | None:
    """Return how many ticks people deliberate and what that hides; None in a domain in which nobody does."""
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
    """Return what people's deliberation hides, as a name and a text; None where nobody deliberates.

    Args:
        tick_s: the seconds that the work of a tick takes.
        latency_s: the seconds of a call.
        calls_per_tick: the calls that a tick has in the mean. Only `oracle.max_concurrency` of them are made at once,
            so they may hold up the clock where one alone does not.
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
