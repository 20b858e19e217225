"""Tests of `actors.studies.replications`."""
