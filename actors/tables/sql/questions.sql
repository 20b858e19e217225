-- A row is a question to the oracle with its answer.
SELECT
    run, tick || '-' || agent || '-' || left(sha256(asked), 16) AS question, tick, moment(run, tick) AS time, agent,
    kind_trigger(kind) AS trigger, kind_from_state(kind) AS state, kind_effect(kind) AS options, nullif(post, -1) AS post,
    CASE WHEN kind_decides(decided) THEN kind_to_state(decided) END AS answer,
    CASE WHEN kind_decides(decided) THEN kind_source(decided)::VARCHAR WHEN decided >= 0 THEN logged_source END AS source,
    kind_reason(decided) AS reason,
    method, nullif(decided_tick, -1) AS decided_tick, content, latency_s, calls, failed_calls, prompt_tokens,
    cached_tokens, completion_tokens, cost_usd
FROM made.questions
