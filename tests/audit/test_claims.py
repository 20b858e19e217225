"""Verdicts on claims, the small model of choices that carries a shift to them, and the sentences of an audit."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from actors.studies.audit.carried import effects_at_seeds
from prism.audit.choices import Recorded, fitted, tilted
from prism.audit.record import Claim, combined, verdict_on
from prism.audit.shift import Estimate, Exchange
from prism.audit.words import findings_or_none, paragraph_of
from prism.wording import without_place
from tests.audit.audits import audit, with_each_verdict
from tests.catalogue import catalogue

EFFECT: dict[str, Any] = {"claim": "hot > chronological", "measure": "likes", "kind": "difference", "effect": 10.0}


@catalogue(
    ("given", "effect", "low", "high", "verdict"),
    [
        ({}, 9.0, 2.0, 16.0, "survives"),
        ({}, 3.0, 1.0, 5.0, "weakens"),
        ({}, 0.5, -2.0, 3.0, "weakens"),
        ({}, -6.0, -9.0, -3.0, "turns"),
        ({}, 4.0, -5.0, 13.0, "cannot tell"),
        ({"effect": -10.0}, -9.0, -16.0, -2.0, "survives"),
        ({"effect": -10.0}, 6.0, 3.0, 9.0, "turns"),
        ({"kind": "equivalence", "margin": 2.0, "effect": 0.1}, 0.5, -1.0, 1.9, "survives"),
        ({"kind": "equivalence", "margin": 2.0, "effect": 0.1}, 4.0, 2.5, 6.0, "turns"),
        ({"kind": "equivalence", "margin": 2.0, "effect": 0.1}, 1.5, -0.5, 3.5, "cannot tell"),
        ({"kind": "measure"}, 10.5, 9.0, 11.5, "survives"),
        ({"kind": "measure"}, 15.0, 12.5, 17.0, "weakens"),
        ({"kind": "measure"}, 12.0, 9.0, 15.0, "cannot tell"),
    ],
)
def test_a_verdict_follows_from_the_interval(
    given: dict[str, Any], effect: float, low: float, high: float, verdict: str
) -> None:
    assert verdict_on(Claim(**{**EFFECT, **given}), Estimate(value=effect, low=low, high=high)) == verdict


def test_both_errors_count_and_several_ways_widen_the_interval() -> None:
    seeds, moved = [9.0, 10.0, 11.0, 10.0], [1.0, -1.0, 0.5, -0.5]
    alone, both, among = combined(seeds, []), combined(seeds, moved), combined(seeds, moved, ways=5)
    reach = [(each.high or 0.0) - each.value for each in (alone, both, among)]
    assert alone.value == both.value == 10.0
    assert reach == sorted(reach)
    assert combined([3.0], []) == Estimate(value=3.0, low=3.0, high=3.0)


def recorded(random: np.random.Generator, count: int = 4000) -> Recorded:
    seen = random.normal(size=count)
    values = np.column_stack([np.zeros(count), -0.5 + 1.2 * seen, -1.5 - 0.4 * seen])
    weights = np.exp(values)
    chosen = (random.random((count, 1)) > (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    return Recorded(
        ("scroll", "like", "reply"), np.zeros((count, 3)), np.minimum(chosen, 2), seen[:, None], np.ones(count)
    )


def test_the_model_of_choices_finds_what_choices_depend_on() -> None:
    model = fitted(recorded(np.random.default_rng(5)))
    for seen in (-1.0, 0.0, 1.0):
        weights = np.exp([0.0, -0.5 + 1.2 * seen, -1.5 - 0.4 * seen])
        assert model.probabilities(("scroll", "like", "reply"), [seen]) == pytest.approx(
            weights / weights.sum(), abs=0.04
        )
    some = model.probabilities(("like", "scroll"), [0.0])
    assert sum(some) == pytest.approx(1.0)


def test_a_tilted_model_has_the_shift_of_the_sample_and_none_without_a_shift() -> None:
    random = np.random.default_rng(5)
    known = recorded(random)
    model, rows = fitted(known), np.arange(300)
    shift = np.tile([-0.2, 0.15, 0.05], (300, 1))

    def shares(of: Any) -> Any:
        return np.mean([of.probabilities(known.options, each) for each in known.features[:500]], axis=0)

    moved = tilted(model, known, rows, shift)
    assert shares(moved) - shares(model) == pytest.approx([-0.2, 0.15, 0.05], abs=0.03)
    same = tilted(model, known, rows, np.zeros((300, 3)))
    assert shares(same) == pytest.approx(shares(model), abs=1e-3)


def test_a_sample_that_can_tell_nothing_is_no_good_news() -> None:
    small = audit("cannot tell", "cannot tell")
    assert findings_or_none(small) == [
        "Nothing was found against the study, but the sample is too small to exclude a shift that matters."
    ]
    assert "too small to tell whether answers shift" in paragraph_of(small)
    assert "No shift" not in paragraph_of(small)
    assert findings_or_none(audit("holds")) == ["Nothing was found against the study."]
    assert "No shift of answers by 10 points or more was found." in paragraph_of(audit("holds"))
    partly = paragraph_of(audit("holds", "cannot tell"))
    assert "No shift of answers by 10 points or more was found. The sample is too small to exclude one" in partly


@pytest.mark.parametrize(
    ("high", "said"), [(4.0, "fewer than 10 points of them turn beyond chance"), (30.3, "they turn no more often than")]
)
def test_answers_turn_little_only_if_the_interval_says_so(high: float, said: str) -> None:
    turned = Estimate(value=1.0, low=-10.9, high=high)
    exchange = Exchange(questions=31, turned=turned, p=0.6, moves=False)
    (found,) = findings_or_none(audit("holds", exchange=exchange))
    assert said in found


def test_the_paragraph_says_in_how_many_cells_of_an_experiment_questions_were_asked() -> None:
    told = paragraph_of(replace(audit("holds"), cells=2, digests=("00", "01", "02")))
    assert "Of 60 recorded questions in 2 of 3 cells to a-model, a random 30 were asked again" in told
    assert "Of 60 recorded questions to a-model, a random 30" in paragraph_of(audit("holds"))


def test_each_verdict_stands_in_the_record_and_in_the_paragraph() -> None:
    found = with_each_verdict()
    record = msgspec.json.decode(msgspec.json.encode(found))
    assert [(each["verdict"], each["decided_by"]) for each in record["claims"]] == [
        ("survives", ""),
        ("weakens", "wording"),
        ("turns", "wording"),
        ("cannot tell", "wording"),
        ("cannot tell", ""),
    ]
    told = (
        "Carried to the outcome in 20 futures under shared draws: 1 claim survives: claim 1. "
        "2 claims cannot be judged: claim 4 (undecided with another wording); claim 5 (undecided in the study itself). "
        "1 claim weakens: claim 2 (decided by the wording). "
        "1 claim turns into its opposite: claim 3 (decided by the wording)."
    )
    assert paragraph_of(found).endswith(told)


def test_a_model_is_named_without_its_server_and_directories() -> None:
    for described, told in {
        "llama3.2 by ollama 0.40 at http://10.0.0.7:11434, json, recorded": "llama3.2 by ollama 0.40, json, recorded",
        "/home/ann/models/gemma.gguf by openai at http://gpu, letters": "gemma.gguf by openai, letters",
        "C:\\models\\a.gguf, org/b:2b by openai from tape runs/x/tape.sqlite, json": "a.gguf, org/b:2b by openai, json",
    }.items():
        assert without_place(described) == told


def values(hot: float) -> Mapping[str, Mapping[str, float]]:
    return {"hot": {"likes": hot}, "random": {"likes": 1.0}}


def test_a_way_without_a_shift_leaves_the_effect_of_all_seeds_though_a_few_are_carried() -> None:
    claim = Claim(claim="", measure="likes", kind="difference", effect=5.0, contrast=("hot", "random"))
    recorded, modelled = [values(2.0), values(4.0)], [values(7.0), values(8.0)]
    assert effects_at_seeds(claim, recorded, modelled, modelled) == [4.0, 6.0]
    assert effects_at_seeds(claim, recorded, modelled, [values(8.0), values(9.0)]) == [5.0, 7.0]
