"""Logging: set-up, limits on repetition, redaction, the file of lines, the terminal."""
