"""A fit finds the logit that judged, its file gives the same answers, and what is no such file is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from prism.divergence import jensen_shannon
from prism.errors import InputError
from prism.sharing.distilled import Distilled, distil, read_distilled
from prism.sharing.fields import Fields
from prism.sharing.logit import fit_logit
from prism.sharing.records import Judged

NAMES = ("agent.age", "agent.region", "post.followed", "post.likes", "post.text")
FIELDS = Fields(NAMES, set(NAMES[:4]), {"agent.age", "post.followed"})
OPTIONS = ("scrolling", "liking")
Values = tuple[float, str, bool, int, str]


def truth(values: Values) -> tuple[float, ...]:
    age, region, followed, likes, _ = values
    utility = 0.5 * age - 0.8 * age * followed + 0.6 * followed + 0.4 * math.log1p(likes) - (region == "north") - 1.0
    share = 1.0 / (1.0 + math.exp(-utility))
    return 1.0 - share, share


def judged(count: int, seed: int = 1, chance: float = 1.0) -> list[Judged]:
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        values = (
            float(random.normal()),
            str(random.choice(["north", "south", "coast"])),
            bool(random.random() < 0.5),
            int(random.exponential(30.0)),
            f"text {number}",
        )
        shared = (0.5, 0.5) if chance < 1.0 else ()
        key = ("evaluating", "decides", *OPTIONS, 1)
        found.append(Judged(number, number, "decides", truth(values), key, values, shared, 0, chance))
    return found


def error(predict: object, records: Sequence[Judged]) -> float:
    return float(np.mean([jensen_shannon(predict(each.values), each.probabilities) for each in records]))  # type: ignore[operator]


def test_a_logit_with_a_product_is_found_from_a_few_hundred_judgements() -> None:
    found = fit_logit(judged(400), FIELDS, OPTIONS)
    assert error(found.predictor(NAMES), judged(200, seed=2)) < 0.002
    plain = fit_logit(judged(400), FIELDS._replace(multiplied=()), OPTIONS)
    assert error(plain.predictor(NAMES), judged(200, seed=2)) > 0.004


def test_the_order_of_judgements_does_not_matter_and_probabilities_add_up() -> None:
    records = judged(100)
    first, second = fit_logit(records, FIELDS, OPTIONS), fit_logit(records[::-1], FIELDS, OPTIONS)
    assert error(first.predictor(NAMES), judged(50, seed=3)) == pytest.approx(
        error(second.predictor(NAMES), judged(50, seed=3)), abs=1e-6
    )
    assert sum(first.predictor(NAMES)(records[0].values)) == pytest.approx(1.0)


def test_fields_that_nobody_states_and_texts_with_very_many_values_have_no_column() -> None:
    found = fit_logit(judged(100), FIELDS._replace(stated={"agent.age", "post.text"}), OPTIONS)
    assert {column.field for column in found.columns} == {"agent.age"}


def test_a_question_without_a_context_has_an_answer() -> None:
    found = fit_logit(judged(100), FIELDS, OPTIONS)
    assert sum(found.predictor(NAMES)((0.5, "north", "", "", ""))) == pytest.approx(1.0)


def test_a_file_gives_the_same_answers_and_says_how_far_it_is() -> None:
    records = judged(300, chance=0.5)
    made = distil(records, FIELDS, "a model", "0" * 32)
    read = read_distilled(made.to_yaml(), "oracle.yaml")
    assert read == made
    (question,) = read.questions
    assert (question.state, question.trigger, question.options) == ("evaluating", "decides", list(OPTIONS))
    assert question.divergence.low is not None
    assert question.divergence.high is not None
    fresh = judged(200, seed=4)
    assert question.divergence.low / 2 < error(question.predictor(NAMES), fresh) < question.divergence.high * 2
    fitted = fit_logit(records, FIELDS, OPTIONS)
    assert [question.predictor(NAMES)(each.values) for each in fresh] == [
        fitted.predictor(NAMES)(each.values) for each in fresh
    ]


def test_too_few_judgements_make_no_oracle() -> None:
    assert distil(judged(10), FIELDS, "a model", "").questions == []


def whole() -> Distilled:
    return distil(judged(100), FIELDS, "a model", "0" * 32)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- 1", "expected a distilled oracle"),
        ("format: [", "expected YAML"),
        ("", "expected a distilled oracle"),
        (whole().to_yaml().replace("format: 1", "format: 9"), "format 9; this version reads 1"),
        (whole().to_yaml().replace("judgements:", "judgments:"), "judgments"),
        (whole().to_yaml().replace("mean: ", "mean: x", 1), "Expected `float`"),
        ("a: !!python/object/apply:os.system ['true']", "expected YAML"),
    ],
)
def test_a_file_that_is_no_oracle_is_refused_by_name(text: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        read_distilled(text, "oracle.yaml")
    assert str(refused.value).startswith("oracle.yaml: ")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_logit_of_fields_that_a_run_does_not_have_is_refused() -> None:
    (question,) = whole().questions
    with pytest.raises(ValueError, match="no such field in this configuration"):
        question.predictor(("agent.age", "post.followed", "post.likes"))
