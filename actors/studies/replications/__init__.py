"""Replications: published studies done again, and the ledger of what came out."""
