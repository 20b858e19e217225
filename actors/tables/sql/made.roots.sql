-- A row is a post with the root of its tree, and its steps from there.
WITH RECURSIVE below AS (
    SELECT p.run, p.post, p.post AS root, 0 AS depth
    FROM journal.posts AS p
    WHERE NOT EXISTS (FROM journal.posts AS above WHERE above.run = p.run AND above.post = p.parent)
    UNION ALL
    SELECT p.run, p.post, b.root, b.depth + 1
    FROM below AS b
    JOIN journal.posts AS p ON p.run = b.run AND p.parent = b.post
)
SELECT run, post, root, depth FROM below
