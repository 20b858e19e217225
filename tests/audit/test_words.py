"""The sentences of an audit follow from its findings, and a small sample is never reassuring."""

import msgspec
import pytest
from msgspec.structs import replace

from prism.audit.shift import Estimate, Exchange
from prism.audit.words import findings_or_none, paragraph_of
from prism.wording import without_place
from tests.audit.audits import audit, with_each_verdict


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
