-- A row is a tree of posts: an original with all replies and reshares below it. Its breadth is the most posts at one
-- depth. Structural virality is the mean number of steps between two of its posts; a lone original has none.
-- Source: Goel et al., 2016.
SELECT run, root, tick, moment(run, tick) AS time, author, posts, people, depth, breadth, structural_virality
FROM made.cascades
