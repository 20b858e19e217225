"""The dashboard *Runtime*: mailboxes, the event loop, restarts, memory and the disk."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.panels import lines, number, stacked
from deploy.grafana.queries import Query, of_run, quantile, quantiles, rate, total

CHECKPOINT_AGE = of_run("(time() - (prism_checkpoint_timestamp_seconds > 0))")

RUNTIME = Layout(
    uid="prism-runtime",
    title="PRISM / Runtime",
    description="The process of a run: its queues, its resources and its files.",
    rows={
        "Now": (
            number("Memory", "Resident.", "bytes", Query(of_run("process_resident_memory_bytes"), "resident")),
            number("CPU", "Cores busy.", "short", Query(total(rate("process_cpu_seconds_total")), "cores")),
            number(
                "Loop lag",
                "The longest in the last minute.",
                "s",
                Query(of_run("prism_event_loop_lag_seconds_max"), "lag"),
                limits=((0.25, "orange"), (1.0, "red")),
            ),
            number(
                "Quarantined",
                "Agents that crashed too often and take no more turns.",
                "short",
                Query(of_run("prism_agents_quarantined"), "agents"),
                limits=((1, "red"),),
            ),
            number("Journal", "Bytes on disk.", "bytes", Query(of_run("prism_journal_bytes_total"), "journal")),
            number(
                "Checkpoint age",
                "The time that a resume after a crash would have to run again. Empty before the first checkpoint.",
                "s",
                Query(CHECKPOINT_AGE, "age"),
            ),
        ),
        "Messages": (
            lines(
                "Messages waiting",
                "By mailbox; those of agents are added up. A sample may fall anywhere within a tick.",
                "short",
                Query(total(of_run("prism_mailbox_messages"), "mailbox"), "{{mailbox}}"),
            ),
            lines(
                "Most messages that ever waited",
                "By mailbox, against run.mailbox_capacity and oracle.queue_size.",
                "short",
                Query(total(of_run("prism_mailbox_depth_max"), "mailbox"), "{{mailbox}}"),
            ),
            lines(
                "Wait in mailboxes, p95",
                "The wait of the oldest message of a batch.",
                "s",
                Query(quantile(0.95, "prism_mailbox_wait_seconds", "mailbox"), "{{mailbox}}"),
            ),
            stacked(
                "Messages delivered",
                "A second, by kind.",
                "ops",
                Query(total(rate('prism_messages_total{outcome="delivered"}'), "kind"), "{{kind}}"),
            ),
            lines(
                "Messages refused or dropped",
                "A second. A refused message is sent again by its sender; a dropped one is lost.",
                "ops",
                Query(
                    total(rate('prism_messages_total{outcome!="delivered"}'), "kind", "outcome"), "{{kind}} {{outcome}}"
                ),
                table=True,
            ),
            lines(
                "Crashes",
                "By kind of actor and reaction, since the run began; and guards that raised.",
                "short",
                Query(total(of_run("prism_actor_restarts_total"), "kind", "reason"), "{{kind}} {{reason}}"),
                Query(of_run("prism_guard_errors_total"), "guard errors"),
                table=True,
            ),
        ),
        "Process": (
            lines(
                "Event loop lag",
                "The delay of the loop: latest, and longest in the last minute. All actors wait meanwhile.",
                "s",
                Query(of_run("prism_event_loop_lag_seconds"), "latest"),
                Query(of_run("prism_event_loop_lag_seconds_max"), "longest"),
            ),
            lines(
                "Memory",
                "Rises while a run fills its tables, then stays; PrismMemoryGrowing looks at six hours of it.",
                "bytes",
                Query(of_run("process_resident_memory_bytes"), "resident"),
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
                Query(of_run("process_open_fds"), "descriptors"),
                Query(of_run("(prism_event_loop_tasks - prism_population)"), "tasks"),
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
                Query(total(rate("prism_journal_bytes_total")), "journal"),
            ),
            lines(
                "Commit duration",
                "Writing and syncing the frames of a tick.",
                "s",
                *quantiles("prism_commit_duration_seconds"),
            ),
            lines(
                "Checkpoint age",
                "Falls to zero at every checkpoint.",
                "s",
                Query(CHECKPOINT_AGE, "age"),
            ),
        ),
    },
)
