-- A row is a group: the people of a run who have one value of an attribute at the start, and what they did.
SELECT
    t.run, t.attribute, t.value, count(*) AS people, sum(a.posts)::BIGINT AS posts, sum(a.replies)::BIGINT AS replies,
    sum(a.reshares)::BIGINT AS reshares, sum(a.likes)::BIGINT AS likes
FROM made.traits AS t
JOIN agents AS a USING (run, agent)
GROUP BY ALL
ORDER BY ALL
