"""The causes of an outcome: other futures of a recorded run, in each of which one thing is undone."""
