"""Answers that come one by one are read into columns, whatever their order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.core.messages import Codec
from actors.runtime.answers import AnswerReader
from prism.agents import Question, Update
from prism.social.posts.post import PostView

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
    for tick, wave, random in [*waves, *waves]:  # the second time most kinds are known
        given_answers = [(kind(tick, agent, *fields)) for agent, (kind, fields) in sorted(wave.items())]
        sent = [CODEC.encode(each) for each in given_answers]
        random.shuffle(sent)
        found = reader.read(tick, sent)
        assert [*(found.updates or ())] == [each for each in given_answers if isinstance(each, Update)]
        assert [question for question, _ in found.asked] == [*(found.questions or ())]
        assert [*(found.questions or ())] == [each for each in given_answers if isinstance(each, Question)]
        assert [encoded for _, encoded in found.asked] == [CODEC.encode(question) for question, _ in found.asked]
