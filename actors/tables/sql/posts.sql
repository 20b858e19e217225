-- A row is a post, in the order of making. Its topics, its place in the file of posts and their attributes are those of
-- its root. An intervention and the post that it publishes have a wave of their own.
WITH published AS (
    SELECT run, tick, wave, content ->> '$.publish.text' AS text, (content ->> '$.publish.post')::BIGINT AS number
    FROM journal.interventions
    WHERE kind = 'publish'
),
texts AS (
    SELECT
        p.rowid AS place, f.text AS of_file, t.draft,
        CASE WHEN i.number IS NULL THEN i.text ELSE g.text END AS published,
        o.number > 0 AND p.what <> 'reply' AS is_of_file,
        replace(t.template, '{topic}', coalesce(o.topics ->> '$[0]', 'this')) AS template
    FROM journal.posts AS p
    JOIN made.texts AS t USING (run, post)
    JOIN made.roots AS r USING (run, post)
    JOIN journal.posts AS o ON o.run = p.run AND o.post = r.root
    LEFT JOIN made.file_posts AS f ON f.run = p.run AND f.number = o.number
    LEFT JOIN published AS i ON i.run = p.run AND i.tick = p.tick AND i.wave = p.wave
    LEFT JOIN made.file_posts AS g ON g.run = p.run AND g.number = i.number
),
answers AS (
    SELECT
        run, parent AS post,
        count(*) FILTER (what = 'reply') AS replies,
        count(*) FILTER (what = 'reshare') AS reshares
    FROM journal.posts
    GROUP BY ALL
),
liked AS (SELECT run, post, count(*) AS likes FROM journal.likes GROUP BY ALL)
SELECT
    p.run, p.post, p.tick, p.time, p.agent AS author,
    CASE p.what WHEN 'publish' THEN 'original' ELSE p.what END AS kind,
    CASE WHEN p.parent >= 0 THEN p.parent END AS parent,
    r.root, r.depth, o.topics,
    CASE
        WHEN t.published <> '' THEN t.published
        WHEN t.draft <> '' THEN t.draft
        WHEN t.is_of_file THEN t.of_file
        ELSE t.template
    END AS text,
    CASE
        WHEN t.published <> '' THEN 'intervention'
        WHEN t.draft <> '' THEN 'llm'
        WHEN t.is_of_file THEN 'file'
        WHEN t.template IS NOT NULL THEN 'template'
    END AS text_by,
    nullif(o.number, 0) AS file_post,
    coalesce(l.likes, 0) AS likes,
    coalesce(a.replies, 0) AS replies,
    coalesce(a.reshares, 0) AS reshares,
    f.* EXCLUDE (run, number, text)
FROM journal.posts AS p
JOIN made.roots AS r USING (run, post)
JOIN journal.posts AS o ON o.run = p.run AND o.post = r.root
LEFT JOIN made.file_posts AS f ON f.run = p.run AND f.number = o.number
LEFT JOIN texts AS t ON t.place = p.rowid
LEFT JOIN answers AS a ON a.run = p.run AND a.post = p.post
LEFT JOIN liked AS l ON l.run = p.run AND l.post = p.post
ORDER BY p.rowid
