-- A row is a question to the oracle with its answer. The next decision of its agent on the same trigger is its answer, if
-- no other question comes before that.
WITH told AS (
    SELECT run, agent, trigger, tick, wave, rowid AS question, NULL AS kind
    FROM made.questions
    UNION ALL
    SELECT run, agent, kind_trigger(kind), tick, wave, NULL, kind
    FROM journal.updates
    WHERE kind_decides(kind) OR kind_is_stale(kind)
),
followed AS (
    SELECT
        question,
        lead({other: question, tick: tick, kind: kind}) OVER (
            PARTITION BY run, agent, trigger ORDER BY tick, wave, question IS NULL
        ) AS next
    FROM told
),
decided AS (
    SELECT question, next.tick AS tick, next.kind AS kind, kind_decides(next.kind) AS decides
    FROM followed
    WHERE question IS NOT NULL AND next.other IS NULL
)
SELECT
    q.run, q.question, q.tick, moment(q.run, q.tick) AS time, q.agent, q.trigger, q.state, q.options, nullif(q.post, -1) AS post,
    CASE WHEN d.decides THEN kind_to_state(d.kind) END AS answer,
    CASE WHEN d.decides THEN kind_source(d.kind)::VARCHAR WHEN d.kind IS NOT NULL THEN q.logged_source END AS source,
    kind_reason(d.kind) AS reason,
    q.method, d.tick AS decided_tick, q.probabilities, q.content, q.latency_s, q.calls, q.failed_calls,
    q.prompt_tokens, q.cached_tokens, q.completion_tokens, q.cost_usd
FROM made.questions AS q
LEFT JOIN decided AS d ON d.question = q.rowid
ORDER BY q.rowid
