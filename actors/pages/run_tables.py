"""The runs at a glance, side by side, and how to make each of them again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from actors.display.words import duration, usd
from actors.factory.input_files import plain_name
from actors.pages.card import Table
from actors.pages.groups import group_name
from actors.pages.words import NO_VALUE, count, listed, place_of, share, sharing_notice, spread
from actors.results.run_record import RunGroup, RunRecord
from actors.store.rounds import ENGINE_COLUMNS
from actors.store.run import RunStatus
from prism.distribution import SIZE_TOTALS
from prism.llm.spending import cost_usd
from prism.no_effect import remarks, remarks_on_many
from prism.wording import counted

DIGEST_LETTERS: Final = 8
"""The letters of a digest in a table of runs, which has no room for all."""
ENGINE_TOTALS: Final = ("activations", "transitions", "questions")
_SHARES: Final = frozenset(name for name in SIZE_TOTALS if name.startswith("cascades_"))


def notices(runs: Sequence[RunRecord]) -> list[str]:
    """Return a sentence for each run that is not whole, for the top of a page."""
    found = []
    for run in runs:
        listed_run, length = run.listed, run.listed.length
        if run.is_damaged:
            found.append(
                f"The journal of run {run.name} is damaged after {count(run.course.ticks)} of its "
                f"{counted(length, 'tick')}: what follows is not shown, and no mean or median includes the run; "
                f"`prism verify {place_of(run.path)}` says more."
            )
            continue
        if listed_run.status is not RunStatus.DONE and listed_run.ticks < length:
            shown = f"this page shows {count(run.course.ticks)} of its {counted(length, 'tick')}"
            found.append(f"Run {run.name}: {state_in_words(run)}; {shown} ({share(run.course.ticks, length)}).")
        elif run.summary is None:
            found.append(f"Run {run.name} has no summary of its end: its numbers are those of its journal.")
        if run.listed.fallbacks:
            found.append(f"Run {run.name} made {counted(run.listed.fallbacks, 'choice')} without its oracle.")
        if run.summary is not None and run.summary.sharing is not None:
            warned = sharing_notice(run.summary.sharing)
            found += [] if warned is None else [f"Run {run.name}: {warned}"]
    return found


def remarks_of(groups: Sequence[RunGroup]) -> list[str]:
    """Return what was not as configured in the runs that have ended, and what had no effect, a line each."""
    ended = {
        group.label: [run.summary_fields for run in group.runs if run.summary is not None]
        for group in groups
        if not group.first.is_damaged
    }
    if len(groups) == 1 and len(groups[0].runs) == 1:
        return [line for each in ended.values() for fields in each for line in remarks(fields)]
    return remarks_on_many(ended)


def interventions_table(run: RunRecord) -> Table | None:
    """Return the interventions of a run that has ended, and their effects; None without interventions."""
    if run.summary is None or not run.summary.interventions:
        return None
    rows = [
        (f"round {count(each.round)}, tick {count(each.tick)}", each.kind, each.what, each.reactions)
        for each in run.summary.interventions
    ]
    return Table(("when", "kind", "what", "reactions to the post"), rows)


def glance(runs: Sequence[RunRecord]) -> Table:
    """Return the most important numbers of each run, a row for each."""
    rows = []
    for run in runs:
        course, summary = run.course, run.summary
        counts = (course.turns, course.sources.total(), course.questions)
        if summary is not None:
            counts = (summary.activations, summary.transitions, summary.oracle_questions)
        calls: int | str = sum(spent.calls for spent in run.oracle.spent) if run.oracle else "no model"
        if summary is not None and summary.llm is not None:
            calls = sum(summary.llm.calls.values())
        ticks, digest = f"{count(course.ticks)} of {count(run.listed.length)}", run.listed.digest[:DIGEST_LETTERS]
        begin = (run.name, state_in_words(run), str(course.header.seed), course.header.agents, ticks)
        fallbacks = course.fallbacks.total() if summary is None else summary.fallbacks
        rows.append((*begin, *counts, calls, fallbacks, cost(run), NO_VALUE if run.is_damaged else digest))
    names = ("run", "state", "seed", runs[0].show.agents, "ticks", "activations", "transitions", "questions")
    return Table((*names, "model calls", "fallbacks", "cost", "digest"), rows)


def state_in_words(run: RunRecord) -> str:
    """Return the state of a run: done, stopped by what, going on, ended without a summary, or damaged."""
    status, fallbacks = run.listed.status, run.listed.fallbacks
    if run.is_damaged:
        return "damaged"
    if status is RunStatus.DONE:
        return f"done, {counted(fallbacks, 'fallback')}" if fallbacks else "done"
    if status is RunStatus.STOPPED:
        return f"stopped by {run.listed.stopped_by}" if run.listed.stopped_by else "stopped"
    return "going on" if status is RunStatus.RUNNING else "ended without a summary"


def cost(run: RunRecord) -> str:
    """Return the cost of the model; if it is not known, the reason."""
    if run.summary is not None and run.summary.llm is not None:
        dollars = run.summary.llm.cost_usd
        return "no prices set" if dollars is None else f"{usd(dollars)}"
    if run.oracle is None:
        return "no model"
    spent = cost_usd(run.oracle.spent, run.config.llm.prices)
    return "no prices set" if spent is None else f"{usd(spent)} so far"


def comparison(groups: Sequence[RunGroup]) -> Table:
    """Return the ends of runs side by side, after their last whole rounds: the median of each group with its range."""
    numbers: dict[str, list[list[float]]] = {}
    for place, group in enumerate(groups):
        for run in group.runs:
            counts = {name: run.rounds[name][-1] for name in ENGINE_TOTALS if run.rounds.get(name)}
            for name, value in (counts | world_ends(run)).items():
                numbers.setdefault(name, [[] for _ in groups])[place].append(value)
    named = groups[0].first.show.named
    rows = [(str(named(name)), *(spread(values) for values in by_group)) for name, by_group in numbers.items()]
    return Table(("at the end", *(group_name(group) for group in groups)), rows)


def world_ends(run: RunRecord) -> dict[str, float]:
    """Return the numbers of a world after the last whole round."""
    kept = {name: column[-1] for name, column in run.rounds.items() if column and name not in ENGINE_COLUMNS}
    if run.summary is not None and "largest_cascade" in run.summary.world:
        kept["largest_cascade.size"] = run.summary.world["largest_cascade"]["size"]
    return kept


def end_text(name: str, value: float, unit: str) -> str:
    """Return a number of `world_ends` as a text: shares of cascades and indicators of an economy in percent."""
    if name in _SHARES:
        return share(value)
    if unit.startswith("%"):
        return f"{value:.2f}%"
    return f"{value:,.{0 if float(value).is_integer() else 2}f}"


def commands(run: RunRecord) -> list[str]:
    """Return the commands that make a run again and check it."""
    path = place_of(run.path)
    whole = [f"prism run {path}/config.yaml", f"prism replay {path}", f"prism verify {path}"]
    if run.manifest.forks:
        fork = run.manifest.forks[-1]
        beside = run.path.parent / fork.parent
        parent = place_of(beside) if beside.is_dir() else shlex.quote(fork.parent)
        whole[0] = f"prism fork {parent} --at {fork.tick}  # with the settings that differ, as --set"
    return whole


def provenance(run: RunRecord) -> Table:
    """Return everything that a run depends on: versions, hashes, seed and inputs."""
    manifest, header = run.manifest, run.course.header
    rows: list[tuple[str, str]] = [
        ("digest", run.listed.digest),
        ("ticks of the digest", count(run.listed.ticks)),
        ("seed", str(header.seed)),
        ("settings, SHA-256", header.config_sha256),
        ("PRISM's code, SHA-256", manifest.code),
    ]
    rows += [("the domain's own code, SHA-256", manifest.domain_code)] if manifest.domain_code else []
    rows += [(f"input {plain_name(name)}, SHA-256", sha256) for name, sha256 in sorted(header.inputs.items())]
    rows += [("Python", manifest.python), ("platform", manifest.platform)]
    rows += [(package, version) for package, version in sorted(manifest.packages.items())]
    rows += [("oracle", manifest.oracle)] if manifest.oracle else []
    rows += [("fork of", f"{fork.parent}, after {counted(fork.tick, 'tick')}") for fork in manifest.forks]
    rows += (
        [("resumed after", listed([counted(tick, "tick") for tick in manifest.resumed]))] if manifest.resumed else []
    )
    if run.summary is not None:
        rows.append(("computed in", duration(run.summary.wall_s)))
    return Table(("what", "value"), rows)
