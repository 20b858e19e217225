"""The files of a small calibration."""

from pathlib import Path

from tests.plain import plain_text

BASE = plain_text("""
simulation: {rounds: 2, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
""")
CALIBRATION = """\
base: base.yaml
parameters:
  population.engagement_threshold: {low: 0.3, high: 0.7}
  population.posts_per_session: {low: 0.05, high: 0.6, scale: log}
targets:
  engagement: {measure: engagement, value: 0.25, tolerance: 0.05, source: made up, holdout: 0.26}
  posts: {measure: rounds.posts, value: 25, tolerance: 4, source: made up}
checks:
  likes: {measure: likes, value: 60, tolerance: 30, source: made up}
budget: {design: 50, confirm: 11}
"""


def write_calibration(directory: Path, text: str = CALIBRATION, base: str = BASE) -> Path:
    """Write the calibration and its base, and return the path of the calibration."""
    (directory / "base.yaml").write_text(base)
    (directory / "c.yaml").write_text(text)
    return directory / "c.yaml"
