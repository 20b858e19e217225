"""Audits: recorded questions asked again in other ways, and what the answers do to the outcome of a study."""
