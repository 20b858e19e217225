"""Tests of the drawings of charts."""
