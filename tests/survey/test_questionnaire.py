"""Questionnaires: their files, a model that is asked as people, and outcomes worked out by hand."""

import pytest
from scipy.stats import wilcoxon

from actors.testing import ScriptedModel
from prism.config.attributes import AttributeConfig
from prism.config.model import LLMConfig
from prism.errors import ConfigError, OracleResponseError
from prism.survey.oracle import Interview, Respondent, SurveyOracle
from prism.survey.outcome import Given, outcomes_of
from prism.survey.questionnaire import EmbeddedAnswers, Item, read_questionnaire
from tests.catalogue import catalogue

FILE = """
at: {before: 2, after: 8}
repeat: 3
questions:
  - id: trust
    text: How much do you
      trust the news?
    scale: [-3, 3]
    labels: [not at all, very much]
  - {id: side, text: "Which side?", options: ["yes", "no", maybe]}
  - {id: why, text: "Why?", open: true}
"""


def read(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read_questionnaire(text, "asked.yaml")
    return str(refused.value)


def question(keys: str) -> str:
    return f"at: 1\nquestions:\n  - {{id: a, text: b, open: true}}\n  - {{id: c, text: d, {keys}}}\n"


def test_a_file_says_what_is_asked_when_and_how_often() -> None:
    found = read_questionnaire(FILE, "asked.yaml")
    assert (found.at, found.repeat) == ({"before": 2, "after": 8}, 3)
    trust, side, why = found.items
    assert trust.text == "How much do you trust the news?"
    assert trust.choices == ("-3", "-2", "-1", "0", "1", "2", "3")
    assert side.choices == ("yes", "no", "maybe")
    assert why.choices == ()
    assert [option.value for option in side.states] == ["yes", "no", "maybe"]


@catalogue(
    ("text", "problem"),
    [
        (question("labels: [x, y]"), "asked.yaml:4: questions[1].id: expected one of options, scale and open: true"),
        (question("open: true, scale: [1, 7]"), "for the question c, got scale and open"),
        (question("scale: [1]"), "asked.yaml:4: questions[1].scale: expected two whole numbers, the lowest"),
        (question("scale: [1, 7], labels: [x]"), "expected two texts, for the ends of a scale, got 1"),
        (question("options: [x]"), "expected 2 to 50 options, got 1"),
        (question("options: [x, X]"), "questions[1].options[1]: expected another option than those before it, got 'X'"),
        (question("options: [x, '  ']"), "questions[1].options[1]: expected 1 to 100 characters, got 0"),
        (question("open: true").replace("id: c", "id: A"), "asked.yaml:4: questions[1].id: expected an id of its own"),
        (question("open: true").replace("id: c", "id: 2nd"), "questions[1].id: expected at most 60 letters"),
        (question("open: true").replace("text: d", "text: ''"), "questions[1].text: expected 1 to 2,000 characters"),
        (question("open: true").replace("at: 1", "at: {}"), "asked.yaml:1: at: expected 1 to 20 moments, got 0"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(text: str, problem: str) -> None:
    told = read(text)
    assert problem in told
    assert "\n" not in told


@catalogue(
    ("keys", "problem"),
    [
        ("scale: [1, 7]", "asked.yaml:4: c.answer: is missing"),
        (
            "scale: [1, 7], answer: agent.age > 3",
            "c.answer: column 1 of 'agent.age > 3': expected a number, found a condition",
        ),
        ("scale: [1, 7], answer: post.likes", "unknown field post.likes"),
        ("options: [left, up], answer: agent.camp", "c.answer: may give 'right', which is none of the options"),
    ],
)
def test_an_expression_that_gives_no_answer_of_its_kind_is_refused(keys: str, problem: str) -> None:
    asked = read_questionnaire(
        question(keys).replace("open: true}\n  -", "scale: [1, 2], answer: '1'}\n  -"), "asked.yaml"
    )
    declared = {
        "age": AttributeConfig(type="int", min=0, max=99),
        "camp": AttributeConfig(type="text", values=("left", "right")),
    }
    with pytest.raises(ConfigError) as refused:
        EmbeddedAnswers(asked, declared, seed=1)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


PERSON = Respondent(
    number=3,
    tick=48,
    moment="after",
    name="Ada",
    interests=("art",),
    personality="calm",
    facts={"leaning": 0.5},
    attributes={"leaning": 0.5},
    memory=('just now you liked a post by "Bo": "Hi"',),
)
OPEN = Item(id="why", text="Why is that so?", open=True)
SCALE = Item(id="trust", text="Do you trust it?", scale=(1, 3), labels=("not at all", "very much"))


async def asked(item: Item, *replies: str, attempts: int = 1, repeat: int = 1) -> tuple[str, str, list[str]]:
    """Return the answer with its content, and the prompts that were sent."""
    model = ScriptedModel(*replies)
    oracle = SurveyOracle(model, LLMConfig(temperature=0.5), seed=7, attempts=attempts)
    interview = Interview(PERSON, item, repeat)
    answer = await oracle.checked_answer(interview, interview.state, item.id, list(item.states))
    prompts = ["\n".join(message.content for message in request.messages) for request in model.requests]
    return answer.state, answer.content, prompts


async def test_a_prompt_says_the_question_and_then_the_person() -> None:
    state, _, (prompt,) = await asked(SCALE, '{"answer": "2"}')
    assert state == "2"
    assert "Do you trust it?\n\nThe answer is a whole number from 1 (not at all) to 3 (very much)." in prompt
    assert 'You are "Ada", a social media user.' in prompt
    assert "Your leaning: 0.5" in prompt
    assert prompt.endswith('\n\nYou remember:\n- just now you liked a post by "Bo": "Hi"')


@catalogue("said", ['{"answer": "4"}', "between 1 and 2"])
async def test_what_names_no_number_of_the_scale_is_no_answer(said: str) -> None:
    with pytest.raises(OracleResponseError):
        await asked(SCALE, said)


@catalogue("said", ['{"answer": "<answer>"}', "[]"])
async def test_what_holds_no_text_is_asked_for_again(said: str) -> None:
    _, content, prompts = await asked(OPEN, said, '{"answer": "So."}', attempts=2)
    assert content == "So."
    assert len(prompts) == 2
    with pytest.raises(OracleResponseError):
        await asked(OPEN, said, said, attempts=2)


SEVEN = Item(id="trust", text="?", scale=(1, 7))
TWO = Item(id="side", text="?", options=("yes", "no"))
THREE = Item(id="camp", text="?", options=("a", "b", "c"))
WHY = Item(id="why", text="?", open=True)
MOMENTS = ("before", "after")


def answers(item: Item, *values: list[int | str | None], repeat: int = 1) -> list[Given]:
    """Return answers of people 0, 1, ... at each moment."""
    return [
        Given(agent, moment, item.id, repeat, value)
        for moment, given in zip(MOMENTS, values, strict=False)
        for agent, value in enumerate(given)
    ]


def test_a_change_on_a_scale_is_tested_by_signed_ranks_of_those_who_answered_twice() -> None:
    was, now = [1, 2, 3, 4, 5, 6, 7, 2, 4], [4, 6, 3, 6, 6, 7, 6, 7, None]
    (found,) = outcomes_of([SEVEN], MOMENTS, answers(SEVEN, [*was], [*now]))
    (change,) = found.changes
    assert (change.people, change.up, change.down) == (8, 6, 1)
    assert change.difference == pytest.approx(15 / 8)
    differences = [3, 4, 2, 1, 1, -1, 5]
    assert change.p == pytest.approx(wilcoxon(differences, method="exact").pvalue, abs=0.02)
    # Ranks of sizes: 1, 1, 1 have rank 2 each, 2 has 4, 3 has 5, 4 has 6, 5 has 7; 26 up and 2 down of 28.
    assert change.effect == pytest.approx(24 / 28)
    assert change.low is not None
    assert change.high is not None
    assert change.low < change.difference < change.high
    assert change.sentence.startswith("trust: from before to after answers were 1.88 points higher, 95% interval +")
    assert "6 of 8 people moved up and 1 down" in change.sentence
    assert found.missing == {"before": 0, "after": 1}
    assert found.means["before"] == pytest.approx(34 / 9)


def test_two_options_are_tested_by_mcnemar() -> None:
    was = ["yes"] * 10 + ["no"] * 10
    now = ["yes"] * 9 + ["no"] + ["yes"] * 8 + ["no"] * 2
    (found,) = outcomes_of([TWO], MOMENTS, answers(TWO, [*was], [*now]))
    (change,) = found.changes
    assert (change.up, change.down) == (8, 1)
    assert change.p == pytest.approx(2 * (1 + 9) / 2**9)  # McNemar's exact test
    assert change.difference == pytest.approx(7 / 20)
    assert (change.low or 1.0) < 0.35 < (change.high or 0.0)
    assert "'yes' went from 50% to 85%, 95% interval of the difference +0.08 to +0.62: 8 of 20 people came to it" in (
        change.sentence
    )
    assert found.counts["after"] == {"yes": 17, "no": 3}
    ((change,),) = (each.changes for each in outcomes_of([TWO], MOMENTS, answers(TWO, ["no"] * 3, ["yes", "no", "no"])))
    assert (change.low, change.high) == (-1.0, 1.0), "a share cannot change by more"


def test_the_share_of_repeated_answers_is_of_each_later_asking_with_the_first() -> None:
    given = answers(SEVEN, [1, 2, 3, None], [4, 4, 4, 4])
    given += answers(SEVEN, [1, 2, 4, 4], [4, None, 4, 5], repeat=2)
    (found,) = outcomes_of([SEVEN], MOMENTS, given)
    assert found.repeated == pytest.approx(4 / 6)
    assert found.counts["before"]["4"] == 0  # the first asking is what is counted
    assert outcomes_of([SEVEN], MOMENTS, answers(SEVEN, [1]))[0].repeated is None
