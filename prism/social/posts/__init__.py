"""Posts: their texts, their cascades, and the posts of a file."""
