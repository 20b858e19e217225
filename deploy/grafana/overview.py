"""The dashboard *Run overview*: whether the run goes on, its speed, its agents and their decisions."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.panels import lines, number, stacked
from deploy.grafana.queries import Query, of_run, quantiles, rate, total

_UNDECIDED = total(rate('prism_decisions_total{source=~"fallback|timeout"}'))
_LEFT = f"{total(of_run('prism_ticks_planned'))} - {total(of_run('prism_ticks_total'))}"
_AMBIGUOUS = total(rate('prism_decisions_total{source!="rule"}'))
FALLBACK_SHARE = f"{_UNDECIDED} / ({_AMBIGUOUS} > 0)"

OVERVIEW = Layout(
    uid="prism-overview",
    title="PRISM / Run overview",
    description="The run's progress, its agents and their decisions.",
    rows={
        "Now": (
            number(
                "Run",
                "Whether the run is under way. Nothing is shown of a run whose process is gone.",
                "none",
                Query(of_run("prism_run_active"), "run"),
                names={0: ("ended", "orange"), 1: ("under way", "green")},
            ),
            number("Population", "Agents in the run.", "short", Query(of_run("prism_population"), "agents")),
            number("Round", "Rounds committed.", "short", Query(of_run("prism_round"), "rounds")),
            number("Ticks", "Ticks committed.", "short", Query(of_run("prism_ticks_total"), "ticks")),
            number("Speed", "Ticks committed a second.", "short", Query(total(rate("prism_ticks_total")), "ticks/s")),
            number(
                "Fallback share",
                "The share of ambiguous choices that took a fallback.",
                "percentunit",
                Query(FALLBACK_SHARE, "share"),
                limits=((0.02, "orange"), (0.1, "red")),
            ),
        ),
        "Agents": (
            stacked(
                "Agents by state",
                "The states add up to the population at every moment; PrismPopulationNotConserved says when not.",
                "short",
                Query(total(of_run("prism_agents"), "state"), "{{state}}"),
                width=24,
            ),
            stacked(
                "Transitions",
                "Changes of state a second, for each pair that the chart allows.",
                "ops",
                Query(
                    total(rate("prism_agent_transitions_total"), "from_state", "to_state"),
                    "{{from_state}} to {{to_state}}",
                ),
                width=24,
            ),
        ),
        "Pace": (
            lines(
                "Ticks a second",
                "Falls to nothing while the clock waits for late answers.",
                "short",
                Query(total(rate("prism_ticks_total")), "ticks/s"),
            ),
            lines(
                "Tick duration",
                "Waiting for late answers included.",
                "s",
                *quantiles("prism_tick_duration_seconds"),
            ),
            lines(
                "Time left",
                "To the last of the planned ticks, at the present speed. Empty while the run makes no progress.",
                "s",
                Query(f"({_LEFT}) / ({total(rate('prism_ticks_total'))} > 0)", "to go"),
                width=24,
            ),
        ),
        "Decisions": (
            stacked(
                "Decisions by source",
                "Transitions a second by source: a rule, the oracle, or a fallback if the oracle gave no answer.",
                "ops",
                Query(total(rate("prism_decisions_total"), "source"), "{{source}}"),
            ),
            lines(
                "Fallback share",
                "Of the choices that were ambiguous. Above 10% for ten minutes PrismFallbackShareHigh fires.",
                "percentunit",
                Query(FALLBACK_SHARE, "share"),
            ),
        ),
        "Social": (
            stacked(
                "Posts",
                "Posts a second: original ones, replies and reshares. Social runs only.",
                "ops",
                Query(total(rate("prism_posts_total"), "kind"), "{{kind}}"),
            ),
            lines(
                "Likes",
                "Likes a second. Social runs only.",
                "ops",
                Query(total(rate("prism_likes_total")), "likes/s"),
            ),
        ),
    },
)
