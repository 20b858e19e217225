"""The dashboard *Runtime*: mailboxes, the event loop, restarts, memory and the disk."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.palette import BAD, WARNING
from deploy.grafana.panels import Look, lines, number
from deploy.grafana.queries import Query, now, quantiles, rate, total

CHECKPOINT_AGE = now("(time() - (prism_checkpoint_timestamp_seconds > 0))")
_SHARD = total(rate("prism_shard_busy_seconds_total"), "shard")

RUNTIME = Layout(
    uid="prism-runtime",
    title="PRISM / Runtime",
    description="The process of a run: its queues, its resources and its files.",
    rows={
        "In one look": (
            number(
                "Memory",
                "Resident. Normal: level after the first hour.",
                "bytes",
                Query(now("process_resident_memory_bytes")),
            ),
            number(
                "CPU",
                "Cores busy. At 1, the run itself is the bottleneck.",
                "short",
                Query(total(rate("process_cpu_seconds_total"))),
            ),
            number(
                "Loop lag",
                "The longest delay of the event loop in the last minute. Above 1 s: PrismEventLoopLagging.",
                "s",
                Query(now("prism_event_loop_lag_seconds_max")),
                limits=((0.25, WARNING), (1.0, BAD)),
            ),
            number(
                "Quarantined",
                "Agents that crashed too often and take no more turns. Normal: 0; log.jsonl has each crash.",
                "short",
                Query(now("prism_agents_quarantined")),
                limits=((1, BAD),),
            ),
            number("Journal", "Bytes on disk.", "bytes", Query(now("prism_journal_bytes_total"))),
            number(
                "Checkpoint age",
                "The time that a resume after a crash would have to run again. Empty before the first checkpoint.",
                "s",
                Query(CHECKPOINT_AGE),
            ),
        ),
        "Messages": (
            lines(
                "Messages waiting",
                "By mailbox; those of agents are added up. A sample may fall anywhere within a tick.",
                "short",
                Query(now("prism_mailbox_messages", "mailbox"), "{{mailbox}}"),
            ),
            lines(
                "Most messages that ever waited",
                "By mailbox, against run.mailbox_capacity and oracle.queue_size.",
                "short",
                Query(now("prism_mailbox_depth_max", "mailbox"), "{{mailbox}}"),
            ),
            lines(
                "Messages delivered",
                "A second, by kind.",
                "ops",
                Query(total(rate('prism_messages_total{outcome="delivered"}'), "kind"), "{{kind}}"),
            ),
            lines(
                "Messages refused",
                "A second. A refused message is sent again by its sender.",
                "ops",
                Query(
                    total(rate('prism_messages_total{outcome!="delivered"}'), "kind", "outcome"), "{{kind}} {{outcome}}"
                ),
                look=Look(table=True),
            ),
            lines(
                "Crashes",
                "By kind of actor and reaction, since the run began; and guards that raised. Normal: 0.",
                "short",
                Query(now("prism_actor_restarts_total", "kind", "reason"), "{{kind}} {{reason}}"),
                Query(now("prism_guard_errors_total"), "guard errors"),
                look=Look(width=24, table=True),
            ),
        ),
        "Shards": (
            lines(
                "Work of shards",
                "Share of the time in which each shard works; only with run.shards. See docs/scale.md.",
                "percentunit",
                Query(_SHARD, "{{shard}}"),
            ),
            lines(
                "Skew of shards",
                "Work of the busiest shard over the mean of all: 1 is even. The busiest one sets the pace.",
                "short",
                Query(f"max by (run_id) ({_SHARD}) / (avg by (run_id) ({_SHARD}) > 0)"),
            ),
            lines(
                "Exchange with shards",
                "Bytes a second, by direction; only with run.shards.",
                "Bps",
                Query(total(rate("prism_shard_bytes_total"), "direction"), "{{direction}}"),
            ),
            lines(
                "Wait for shards",
                "Share of the time in which the engine waits for the slowest shard; only with run.shards.",
                "percentunit",
                Query(total(rate("prism_shard_wait_seconds_total"))),
            ),
        ),
        "Process": (
            lines(
                "Event loop lag",
                "The delay of the loop: latest, and longest in the last minute. All actors wait meanwhile.",
                "s",
                Query(now("prism_event_loop_lag_seconds"), "latest"),
                Query(now("prism_event_loop_lag_seconds_max"), "longest"),
            ),
            lines(
                "Memory",
                "Rises while a run fills its tables, then stays; PrismMemoryGrowing looks at six hours of it.",
                "bytes",
                Query(now("process_resident_memory_bytes")),
            ),
            lines(
                "Garbage collections",
                "A second, by generation. One of generation 2 looks at all objects.",
                "ops",
                Query(total(rate("python_gc_collections_total"), "generation"), "generation {{generation}}"),
            ),
            lines(
                "File descriptors and tasks",
                "Open descriptors, and the event loop's tasks besides agents. Calls under way raise both.",
                "short",
                Query(now("process_open_fds"), "descriptors"),
                Query(now("(prism_event_loop_tasks - prism_population)"), "tasks"),
            ),
        ),
        "Disk": (
            lines(
                "Ticks committed and on disk",
                "A second. If the first two differ for long, the journal does not advance. A resume does ticks again.",
                "short",
                Query(total(rate("prism_tick_duration_seconds_count")), "committed"),
                Query(total(rate("prism_journal_ticks_total")), "on disk"),
                Query(total(rate("prism_ticks_replayed_total")), "done again"),
            ),
            lines(
                "Journal",
                "Bytes written a second.",
                "Bps",
                Query(total(rate("prism_journal_bytes_total"))),
            ),
            lines(
                "Commit duration",
                "Writing and syncing the frames of a tick. PrismDiskSlow fires when p95 stays above 1 s.",
                "s",
                *quantiles("prism_commit_duration_seconds"),
                look=Look(logarithmic=True),
            ),
            lines("Checkpoint age", "Falls to zero at every checkpoint.", "s", Query(CHECKPOINT_AGE)),
        ),
    },
)
