"""The files of a small experiment."""

from pathlib import Path

from tests.plain import plain_text

BASE = plain_text("""
simulation: {rounds: 2, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
""")
EXPERIMENT = """\
question: Does a chronological feed make fewer likes?
base: base.yaml
design:
  conditions:
    chronological: {feed.algorithm: chronological}
    random: {feed.algorithm: random, feed.size: 3}
seeds: 3
measures:
  likes: likes
  engagement: engagement
  posts: rounds.posts
hypotheses:
  - {measure: likes, contrast: [chronological, random]}
"""


def write_experiment(directory: Path, text: str = EXPERIMENT, base: str = BASE) -> Path:
    """Write the experiment and its base, and return the path of the experiment."""
    (directory / "base.yaml").write_text(base)
    (directory / "e.yaml").write_text(text)
    return directory / "e.yaml"
