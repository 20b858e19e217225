"""A model that is asked as people: what is taken as an answer, and what a prompt says."""

from __future__ import annotations

import pytest

from actors.testing import ScriptedModel
from prism.config.model import LLMConfig
from prism.errors import OracleResponseError
from prism.survey import Interview, Item, Respondent, SurveyOracle
from tests.catalogue import catalogue

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
