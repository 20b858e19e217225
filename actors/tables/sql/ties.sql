-- A row is a tie that a person has changed.
SELECT run, tick, time, agent, what AS kind, whom, post
FROM journal.ties
ORDER BY rowid
