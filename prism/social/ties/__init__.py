"""Ties: who follows whom, drawn or read from a file."""
