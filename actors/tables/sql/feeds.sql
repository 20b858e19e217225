-- A row is a post in a feed that was shown; an empty feed has none.
SELECT run, tick, moment(run, tick) AS time, agent, position, post
FROM journal.feeds
WHERE post >= 0
