"""Inputs, servers and accidents of the kinds that people meet in the field."""
