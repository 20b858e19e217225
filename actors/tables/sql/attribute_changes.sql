-- A row is an attribute of a person that has changed. The value before is that of the change before, or of the start.
WITH changes AS (
    SELECT *, rowid AS place, lag({number: number, text: text}) OVER own AS old, row_number() OVER own = 1 AS is_first
    FROM journal.attributes
    WINDOW own AS (PARTITION BY run, agent, name ORDER BY rowid)
)
SELECT
    c.run, c.tick, moment(c.run, c.tick) AS time, c.agent, c.name, c.number, c.text,
    CASE WHEN c.is_first THEN s.number ELSE c.old.number END AS number_before,
    CASE WHEN c.is_first THEN s.text ELSE c.old.text END AS text_before
FROM changes AS c
LEFT JOIN made.attributes_at_start AS s USING (run, agent, name)
ORDER BY c.place
