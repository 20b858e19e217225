"""Agents, engine and supervision: what runs a simulation."""
