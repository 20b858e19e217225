-- A row is a tree of posts: an original with all replies and reshares below it. Its breadth is the most posts at one
-- depth. Structural virality is the mean number of steps between two of its posts; a lone original has none.
-- Source: Goel et al., 2016.
WITH RECURSIVE above AS (
    SELECT run, post, post AS ancestor, depth FROM made.roots
    UNION ALL
    SELECT a.run, a.post, p.parent, a.depth - 1
    FROM above AS a
    JOIN journal.posts AS p ON p.run = a.run AND p.post = a.ancestor
    WHERE a.depth > 0
),
levels AS (SELECT run, root, depth, count(*) AS posts FROM made.roots GROUP BY ALL),
sizes AS (
    SELECT run, root, sum(posts)::BIGINT AS posts, max(depth) AS depth, max(posts) AS breadth
    FROM levels
    GROUP BY ALL
),
people AS (
    SELECT run, root, count(DISTINCT agent) AS people
    FROM made.roots JOIN journal.posts USING (run, post)
    GROUP BY ALL
),
-- An edge between a post with n posts at and below it and its parent lies on n * (size - n) of the ways.
parts AS (SELECT run, ancestor AS post, count(*) AS posts FROM above GROUP BY ALL),
ways AS (
    SELECT run, root, sum(p.posts * (s.posts - p.posts)) AS steps
    FROM parts AS p JOIN made.roots USING (run, post) JOIN sizes AS s USING (run, root)
    GROUP BY ALL
)
SELECT
    s.run, s.root, o.tick, moment(o.run, o.tick) AS time, o.agent AS author, s.posts, p.people, s.depth, s.breadth,
    CASE WHEN s.posts > 1 THEN 2.0 * w.steps / (s.posts * (s.posts - 1)) END AS structural_virality
FROM sizes AS s
JOIN people AS p USING (run, root)
JOIN ways AS w USING (run, root)
JOIN journal.posts AS o ON o.run = s.run AND o.post = s.root
ORDER BY o.rowid
