-- A row is an agent. The counts of its acts stand where the agents of a run are people on a feed.
WITH moves AS (
    SELECT run, agent, arg_max(kind, rowid) AS kind, max(tick) AS since, count(*) AS moves
    FROM journal.updates
    WHERE kind_moves(kind)
    GROUP BY ALL
),
made AS (
    SELECT
        run, agent,
        count(*) FILTER (what = 'publish') AS posts,
        count(*) FILTER (what = 'reply') AS replies,
        count(*) FILTER (what = 'reshare') AS reshares
    FROM journal.posts
    GROUP BY ALL
),
given AS (SELECT run, agent, count(*) AS likes FROM journal.likes GROUP BY ALL)
SELECT
    p.* EXCLUDE (initial, acts) REPLACE (
        coalesce(kind_to_state(m.kind), p.initial) AS state,
        coalesce(m.since, 0) AS state_since_tick,
        coalesce(m.moves, 0) AS transitions,
        CASE WHEN p.acts THEN coalesce(d.posts, 0) ELSE p.posts END AS posts,
        CASE WHEN p.acts THEN coalesce(d.replies, 0) ELSE p.replies END AS replies,
        CASE WHEN p.acts THEN coalesce(d.reshares, 0) ELSE p.reshares END AS reshares,
        CASE WHEN p.acts THEN coalesce(g.likes, 0) ELSE p.likes END AS likes
    )
FROM made.people AS p
LEFT JOIN moves AS m USING (run, agent)
LEFT JOIN made AS d USING (run, agent)
LEFT JOIN given AS g USING (run, agent)
ORDER BY p.run, p.agent
