"""`prism shadow --against`: the embedded choice beside choices that people made."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from prism.scored import LEAST
from tests.command import Prism

CONFIG = """
simulation: {rounds: 2, ticks_per_round: 12, seed: 4}
population: {size: 30, ambiguity: 0.4, topics: [food, sport], interests_per_person: 1}
metrics: {enabled: false}
"""
CHOICES = """person,did,topics,followed,likes,fatigue,text
0,scrolling,food,1,3,0.1,Soup again
1,engaging_like,sport,0,10,0,A match
2,scrolling,food;sport,false,0,0.5,Both
"""


@pytest.fixture(autouse=True)
def run(prism: Prism) -> None:
    Path("study.yaml").write_text(CONFIG)
    Path("choices.csv").write_text(CHOICES)
    assert prism("run", "study.yaml", "--out", "run", "-q").code == 0


def asked(prism: Prism, *arguments: str) -> dict[str, Any]:
    ended = prism("shadow", "run", "--against", "choices.csv", "--json", *arguments)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def logit(weights: list[float], did: int) -> float:
    shares = [math.exp(each) for each in weights]
    share = (shares[did] / sum(shares) + LEAST) / (1.0 + LEAST * len(weights))
    return -math.log2(share)


def test_the_embedded_choice_is_scored_by_its_probabilities_of_what_was_shown(prism: Prism) -> None:
    alone = [f"oracle.choice.{name}=0" for name in ("topic", "tie", "activity", "popularity", "fatigue")]
    alone += [f"oracle.choice.{name}=0" for name in ("openness", "conscientiousness", "extraversion", "agreeableness")]
    settings = [*alone, "oracle.choice.neuroticism=0", "oracle.choice.like=-1", "oracle.choice.scale=1"]
    constants = [0.0, -1.0, -1.9, -1.7]
    overrides = [part for each in settings for part in ("--set", each)]
    found = asked(prism, *overrides)
    assert found["outcomes"] == {"answered": 3}
    expected = (2 * logit(constants, 0) + logit(constants, 1)) / 3
    assert found["score"]["log_loss"] == pytest.approx(expected, abs=1e-4)
    # One more of the people like what is popular: only the second post has ten likes, so it is the one that gains.
    popular = asked(prism, *overrides, "--set", "oracle.choice.popularity=2")
    assert popular["score"]["log_loss"] < found["score"]["log_loss"]


def test_the_terminal_shows_loss_rates_and_calibration(prism: Prism) -> None:
    ended = prism("shadow", "run", "--against", "choices.csv")
    assert ended.code == 0
    for words in ("log loss", "base rates", "what people did, over what the oracle expects", "calibration:"):
        assert words in ended.out


def test_what_cannot_be_compared_is_one_line(prism: Prism) -> None:
    Path("bad.csv").write_text("person,did\n99,engaging_like\n")
    ended = prism("shadow", "run", "--against", "bad.csv")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == "prism: bad.csv:2: person: expected a person of the run, from 0 to 29, got 99\n"
    both = prism("shadow", "run", "--against", "choices.csv", "--share", "0.1")
    assert both.code == 2
    assert "leave it out with --against" in both.err
