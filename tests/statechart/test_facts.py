"""A person's own attributes in a prompt: told as facts, one line each, texts as data, and nothing without them."""

from typing import Any

from prism.agents.turn import Question
from prism.config import Config
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.posts.post import PostView
from prism.statechart import AgentState, build_oracle_prompt
from tests.catalogue import catalogue

OPTIONS = [AgentState.SCROLLING, AgentState.COMPOSING]


def prompt(facts: dict[str, Any] | None = None) -> str:
    given: dict[str, Any] = {} if facts is None else {"facts": facts}
    return build_oracle_prompt("Ada", ["tea"], "calm", AgentState.EVALUATING, "decides", OPTIONS, None, **given)


def test_facts_follow_the_personality_one_line_each_and_nothing_else_changes() -> None:
    facts = {"age": 40, "ideology (-1 is left)": -0.30612, "verified": True, "region": 'the "north"'}
    told = 'Your age: 40\nYour ideology (-1 is left): -0.31\nYour verified: true\nYour region: "the \\"north\\""\n'
    assert prompt() == prompt({})
    assert prompt(facts) == prompt().replace("Your personality: calm\n", f"Your personality: calm\n{told}")


@catalogue(
    ("value", "text"),
    [
        (0.30612345, "0.31"),
        (0.5, "0.5"),
        (1.0, "1"),
        (-1.0, "-1"),
        (0.0, "0"),
        (-0.0, "0"),
        (0.012345, "0.012"),
        (0.05, "0.05"),
        (-0.000123, "-0.00012"),
        (1e-9, "1e-09"),
        (100.0, "100"),
        (52345.678, "52345.68"),
        (1e15, "1000000000000000"),
        (10, "10"),
        (10**15, "1000000000000000"),
        (False, "false"),
    ],
)
def test_a_number_is_told_without_digits_that_say_nothing(value: float, text: str) -> None:
    assert f"\nYour own: {text}\n" in prompt({"own": value})


def people(attributes: dict[str, Any]) -> SocialDomain:
    config = Config(population={"size": 20, "attributes": attributes})  # type: ignore[arg-type]
    return SocialDomain(config, build_population(config.population, config.simulation.seed))


def test_a_run_tells_a_model_what_is_declared_for_it() -> None:
    domain = people(
        {
            "age": {"type": "int", "default": 40, "description": "in years"},
            "secret": {"type": "int", "default": 1, "prompt": False},
            "region": {"type": "text", "default": "north"},
        }
    )
    question = Question[PostView](3, 1, "decides", "evaluating", ("scrolling", "composing"))
    asker = domain.asker(question)
    assert dict(asker.facts) == {"age (in years)": 40, "region": "north"}
    assert dict(asker.attributes) == {"age": 40, "secret": 1, "region": "north"}
    assert dict(people({}).asker(question).facts) == {}
