"""PRISM runs: the actors, their mailboxes, and everything that touches a clock, a file, a socket or a terminal."""
