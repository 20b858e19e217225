-- A row is a time for which one person follows another.
SELECT run, follower, followee, from_tick, nullif(until_tick, -1) AS until_tick FROM made.edges
