"""The local page of `prism view`: a server that only reads, and the files that it serves."""
