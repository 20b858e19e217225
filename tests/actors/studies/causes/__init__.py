"""Tests of `actors.studies.causes`."""
