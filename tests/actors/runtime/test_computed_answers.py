"""Answers: read into columns whatever their order, and computed at once as they are one by one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.messages import Codec, Decided
from actors.core.ports import Record
from actors.runtime.activation import AnswerReader
from prism.agents import Question, Update
from prism.social.posts.post import PostView
from prism.statechart import Oracle
from tests.actors.oracle.bench import Bench, question

pytestmark = pytest.mark.usefixtures("logged")


class AtOnce(Oracle[Any]):
    """An oracle that computes, all at once where it can."""

    waits = False

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        self.asked.append(agent.agent_id)
        return options[-1]

    def answer_all(self, questions: Any) -> list[str] | None:
        if any(each.agent == 13 for each in questions):
            raise ValueError("unlucky")
        return [each.options[-1] for each in questions]


async def test_an_oracle_that_computes_answers_in_the_turn_in_which_it_is_asked() -> None:
    oracle = AtOnce()
    bench = Bench(oracle)
    decided = bench.actor.answer_now([*map(question, range(9))])
    assert decided is not None
    assert [(each.agent, each.state, each.source) for each in decided] == [(at, "green", "oracle") for at in range(9)]
    assert oracle.asked == []
    statistics = bench.actor.statistics
    assert (statistics.answered, statistics.calls, statistics.methods) == (9, 9, {"embedded": 9})


async def test_a_recorded_answer_goes_before_a_computed_one() -> None:
    recorded = Decided(0, 1, "clock", "red", "oracle", method="embedded")
    bench = Bench(AtOnce(), answers=Recorded(recorded))
    decided = bench.actor.answer_now([question(0), question(1)])
    assert decided is not None
    assert [each.state for each in decided] == ["green", "red"]
    assert decided[1] is recorded
    assert (bench.actor.statistics.answered, bench.actor.statistics.calls) == (2, 2)
    assert bench.actor.state(lambda _: True).answered == 2, "no question of them is open"


class Recorded(Record):
    def __init__(self, decided: Decided) -> None:
        self._decided = decided

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        return self._decided if question.agent == self._decided.agent else None


CODEC = Codec(PostView, str)

numbers = st.integers(0, 2**63 - 1)
texts = st.text("ab é中\U0001f600\n\0", max_size=8)
shares = st.floats(0.0, 1.0)
views = st.builds(
    PostView,
    id=numbers,
    author=numbers,
    author_name=texts,
    text=texts,
    topics=st.lists(texts, max_size=3).map(tuple),
    age_ticks=numbers,
    likes=numbers,
    replies=numbers,
    reshares=numbers,
    velocity=st.floats(0.0, allow_infinity=False),
    popularity=shares,
    followed=st.booleans(),
    topic_match=shares,
    appeal=shares,
    fatigue=shares,
)
questions = st.tuples(texts, texts, st.lists(texts, max_size=4).map(tuple), st.none() | views)
updates = st.tuples(texts, texts, texts, texts, st.none() | texts | st.text("x", min_size=30, max_size=40), texts)
waves = st.tuples(
    numbers,
    st.dictionaries(
        numbers,
        st.sampled_from([(Question[Any], questions), (Update[Any], updates)]).flatmap(
            lambda each: st.tuples(st.just(each[0]), each[1])
        ),
        max_size=8,
    ),
    st.randoms(),
)


@given(waves=st.lists(waves, max_size=4))
def test_answers_are_read_in_the_order_of_agents_each_as_what_it_was(waves: list[Any]) -> None:
    reader = AnswerReader(CODEC)
    for tick, wave, drawn in [*waves, *waves]:  # the second time most kinds are known
        given_answers = [(kind(tick, agent, *fields)) for agent, (kind, fields) in sorted(wave.items())]
        sent = [CODEC.encode(each) for each in given_answers]
        drawn.shuffle(sent)
        found = reader.read(tick, sent)
        assert [*(found.updates or ())] == [each for each in given_answers if isinstance(each, Update)]
        assert [question for question, _ in found.asked] == [*(found.questions or ())]
        assert [*(found.questions or ())] == [each for each in given_answers if isinstance(each, Question)]
        assert [encoded for _, encoded in found.asked] == [CODEC.encode(question) for question, _ in found.asked]
