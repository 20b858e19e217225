"""The files of runs as they are read: the only decoder of a journal's messages."""
