-- A row is an update that moved an agent, in the order in which they were applied.
SELECT
    run, tick, moment(run, tick) AS time, agent,
    kind_trigger(kind) AS trigger,
    kind_from_state(kind) AS from_state,
    kind_to_state(kind) AS to_state,
    kind_source(kind) AS source,
    kind_effect_name(kind) AS effect,
    nullif(post, -1) AS post,
    kind_reason(kind) AS reason
FROM journal.updates
WHERE kind_moves(kind)
