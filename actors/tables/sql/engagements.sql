-- A row is a like, reply or reshare that took place: of an agent in a wave first a reply or reshare, then a like.
WITH done AS (
    SELECT run, tick, wave, agent, what AS kind, parent AS post, post AS created, 0 AS is_like, rowid AS place
    FROM journal.posts
    WHERE parent >= 0
    UNION ALL
    SELECT run, tick, wave, agent, 'like', post, NULL, 1, rowid
    FROM journal.likes
)
SELECT d.run, d.tick, moment(d.run, d.tick) AS time, d.agent, d.kind, d.post, p.agent AS author, r.root, d.created
FROM done AS d
LEFT JOIN journal.posts AS p USING (run, post)
LEFT JOIN made.roots AS r USING (run, post)
ORDER BY d.run, d.tick, d.wave, d.agent, d.is_like, d.place
