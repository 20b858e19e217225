"""Posts: what is written, what becomes of it, and posts of a file."""
