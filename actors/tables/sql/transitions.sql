-- A row is an update that moved an agent, in the order in which they were applied.
SELECT
    u.run, u.tick, u.time, u.agent, k.trigger, k.from_state, k.to_state, k.source,
    CASE WHEN e.agent IS NULL THEN k.effect_name ELSE e.name END AS effect,
    a.post,
    nullif(k.reason, '') AS reason
FROM journal.updates AS u
JOIN journal.kinds AS k USING (run, kind)
LEFT JOIN journal.effects AS e USING (run, tick, wave, agent)
-- The posts that an update made or liked are noted in its wave; the last one is named.
LEFT JOIN (
    SELECT run, tick, wave, agent, last(post ORDER BY is_like, place) AS post
    FROM (
        SELECT run, tick, wave, agent, post, 0 AS is_like, rowid AS place FROM journal.posts
        UNION ALL
        SELECT run, tick, wave, agent, post, 1, rowid FROM journal.likes
    )
    GROUP BY ALL
) AS a USING (run, tick, wave, agent)
WHERE k.moves
ORDER BY u.rowid
