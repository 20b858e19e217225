"""What is logged, and how: set-up, limits on repetition, redaction, the terminal."""
