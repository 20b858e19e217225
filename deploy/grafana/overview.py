"""The dashboard *Run overview*: how a run stands in one look, its agents, and who decides for them."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.palette import BAD, NOT_THERE, PHASE_NAMES, PHASE_NUMBERS, WARNING
from deploy.grafana.panels import Look, lines, number, stacked, state, states
from deploy.grafana.queries import (
    COST_AT_END,
    END_MS,
    FALLBACK_SHARE,
    FALLBACK_SHARE_EVER,
    RUN,
    Query,
    limit,
    most,
    now,
    of_run,
    quantiles,
    rate,
    share,
    total,
)
from prism.palette import PEOPLE, SOURCES

_PHASES = " or ".join(f'{number} * prism_run_phase{{phase="{phase}"}}' for phase, number in PHASE_NUMBERS.items())
PHASE = f"max by (run_id) ({of_run(f'({_PHASES})')})"
WAS_THERE = f"max by (run_id) (last_over_time({RUN}[$__range])) unless on (run_id) prism_run_info"
FAULTS = " + ".join(
    (
        now("prism_guard_errors_total"),
        now("prism_agents_quarantined"),
        f"abs({now('prism_population')} - {now('prism_agents')})",
    )
)

_ONE_LOOK = (
    state(
        "Is it running?",
        "The phase. Not there: on its machine, prism runs tells whether it has ended or was killed. Waiting: see "
        "PrismWaitingForOracle and PrismWaitingForDisk in docs/operations.md.",
        Query(f"{PHASE} or {NOT_THERE} * ({WAS_THERE})"),
        PHASE_NAMES,
    ),
    number(
        "How far?",
        "Ticks committed, of all that are planned. Empty while a resumed run does its recorded ticks again.",
        "percentunit",
        Query(share(now("prism_ticks_total"), now("prism_ticks_planned"))),
        look=Look(width=3, decimals=1),
    ),
    number(
        "Ticks",
        "Ticks committed, and ticks of the whole run.",
        "locale",
        Query(now("prism_ticks_total"), "done"),
        Query(now("prism_ticks_planned"), "of"),
        look=Look(width=4),
    ),
    number(
        "When will it end?",
        "At the speed of the last 15 minutes. Nothing while no tick is committed.",
        "dateTimeAsIso",
        Query(END_MS),
    ),
    number(
        "What will it cost?",
        "US dollars at the last tick, at the rate of the last 15 minutes; 0 without llm.prices. More: dashboard Cost.",
        "currencyUSD",
        Query(COST_AT_END),
        look=Look(width=3, decimals=2),
    ),
    number(
        "Is it sound? Fallbacks",
        "The share of all ambiguous choices of the run that took a fallback, so that nobody decided them. Normal: 0. "
        "What to do: PrismFallbackShareHigh in docs/operations.md; prism fork asks again.",
        "percentunit",
        Query(FALLBACK_SHARE_EVER),
        limits=((0.001, WARNING), (0.05, BAD)),
        look=Look(width=3, decimals=1, nothing="no choices"),
    ),
    number(
        "Is it sound? Faults",
        "Guards that raised, agents in quarantine, messages lost, agents missing in the states. Normal: 0. Dashboard "
        "Runtime tells which; prism verify tells whether the files agree with each other.",
        "short",
        Query(FAULTS),
        limits=((1, BAD),),
        look=Look(width=3),
    ),
)

OVERVIEW = Layout(
    uid="prism-overview",
    title="PRISM / Run overview",
    description="How a run stands in one look, its agents, and who decides for them.",
    rows={
        "In one look": _ONE_LOOK,
        "Pace": (
            states(
                "Phase",
                "What the run does, over time. Normal: running from the first tick to the last.",
                Query(PHASE),
                PHASE_NAMES,
                width=24,
            ),
            lines(
                "Ticks a second",
                "Normal: level. Falls to nothing while the clock waits for late answers or for the disk.",
                "short",
                Query(total(rate("prism_ticks_total"))),
            ),
            lines(
                "Tick duration",
                "Waiting for late answers included. Near the deadline, the server is too slow for this pace.",
                "s",
                *quantiles("prism_tick_duration_seconds"),
                limit("prism_oracle_deadline_seconds", "deadline"),
                look=Look(logarithmic=True),
            ),
        ),
        "Agents": (
            stacked(
                "Agents by state",
                "Normal: the sum is a level line, which is the population; PrismPopulationNotConserved says when not.",
                "short",
                Query(now("prism_agents", "state"), "{{state}}"),
                PEOPLE,
            ),
            lines(
                "The ten most frequent transitions",
                "Changes of state a second, of the ten pairs of states with the most of them in the time shown.",
                "ops",
                Query(
                    most(10, "prism_agent_transitions_total", "from_state", "to_state"),
                    "{{from_state}} to {{to_state}}",
                ),
                look=Look(width=24, table=True),
            ),
        ),
        "Who decides": (
            stacked(
                "Model against fallback",
                "Ambiguous choices a second, by who decided them; what rules decide is left out. Normal: no fallbacks.",
                "ops",
                Query(total(rate('prism_decisions_total{source!="rule"}'), "source"), "{{source}}"),
                {source: color for source, color in SOURCES.items() if source != "rule"},
            ),
            lines(
                "Fallback share",
                "Of the ambiguous choices. Above 10% for ten minutes PrismFallbackShareHigh fires; the run stops above "
                "its limit, counted over its latest 1,000 choices.",
                "percentunit",
                Query(FALLBACK_SHARE),
                limit("prism_fallback_share_limit", "limit"),
            ),
            lines(
                "Ambiguous share",
                "Of all transitions: how much of the run is left to the oracle. Rules decide the rest.",
                "percentunit",
                Query(
                    share(total(rate('prism_decisions_total{source!="rule"}')), total(rate("prism_decisions_total")))
                ),
            ),
        ),
        "Social": (
            lines(
                "Posts",
                "Posts a second: original ones, replies and reshares. Social runs only.",
                "ops",
                Query(total(rate("prism_posts_total"), "kind"), "{{kind}}"),
            ),
            lines("Likes", "Likes a second. Social runs only.", "ops", Query(total(rate("prism_likes_total")))),
        ),
    },
)
