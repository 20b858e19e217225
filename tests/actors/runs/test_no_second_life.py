"""The classes of the specification are what a run uses. What a run does not call is shown in an example of a page."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Final

import anyio
import msgspec
import pytest

from actors import Simulation, build_domain
from actors.testing import ScriptedModel
from prism import Config
from prism.agents import Agent, EconLLMAgent, LLMAgent, SocialAgent, StatefulAgent
from prism.economy import Action, GlobalState, NationState, SimulationState
from prism.engines import EconLLMEngine, Engine, LLMEngine
from prism.llm import ChatRequest, LanguageModel, LLMClient, Tape, TapedModel
from prism.models import LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from prism.statechart import (
    Oracle,
    Statechart,
    StatechartOracle,
    StateTransition,
    Transition,
    agents_in_state,
    build_oracle_prompt,
    format_context,
    parse_oracle_response,
    state_distribution,
)
from prism.validators import EconLLMValidator, LLMValidator, Validator
from tests.catalogue import catalogue
from tests.docs.test_python import scripts
from tests.paths import ROOT
from tests.standin.answers import answer

CLASSES: Final[tuple[type, ...]] = (
    *(Statechart, Transition, StateTransition, StatefulAgent, SocialAgent, Oracle, StatechartOracle),
    *(Agent, LLMAgent, EconLLMAgent, Validator, LLMValidator, EconLLMValidator, Engine, LLMEngine, EconLLMEngine),
    *(LLMClient, LLMReasoningChain, PolicyDecision, ValidationResult, StateUpdateDecision),
    *(Action, GlobalState, NationState, SimulationState),
)
FUNCTIONS: Final[tuple[Callable[..., Any], ...]] = (
    *(agents_in_state, state_distribution, build_oracle_prompt, parse_oracle_response, format_context),
)
HOOKS: Final = frozenset(
    {
        *("_construct_prompt", "_validate_decision", "_construct_validation_prompt", "_get_domain_description"),
        *("_construct_state_update_prompt", "_apply_state_update"),
    }
)
"""What the specification lets a subclass write, although the names say that it is private."""

PERSONAL: Final = (
    *("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism"),
    *("engagement_threshold", "low_threshold", "high_threshold", "should_engage", "is_interested"),
)
LOOKS = 100
"""The calls of one function whose arguments are looked at."""

CHARTS, DOMAINS = "docs/tables.md", "docs/domains.md"
LIBRARY: Final[dict[str, str]] = {
    **dict.fromkeys(("Statechart.fire", "Statechart.candidates", "Statechart.outcomes"), CHARTS),
    "Statechart.valid_targets": CHARTS,
    **dict.fromkeys(("Transition.name", "agents_in_state", "state_distribution", "StateTransition.to_json"), CHARTS),
    **dict.fromkeys((f"StatefulAgent.{name}" for name in ("state_history", "max_history_depth", "to_json")), CHARTS),
    **dict.fromkeys((f"SocialAgent.{name}" for name in ("engagement_threshold", "relevance", "should_engage")), CHARTS),
    **dict.fromkeys((f"SocialAgent.{name}" for name in PERSONAL), CHARTS),
    **dict.fromkeys(("Oracle.decide", "StatechartOracle.ask"), CHARTS),
    "LLMAgent.decide_action": DOMAINS,
    "LLMValidator.validate_actions": DOMAINS,
    "LLMEngine.run_turn": DOMAINS,
    "LLMClient.aclose": DOMAINS,
}
"""`{name: the page with an example of it}` for what programs call and runs do not."""


class Tracer:
    """Notes which functions of PRISM are called, and the classes of what they take and return."""

    def __init__(self) -> None:
        self.called: set[CodeType] = set()
        self.types: set[type] = set()
        self._looks: dict[CodeType, int] = {}

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        """Take one event of the interpreter's profiler."""
        code = frame.f_code
        if event not in ("call", "return"):
            return
        looks = self._looks[code] = self._looks.get(code, 0) + 1
        if looks > LOOKS or not code.co_filename.startswith((f"{ROOT}/prism/", f"{ROOT}/actors/")):
            return
        self.called.add(code)
        if event == "return":
            self.types.add(type(value))
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.types.update(type(frame.f_locals.get(name)) for name in names)

    def classes(self) -> set[type]:
        """Return the classes seen, with those above them."""
        return {each for kind in self.types for each in kind.__mro__}


