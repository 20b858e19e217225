"""What a model answers keeps its bounds wherever it comes from, and goes through a file unchanged."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.economy import Action, GlobalState, NationState, SimulationState, is_economic
from prism.llm import schema_of
from prism.models import LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from tests.catalogue import catalogue

Decision = PolicyDecision | ValidationResult | StateUpdateDecision

POLICY: dict[str, Any] = {"action": "Raise taxes", "reasoning": "Inflation is high.", "confidence": 0.5}
RESULT: dict[str, Any] = {"is_valid": True, "reasoning": "Taxes are economic.", "confidence": 0.5}
UPDATE: dict[str, Any] = {"new_interest_rate": 2.5, "reasoning": "Rates stay as they are.", "confidence": 0.5}
CHAIN: dict[str, Any] = {
    "component": "engine",
    "agent_name": "Norland",
    "prompt": "What now?",
    "response": "{}",
    "reasoning": "Rates stay.\nThey are fine.",
    "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
    "duration_ms": 250,
    "model": "llama3.2",
    "retry_count": 0,
}
MODELS: list[tuple[type[Any], dict[str, Any]]] = [
    (PolicyDecision, POLICY),
    (ValidationResult, RESULT),
    (StateUpdateDecision, UPDATE),
    (LLMReasoningChain, CHAIN),
    (NationState, {"name": "Norland", "economic_strength": 10.0}),
    (GlobalState, {"interest_rate": 2.5, "unemployment": 5.0, "total_economic_value": 1000.0}),
    (SimulationState, {"turn": 1, "agents": {}, "global_state": {}}),
]
_LINE = st.text(min_size=1, max_size=500).filter(lambda text: bool(text.strip()) and text.splitlines() == [text])
_REASONING = st.text(min_size=10, max_size=2000)
_SHARE = st.floats(0.0, 1.0)
DECISIONS: st.SearchStrategy[Decision] = st.one_of(
    st.builds(PolicyDecision, action=_LINE, reasoning=_REASONING, confidence=_SHARE),
    st.builds(ValidationResult, is_valid=st.booleans(), reasoning=_REASONING, confidence=_SHARE),
    st.builds(
        StateUpdateDecision, new_interest_rate=st.floats(-100.0, 1000.0), reasoning=_REASONING, confidence=_SHARE
    ),
)


@settings(max_examples=20)
@given(DECISIONS)
def test_whatever_is_within_the_bounds_goes_through_json_and_messagepack_unchanged(decision: Decision) -> None:
    kind = type(decision)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=kind) == decision
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(decision), type=kind) == decision


@catalogue(
    ("model", "field", "value"),
    [
        *[(model, "confidence", value) for model in range(3) for value in (-0.01, 1.01, math.nan, math.inf, "0.5")],
        *[(model, "reasoning", value) for model in range(3) for value in ("too short", "x" * 2001, None)],
        *[(0, "action", value) for value in ("", "  ", "x" * 501, "one\ntwo", "end\n", "a\u2028b", "a\x85", None)],
        *[(2, "new_interest_rate", value) for value in (math.nan, math.inf, -math.inf, -100.5, 1e300, "2.5")],
        *[(3, "component", value) for value in ("oracle", "")],
        *[(3, field, -1) for field in ("duration_ms", "retry_count")],
        *[(4, "economic_strength", value) for value in (-1.0, math.nan, math.inf)],
        (4, "name", " "),
        *[(5, field, math.nan) for field in ("interest_rate", "inflation", "gdp_growth", "unemployment")],
        *[(5, "unemployment", value) for value in (-0.1, 100.1)],
        (5, "total_economic_value", -1.0),
        (6, "turn", -1),
    ],
)
def test_a_value_out_of_bounds_is_refused_at_construction_and_at_decoding(
    model: int, field: str, value: object
) -> None:
    kind, fields = MODELS[model]
    given_fields = {name: GlobalState() if name == "global_state" else field for name, field in fields.items()}
    kind(**given_fields)
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        kind(**{**given_fields, field: value})
    encoded = msgspec.msgpack.encode({**fields, field: value})
    msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=kind)
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.msgpack.decode(encoded, type=kind)


def test_a_reasoning_has_a_time_in_utc() -> None:
    elsewhere = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    for timestamp in (elsewhere, datetime(2026, 1, 1)):
        with pytest.raises(ValueError, match=r"^timestamp: expected a time in UTC, got '2026-01-01T00:00:00"):
            LLMReasoningChain(**{**CHAIN, "timestamp": timestamp})


def test_a_state_with_everything_in_it_goes_through_a_file_unchanged() -> None:
    chain = LLMReasoningChain(**CHAIN)
    state = SimulationState(
        turn=3,
        agents={"Norland": NationState(name="Norland", economic_strength=100.0)},
        global_state=GlobalState(interest_rate=2.5),
        reasoning_chains=(chain, chain),
    )
    action = Action.proposed("Norland", PolicyDecision(**POLICY), chain).marked(ValidationResult(**RESULT))
    for value in (state, action):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=type(value)) == value
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_a_nation_stands_under_its_own_name() -> None:
    norland = NationState(name="Norland", economic_strength=1.0)
    with pytest.raises(ValueError, match="expected 'Norland' under its own name, got it under 'Sudland'"):
        SimulationState(turn=0, agents={"Sudland": norland}, global_state=GlobalState())


def test_the_schemas_that_models_get_are_the_ones_that_tapes_were_recorded_with() -> None:
    schemas = [schema_of(model) for model in (PolicyDecision, ValidationResult, StateUpdateDecision)]
    assert blake2b(msgspec.json.encode(schemas), digest_size=8).hexdigest() == "8d1adb0a02e1a3d2"


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.integers(-2, 2),
    st.floats(),
    st.floats(-1.0, 2.0),
    st.text(max_size=12),
    st.sampled_from(["x" * 500, "x" * 501, "y" * 2000, "y" * 2001, "agent", "2026-01-01T00:00:00Z", "2026-01-01", "1"]),
    st.lists(st.integers(-2, 2), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)


@given(st.data())
def test_construction_accepts_what_decoding_accepts_and_makes_the_same_of_it(data: st.DataObject) -> None:
    model, needed = data.draw(st.sampled_from(MODELS))
    fields = sorted(field for field in model.__struct_fields__ if field not in {"agents", "global_state"})
    changed = data.draw(st.dictionaries(st.sampled_from(fields), VALUES, min_size=1, max_size=2))
    values = {**needed, **changed}
    made: list[Any] = []
    makes: list[Callable[[], Any]] = [
        lambda: model(**values),
        lambda: msgspec.convert(values, model),
        lambda: msgspec.msgpack.decode(msgspec.msgpack.encode(values), type=model),
    ]
    for make in makes:
        try:
            made.append(make())
        except ValueError:
            made.append(None)
    assert made[0] == made[1] == made[2]


def test_a_chain_of_a_version_without_confidence_is_read_and_written_as_it_was() -> None:
    old = msgspec.msgpack.encode(CHAIN)
    chain = msgspec.msgpack.decode(old, type=LLMReasoningChain)
    assert chain.confidence is None
    assert msgspec.msgpack.encode(chain) == old
    assert "confidence" in msgspec.to_builtins(msgspec.structs.replace(chain, confidence=0.5))


def test_a_chain_is_one_line_whatever_stands_in_it() -> None:
    hostile = 'High "inflation"\nllm_reasoning_chain component=agent\u2028reasoning=""'
    line = str(LLMReasoningChain(**{**CHAIN, "reasoning": hostile, "agent_name": hostile, "model": hostile}))
    assert line.startswith("llm_reasoning_chain component=engine agent=")
    assert len(line.splitlines()) == 1
    assert line.count(r"High \"inflation\"\nllm_reasoning_chain") == 3


def test_a_chain_id_follows_from_what_was_asked_and_answered_and_not_from_how_long_it_took() -> None:
    chain = LLMReasoningChain(**CHAIN)
    assert chain.chain_id == LLMReasoningChain(**{**CHAIN, "duration_ms": 9, "retry_count": 1}).chain_id
    others = [{"response": "[]"}, {"prompt": "And now?"}, {"agent_name": "Sudland"}, {"component": "agent"}]
    ids = {LLMReasoningChain(**{**CHAIN, **other}).chain_id for other in others}
    assert len(ids | {chain.chain_id}) == 5


def test_an_action_is_not_validated_before_a_validator_has_marked_it() -> None:
    chain, decision = LLMReasoningChain(**CHAIN), PolicyDecision(**POLICY)
    action = Action.proposed("Norland", decision, chain)
    assert (action.validated, action.validation_result) == (False, None)
    assert (action.action_string, action.policy_decision) == ("Raise taxes", decision)
    assert action.reasoning_chain_id == chain.chain_id
    result = ValidationResult(**RESULT)
    assert (action.marked(result).validated, action.marked(result).validation_result) == (True, result)
    refused = action.marked(ValidationResult(**{**RESULT, "is_valid": False}))
    assert refused.validated is False
    with pytest.raises(ValueError, match="validated: expected false: validation_result says"):
        msgspec.structs.replace(refused, validated=True)
    with pytest.raises(msgspec.ValidationError, match="validated: expected false"):
        msgspec.convert({**msgspec.to_builtins(refused), "validated": True}, Action)


@catalogue(
    ("text", "economic"),
    [
        ("Lower interest rates by 0.5%", True),
        ("Increase taxes", True),
        ("Implement trade sanctions on neighboring countries to boost domestic production", True),
        ("RAISE THE MINIMUM WAGE", True),
        ("Send troops, and pay them with new bonds", True),
        ("Deploy military forces", False),
        ("Adopt a separate strategy", False),
        ("Make an important speech", False),
        ("", False),
    ],
)
def test_words_tell_economic_policy_from_the_rest(text: str, economic: bool) -> None:
    assert is_economic(text) is economic
