"""The running part of PRISM: actors, their mailboxes, and all that touches a clock, a file, a socket or a terminal."""