def says(request: ChatRequest) -> str:
    """Return what the model of the test server says; to some people it is silent, whatever they do."""
    if request.asked_by.startswith(("agent 1 ", "agent 11 ")):
        return ""
    return answer(msgspec.to_builtins(request.messages), request.seed, request.schema)


SOCIAL: Final = {
    "simulation": {"rounds": 2, "ticks_per_round": 12},
    "oracle": {"max_fallback_share": 1.0},
    "population": {"size": 30, "ambiguity": 0.3, "posts_per_session": 0.5, "activity": {"mean": 0.9, "sigma": 0.2}},
}
ECONOMY: Final = {
    "simulation": {"domain": "economy", "rounds": 2, "ticks_per_round": 1},
}


def run_traced(tracer: Tracer, settings: dict[str, Any], model: LanguageModel | None) -> None:
    """Trace the making of a simulation, and its run."""
    config = Config(**settings)
    sys.setprofile(tracer)
    try:
        domain = build_domain(config).domain
        anyio.run(Simulation(config, domain, domain.oracle(model)).run)
    finally:
        sys.setprofile(None)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Tracer:
    """Return the trace of one run of each kind: embedded, with a model and a tape, and from the tape alone."""
    tracer = Tracer()
    for name, settings in (("social", SOCIAL), ("economy", ECONOMY)):
        tape = tmp_path_factory.mktemp(name) / "tape.sqlite"
        run_traced(tracer, settings, None)
        run_traced(tracer, settings, TapedModel(ScriptedModel(says), Tape(tape, "record"), "record"))
        run_traced(tracer, settings, TapedModel(None, Tape(tape, "replay"), "replay"))
    run_traced(tracer, {**SOCIAL, "llm": {"writes": True}}, ScriptedModel(says))
    run_traced(tracer, {**SOCIAL, "oracle": {"max_fallback_share": 1.0}}, None)
    run_traced(tracer, {**SOCIAL, "oracle": {"max_fallback_share": 1.0, "sharing": {"by": "archetype"}}}, None)
    run_traced(tracer, {**SOCIAL, "run": {"activation": "compiled"}}, None)
    return tracer


def members() -> Iterator[tuple[str, list[CodeType]]]:
    """Yield each public name of the specification's classes and functions, with the code behind it.

    The code of a method that a subclass overrides is that of the subclass, too.
    """
    for function in FUNCTIONS:
        yield function.__name__, [function.__code__]
    for kind in CLASSES:
        for name, value in vars(kind).items():
            if name.startswith("_") and name not in HOOKS:
                continue
            if getattr(value, "__isabstractmethod__", False):
                continue
            codes = [code for each in (kind, *below(kind)) for code in codes_of(vars(each).get(name))]
            if codes:
                yield f"{kind.__name__}.{name}", codes


def below(kind: type) -> Iterator[type]:
    """Yield PRISM's subclasses of a class."""
    lower: list[type] = kind.__subclasses__()
    for each in lower:
        if each.__module__.startswith(("prism.", "actors.")):
            yield each
            yield from below(each)


def codes_of(member: object) -> list[CodeType]:
    """Return the code of a method, of a class method, or of a property's getter."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    code = getattr(function, "__code__", None)
    return [] if code is None else [code]


@pytest.mark.slow
def test_runs_use_every_class_of_the_specification(traced: Tracer) -> None:
    made_when_read = {StateTransition}  # an agent keeps what its records are made of, and a run reads no history
    assert sorted(kind.__name__ for kind in set(CLASSES) - traced.classes() - made_when_read) == []


def test_what_no_run_calls_is_the_library_and_shown_in_an_example(traced: Tracer) -> None:
    uncalled = {name for name, codes in members() if traced.called.isdisjoint(codes)}
    assert sorted(uncalled - LIBRARY.keys()) == [], "no run calls these, and no page is named that shows them"
    assert sorted(LIBRARY.keys() - uncalled) == [], "runs call these, or they are gone"


@catalogue(("name", "page"), LIBRARY.items())
def test_a_page_shows_what_is_only_for_programs(name: str, page: str) -> None:
    shown = "".join(example.code for example in scripts(ROOT / page) if example.output is not None)
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", shown), f"{page} has no example with {name}"
