"""The common part of `run`, `resume`, `fork` and `replay`: they execute a run with a display, and report its end."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
from rich.console import RenderableType
from rich.text import Text

from actors.cli.command import EXIT_SPENT
from actors.cli.render import facts_of, line, show, table
from actors.core.errors import ungrouped
from actors.core.phase import DONE, DONE_WITH_FALLBACKS, FALLBACK_SHARE, SPEND_CAP
from actors.display.progress import show_progress
from actors.display.words import duration, usd
from actors.display.work import GREETING, PREPARING, step_shown
from actors.factory.domains import show_of
from actors.logs.output import output, say
from actors.logs.setup import logging_to
from actors.metrics.observation import Observation
from actors.pages.words import interval, is_far
from actors.runs.execute import Display, Host, Run, execute_through_losses
from actors.runs.signals import EXIT_BASE
from actors.runs.summary import Summary
from actors.runtime.activation import way_of
from actors.runtime.gc_pause import share_one_heap
from actors.runtime.simulation import Progress, Simulation
from actors.store.oracle_log import answers_in
from prism.agents import FALLBACKS
from prism.distribution import SIZE_TOTALS
from prism.quoting import printable
from prism.show import Show
from prism.wording import counted

T = TypeVar("T")


class Terminal(Display):
    """A display of a run on the terminal."""

    def preparing(self) -> AbstractContextManager[None]:
        """Return a context that shows that the domain is being prepared, if that takes long."""
        return step_shown(PREPARING)

    def greeting(self) -> AbstractContextManager[None]:
        """Return a context that shows that the oracle is being greeted, if that takes long."""
        return step_shown(GREETING)

    def begin(self, run: Run, oracle: str) -> None:
        """Print what is run."""
        again = run.recorded.ticks - run.recorded.tick
        where = f", from tick {run.recorded.ticks:,}" if run.recorded.ticks else ""
        where += f" ({again:,} ticks are done again first)" if again else ""
        way = {"one_by_one": ", turns one by one", "compiled": ", turns many at once"}.get(
            way_of(run.config.run, run.domain), ""
        )
        say(
            f"{counted(run.domain.size, 'agent')}{way}, {counted(run.config.simulation.length, 'tick')}{where}, "
            f"seed {run.config.simulation.seed}; oracle: {oracle}"
        )

    async def show(self, progress: Callable[[], Progress]) -> None:
        """Show progress until cancelled."""
        await show_progress(progress)


def run_and_report(run: Run, observed: Observation, *, details: bool = False) -> None:
    """Run, write and show the summary, and exit with the code of the run's end. The caller holds the run's lock."""
    share_one_heap()
    if observed.address is not None:
        say(f"metrics at {observed.address.url}/metrics")
    host = Host(display=Display() if output.is_quiet else Terminal())
    summary = anyio.run(execute_through_losses, run, host, observed)
    path, going_on = run.directory.path, None
    if not summary.is_done:
        going_on = f"prism resume {path}"
        if summary.stopped_by == SPEND_CAP:  # the cap in dollars is named first
            caps = ("max_usd", "max_calls", "max_tokens")
            cap = next(name for name in caps if getattr(run.config.oracle, name) is not None)
            going_on += f" --accept-settings --set oracle.{cap}=..."
    show(
        {"directory": path, "next": going_on, **msgspec.json.decode(summary.to_json())},
        lambda: parts_of_end(summary, printable(str(path)), show_of(run.config), details=details),
        brief=summary.digest,
        is_narrow=True,
    )
    if not output.is_quiet:
        _print_fallbacks(summary, path)
    if going_on is not None:
        say(f"stopped; continue with: {going_on}")
    if summary.stopped_by in {SPEND_CAP, FALLBACK_SHARE}:
        sys.exit(EXIT_SPENT)
    if summary.stopped_by is not None:
        sys.exit(EXIT_BASE + signal.Signals[summary.stopped_by])


def _print_fallbacks(summary: Summary, path: Path) -> None:
    """Print how many choices were made without the oracle, and how to mend that."""
    if not summary.fallbacks_by_reason:
        return
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in summary.fallbacks_by_reason.items())
    text = f"{counted(summary.fallbacks, 'fallback')}, {100 * summary.fallback_share:.2g}% of the choices: {reasons}"
    first = min((each.asked for each in answers_in(path) if each.source in FALLBACKS), default=0)
    if summary.is_done and first:
        text += f"; to ask again from the first of them on: prism fork {path} --at {first}"
    if summary.stopped_by == FALLBACK_SHARE:
        text += (
            "; that is more than oracle.max_fallback_share; mend the server or the model before you go on, or allow "
            "more with --accept-settings --set oracle.max_fallback_share=..."
        )
    say(text, level="warning")


@contextmanager
def logging_trouble() -> Iterator[None]:
    """Return a context in which warnings of ticks that are done again go to standard error.

    Without it structlog would print every event to standard output. Events at INFO were shown in the first run, and are
    not shown again, unless the user asked for another level.
    """
    level = output.level
    with ExitStack() as log:
        output.level = logging.WARNING if level == logging.INFO else level
        try:
            log.enter_context(logging_to(None))  # which takes the level over
        finally:
            output.level = level
        yield


async def with_progress(function: Callable[[Callable[[Simulation], None]], Awaitable[T]], *, after_s: float = 0.0) -> T:
    """Call a function that runs simulations, one after the other, show their progress, and return its result."""
    simulations: list[Simulation] = []
    displays: list[anyio.CancelScope] = []
    with logging_trouble(), ungrouped():
        async with anyio.create_task_group() as tasks:

            async def show(scope: anyio.CancelScope) -> None:
                with scope:
                    await anyio.sleep(after_s)
                    # A lambda, because further simulations may begin.
                    await show_progress(lambda: simulations[-1].progress())  # noqa: PLW0108

            def on_begin(simulation: Simulation) -> None:
                is_anew = not simulations or simulation.tick < simulations[-1].tick  # and so not the next part of a run
                simulations.append(simulation)
                if is_anew and not output.is_quiet:
                    for before in displays:
                        before.cancel()
                    displays.append(anyio.CancelScope())
                    tasks.start_soon(show, displays[-1])

            result = await function(on_begin)
            tasks.cancel_scope.cancel()
    return result


TOLD = (
    *("in_words", "digest", "status", "stopped_by", "ticks", "rounds", "not_as_configured", "no_effect"),
    *("cascade_sizes", *SIZE_TOTALS),
)
"""The fields that are told elsewhere: above, below, or in the first sentence."""
TOTALS_MAX = 10
"""The most totals that are shown without details."""


def parts_of_end(summary: Summary, directory: str, show: Show, *, details: bool = False) -> Iterator[RenderableType]:
    """Yield the end of a run: how it ended, what was not as configured, totals, the digest and the directory.

    Args:
        directory: of its files.
        show: the names that a domain shows.
        details: all that was counted, too.
    """
    if summary.in_words:
        yield line(" ".join(summary.in_words))
        yield ""
    if summary.remarks:
        yield from (line(remark, "bold yellow") for remark in summary.remarks)
        yield ""
    yield _status(summary)
    if summary.resumes:  # earlier processes have run the ticks before
        done = counted(summary.wall_activations or 0, "activation")
        yield f"since resume {summary.resumes:,}: {done} in {duration(summary.wall_s)}"
        if summary.ticks_replayed:
            yield f"{counted(summary.ticks_replayed, 'tick')} done again"
    yield ""
    if details:  # all counts, as in summary.json
        fields = msgspec.json.decode(summary.to_json())
        yield facts_of({name: value for name, value in fields.items() if value and name not in TOLD})
    else:  # the measures of the configuration first
        numbers = {
            name: n for name, n in summary.world.items() if isinstance(n, int | float) and n and name not in TOLD
        }
        ordered = sorted(numbers.items(), key=lambda each: isinstance(each[1], int))
        rows = [(show.named(name).name, f"{n:,.6g}" if isinstance(n, float) else n) for name, n in ordered[:TOTALS_MAX]]
        yield table(("", ""), rows)
    if summary.crashes:
        crashes = "1 crash" if summary.crashes == 1 else f"{summary.crashes:,} crashes"
        yield line(f"{crashes}, {counted(summary.agents_quarantined, 'agent')} quarantined", "bold red")
    if (sharing := summary.sharing) is not None:
        if sharing.divergence is None:
            yield "sharing: no audits: the error of sharing is not known (oracle.sharing.audit)"
        else:
            bits = interval(sharing.divergence, 4, "too few audits")
            yield f"sharing: divergence from individual judgements {bits} bits"
        if is_far(sharing):
            yield "that is far: the model judges by more than the fields of archetypes (docs/language-models.md)"
    if (llm := summary.llm) is not None:
        wasted = f", {llm.wasted_tokens:,} wasted" if llm.wasted_tokens else ""
        yield f"  tokens: {llm.prompt_tokens:,} in, {llm.completion_tokens:,} out{wasted}"
        if llm.cost_usd is not None:
            of_it = f", {usd(llm.wasted_usd)} of it for calls without a usable answer" if llm.wasted_usd else ""
            yield f"  cost: {usd(llm.cost_usd)}{of_it}"
        yield f"  latency: p50 {llm.latency_s_p50:.3f} s, p95 {llm.latency_s_p95:.3f} s, p99 {llm.latency_s_p99:.3f} s"
    yield ""
    yield f"oracle calls per 1,000 activations: {summary.oracle_calls_per_1000_activations:.1f}"
    again = ", ".join(f"{reason} {count:,}" for reason, count in summary.retries_by_reason.items())
    retries = f"{summary.oracle_retries:,} asked again ({again}), " if summary.oracle_retries else ""
    questions = f"{counted(summary.oracle_questions, 'question')}, {counted(summary.oracle_calls, 'call')}"
    yield f"{questions}, {retries}{summary.fallback_share:.1%} fallbacks"
    yield f"digest {summary.digest}"
    yield f"files in {directory}{'' if details else '; all figures: --details'}"


def _status(summary: Summary) -> Text:
    """Return how the run has ended, with its size, its work and its time."""
    status = Text(DONE if summary.is_done else summary.status)
    status.stylize("bold green" if summary.status == DONE else "bold yellow")
    if summary.status == DONE_WITH_FALLBACKS:
        status.append(f", {counted(summary.fallbacks, 'fallback')}")
    length = f"{counted(summary.rounds, 'round')}, " if summary.rounds else ""
    length += counted(summary.ticks, "tick")
    if summary.stopped_by is not None:
        status.append(f" by {summary.stopped_by} after tick {summary.ticks:,}")
        length = counted(summary.rounds, "round")
    took = "" if summary.resumes else f" in {duration(summary.wall_s)}"
    work = f"\n{counted(summary.activations, 'activation')}{took}"
    return Text.assemble(status, f": {counted(summary.agents, 'agent')}, {length}{work}")
