-- A row is a like, reply or reshare that took place: of an agent in a wave first a reply or reshare, then a like.
SELECT
    run, tick, moment(run, tick) AS time, agent, kind, post, nullif(author, -1) AS author, nullif(root, -1) AS root,
    nullif(created, -1) AS created
FROM made.engagements
