"""People on a social feed: personas, posts, feeds, cascades, and the world they make."""
