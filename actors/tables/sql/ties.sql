-- A row is a tie that a person has changed.
SELECT run, tick, moment(run, tick) AS time, agent, what AS kind, whom, post
FROM journal.ties
