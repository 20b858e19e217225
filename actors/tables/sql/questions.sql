-- A row is a question to the oracle with its answer. The next decision of its agent on the same trigger is its answer, if
-- no other question comes before that.
WITH told AS (
    SELECT run, agent, trigger, tick, wave, rowid AS question, NULL AS state, NULL AS source, NULL AS reason, false AS decides
    FROM made.questions
    UNION ALL
    SELECT u.run, u.agent, k.trigger, u.tick, u.wave, NULL, k.to_state, k.source, k.reason, k.decides
    FROM journal.updates AS u
    JOIN journal.kinds AS k USING (run, kind)
    WHERE k.decides OR k.is_stale
),
followed AS (
    SELECT
        question,
        lead({other: question, tick: tick, state: state, source: source, reason: reason, decides: decides}) OVER (
            PARTITION BY run, agent, trigger ORDER BY tick, wave, question IS NULL
        ) AS next
    FROM told
),
decided AS (SELECT question, next FROM followed WHERE question IS NOT NULL AND next.other IS NULL)
SELECT
    q.run, q.question, q.tick, q.time, q.agent, q.trigger, q.state, q.options, q.post,
    CASE WHEN d.next.decides THEN d.next.state END AS answer,
    CASE WHEN d.next.decides THEN d.next.source WHEN d.next IS NOT NULL THEN q.logged_source END AS source,
    nullif(d.next.reason, '') AS reason,
    q.method, d.next.tick AS decided_tick, q.probabilities, q.content, q.latency_s, q.calls, q.failed_calls,
    q.prompt_tokens, q.cached_tokens, q.completion_tokens, q.cost_usd
FROM made.questions AS q
LEFT JOIN decided AS d ON d.question = q.rowid
ORDER BY q.rowid
