-- A row is a post, in the order of making. Its topics, its place in the file of posts and their attributes are those of
-- its root. An intervention and the post that it publishes have a wave of their own.
WITH published AS (
    SELECT i.run, i.tick, i.wave, coalesce(f.text, i.content ->> '$.publish.text') AS text
    FROM journal.interventions AS i
    LEFT JOIN made.file_posts AS f ON f.run = i.run AND f.number = (i.content ->> '$.publish.post')::BIGINT
    WHERE i.kind = 'publish'
),
-- What a model wrote is the text of the next post of its author, if no other effect of the author comes before that.
effects AS (
    SELECT u.run, u.agent, u.tick * 65536::BIGINT + u.wave AS step, e.value ->> '$[1]' AS text
    FROM journal.updates AS u
    LEFT JOIN journal.effects AS e USING (run, tick, wave, agent)
    WHERE kind_moves(u.kind) AND (kind_effect_name(u.kind) IS NOT NULL OR e.value IS NOT NULL)
        AND u.run IN (SELECT run FROM journal.effects)
),
drafts AS (SELECT *, lead(step, 1, 1::BIGINT << 62) OVER (PARTITION BY run, agent ORDER BY step) AS until FROM effects),
written AS (
    SELECT *, tick * 65536::BIGINT + wave AS step FROM made.posts ANTI JOIN published USING (run, tick, wave)
),
said AS (
    SELECT w.run, w.post, d.text
    FROM drafts AS d
    ASOF JOIN written AS w ON w.run = d.run AND w.agent = d.agent AND d.step <= w.step
    WHERE d.text <> '' AND w.step < d.until
),
texts AS (
    SELECT
        p.rowid AS place, p.*, nullif(p.number, 0) AS file_post, nullif(i.text, '') AS published, s.text AS draft,
        p.what <> 'reply' AS repeats, replace(p.template, '{topic}', coalesce(p.topics ->> '$[0]', 'this')) AS from_template
    FROM made.posts AS p
    LEFT JOIN published AS i USING (run, tick, wave)
    LEFT JOIN said AS s ON s.run = p.run AND s.post = p.post
)
SELECT
    p.run, p.post, p.tick, moment(p.run, p.tick) AS time, p.agent AS author,
    CASE p.what WHEN 'publish' THEN 'original' ELSE p.what END AS kind,
    CASE WHEN p.parent >= 0 THEN p.parent END AS parent,
    p.root, p.depth, p.topics,
    CASE
        WHEN p.published IS NOT NULL THEN p.published
        WHEN p.draft IS NOT NULL THEN p.draft
        WHEN p.file_post IS NOT NULL AND p.repeats THEN f.text
        ELSE p.from_template
    END AS text,
    CASE
        WHEN p.published IS NOT NULL THEN 'intervention'
        WHEN p.draft IS NOT NULL THEN 'llm'
        WHEN p.file_post IS NOT NULL AND p.repeats THEN 'file'
        WHEN p.from_template IS NOT NULL THEN 'template'
    END AS text_by,
    p.file_post,
    p.likes, p.replies, p.reshares,
    f.* EXCLUDE (run, number, text)
FROM texts AS p
LEFT JOIN made.file_posts AS f ON f.run = p.run AND f.number = p.file_post
ORDER BY p.place
