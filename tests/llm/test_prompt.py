"""The prompt of a choice: templates, what fills them, and the order of options."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from prism.errors import ConfigError
from prism.llm import LLMConfig, SocialModelOracle
from prism.llm.prompt import PLACEHOLDERS, SHIPPED, ChoicePrompt, Template, order_of, template_of
from prism.quoting import quoted
from prism.social.chart import SOCIAL_CHART
from prism.social.posts.post import PersonalView
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.llm.support import Person, serving
from tests.standin import ServerSettings, SystemOne

OPTIONS = [AgentState.SCROLLING, AgentState.ENGAGING_LIKE, AgentState.ENGAGING_RESHARE, AgentState.COMPOSING]
WORDS = ["scroll on", "like the post", "reshare the post", "write a reply"]


class Known(Person):
    attributes: Mapping[str, Any] = {"age": 40, "vegan": False, "place": 'the\n"north"'}
    facts = attributes
    state = AgentState.EVALUATING


def view(text: str = "Tea is late.", memory: tuple[str, ...] = ()) -> PersonalView:
    fields: tuple[Any, ...] = (1, 2, "Ann", text, ("rail", "food"), 75, 3, 1, 0, 0.1, 0.2, True, 0.5, 0.4, 0.1)
    return replace(PersonalView(*fields), memory=memory)


def oracle(model: Any = None, **settings: Any) -> SocialModelOracle:
    return SocialModelOracle(model, LLMConfig(**settings), 1, chart=SOCIAL_CHART)


def prompt(template: str, person: Any = None, context: Any = None, **settings: Any) -> ChoicePrompt:
    asked = oracle(**settings).prompt(person or Known(), AgentState.EVALUATING, "decides", OPTIONS, context)
    return replace(asked, template=template_of(template))


def text_of(template: str, person: Any = None, context: Any = None) -> str:
    (message,) = prompt(f"{template}\n", person, context).messages("")
    return message.content


@catalogue("name", SHIPPED)
def test_a_shipped_template_says_in_everyday_words_who_one_is_what_one_sees_and_may_do(name: str) -> None:
    rules, situation = prompt(name, context=view(memory=("just now you ate",))).messages()
    assert (rules.role, situation.role) == ("system", "user")
    assert all(f"- {words}\n" in situation.content for words in WORDS)
    assert not any(words in rules.content for words in WORDS), "the order of options changes nothing that a cache keeps"
    assert "Ada" not in rules.content
    for said in ('"Ada Novak"', '"science"', '"curious"', "40", '"Ann"', '"Tea is late."', "1 hour ago", "you ate"):
        assert said in situation.content
    whole = f"{rules.content}{situation.content}"
    assert not any(state.value in whole for state in OPTIONS)
    assert "{" in whole or not any(word in whole for word in ("evaluating", "decides", "tick", "state"))


def test_prose_and_list_are_formats_of_a_person_that_can_be_exchanged() -> None:
    prose, listed = prompt("prose", context=view()), prompt("list", context=view())
    assert 'You are "Ada Novak". You are interested in "science" and "food".' in prose.messages()[1].content
    assert '- name: "Ada Novak"\n- interests: "science", "food"\n' in listed.messages()[1].content
    assert "- vegan: no" in replace(prose, persona="list").messages()[1].content
    assert "Your vegan is no." in replace(listed, persona="prose").messages()[1].content


def test_the_parts_of_a_person_and_of_what_they_see_can_be_used_alone() -> None:
    assert text_of("{options}{answer}|{name} {attributes.age} {attributes.place}", Known()).endswith(
        '|"Ada Novak" 40 "the\\n\\"north\\""'
    )
    context = {"some thing": 'a "b"'}
    assert text_of("{seen.some_thing}", context=context) == quoted('a "b"')
    assert text_of("{seen}", context=context) == '- some thing: "a \\"b\\""'
    assert text_of("{state} {trigger} {tick}") == "evaluating decides 340"
    assert text_of('{{name}} {} { state } {"a": 1}') == '{name} {} evaluating {"a": 1}'


def test_a_line_whose_placeholders_are_all_empty_is_left_out() -> None:
    assert text_of("A\n\nRemember: {memory}{seen.author}\n\nB") == "A\n\nB"
    assert text_of("A\n\nYou remember:\n{memory}\nYou see:\n{seen}", context={"a": 1}) == "A\n\nYou see:\n- a: 1"
    assert text_of("A:\n\n{memory}\nB") == "A:\n\nB"
    assert text_of("A\n\nBy {seen.author} {memory}\n\nB", context=view()) == 'A\n\nBy "Ann"\n\nB'


@given(st.text(), st.sampled_from([*SHIPPED, "{options}\n{answer}\n{seen}\n"]))
def test_a_text_of_people_is_one_string_on_one_line_and_is_never_filled(text: str, template: str) -> None:
    said = f"{text}{{name}}{{options}}\n---\n- "
    messages = prompt(template, context=view(said)).messages()
    plain = prompt(template, context=view("")).messages()
    assert [message.content.replace(quoted(said), '""') for message in messages] == [each.content for each in plain]
    assert len(quoted(said).splitlines()) == 1


@catalogue(
    ("text", "problem"),
    [
        ("  \n", "p.txt: the template is empty; expected text with {options} and {answer}"),
        ("A\n{nme}{options}{answer}", "p.txt:2: {nme}: no such placeholder; did you mean name?"),
        ("{options}{answer}{attributes.aeg}", "p.txt:1: {attributes.aeg}: no such attribute; did you mean age?"),
        ("{answer}", "p.txt: the template has no {options}, what they may do, a line for each"),
        ("{options}", "p.txt: the template has no {answer}, the form of the answer"),
        ("{options}{answer}{attributes}", "p.txt:1: {attributes}: no such placeholder; "),
    ],
)
def test_a_template_that_cannot_be_filled_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Template(text, "p.txt").check(["age"])
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_every_placeholder_can_be_used() -> None:
    names = [name.replace("attributes.NAME", "attributes.age").replace("NAME", "author") for name in PLACEHOLDERS]
    template = Template("\n".join(f"{{{name}}}" for name in names))
    template.check(["age"])
    (message,) = replace(prompt("prose", context=view(memory=("now you ate",))), template=template).messages()
    assert len(message.content.split("\n")) >= len(names)


def test_the_order_is_drawn_for_each_agent_and_tick_and_each_is_as_likely() -> None:
    drawn = Counter(order_of(7, agent, tick, 3) for agent in range(60) for tick in range(100))
    assert len(drawn) == 6
    assert all(abs(count - 1000) < 150 for count in drawn.values())
    assert order_of(7, 3, 5, 4) == order_of(7, 3, 5, 4)


def test_the_fallback_is_the_first_option_whatever_the_order() -> None:
    asked = prompt("prose")
    assert asked.order == order_of(1, 12, 340, 4) != (0, 1, 2, 3)
    assert [*asked.options] == WORDS
    assert prompt("prose", order="fixed").order == (0, 1, 2, 3)
    with pytest.raises(ValueError, match="each number below 4 once"):
        replace(asked, order=(0, 1, 1, 2))


def test_options_without_a_label_have_their_description_and_equal_words_are_told_apart() -> None:
    described = SocialModelOracle(None, LLMConfig(), 1)  # type: ignore[arg-type]  # it is not asked
    words = described.prompt(Known(), AgentState.EVALUATING, "decides", OPTIONS).options
    assert words[1] == "Like this post"
    same = SocialModelOracle(None, LLMConfig(), 1, descriptions=dict.fromkeys(OPTIONS, "Go"))  # type: ignore[arg-type]
    words = same.prompt(Known(), AgentState.EVALUATING, "decides", OPTIONS).options
    assert words[0] == "Go (scrolling)"
    assert len({*words}) == 4


@catalogue("systemone", ["auto", "off"])
async def test_a_question_asked_again_in_another_order_has_its_probabilities_in_the_order_of_the_question(
    systemone: str,
) -> None:
    def weigh(_state: str, options: Any) -> list[float]:
        """Weigh by the words alone, so that the order must not matter."""
        return [1.0 + WORDS.index(words) for words in options]

    settings = ServerSettings(weigh=weigh, systemone=SystemOne.ON if systemone == "auto" else SystemOne.OFF)
    async with serving("ollama", settings, systemone=systemone) as (_, model):
        asker = oracle(model)
        asked = asker.prompt(Known(), AgentState.EVALUATING, "decides", OPTIONS, view())
        found = [await asker.judgement(replace(asked, order=order)) for order in ((0, 1, 2, 3), (3, 1, 0, 2))]
    if systemone == "auto":
        assert found[0].probabilities == pytest.approx([0.1, 0.2, 0.3, 0.4])
        assert found[1].probabilities == pytest.approx(found[0].probabilities)
    else:
        assert all(sum(each.probabilities) == 1.0 and each.samples == 1 for each in found)
