"""Shared judgements: one distribution for many like questions, with an audit of the error."""
