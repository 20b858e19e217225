"""Answers about economic policy: proposals, judgements and rates that go with the figures in the prompt.

It reads the prompt as a model would, and knows nothing of the program that wrote it.
"""

import json
import re
from collections.abc import Mapping, Sequence

import xxhash

from prism.rng import WORLD, Draw, uniform

_NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
_MILITARY = re.compile(r"\b(?:troops|army|military forces|missiles)\b", re.IGNORECASE)
_PROPOSED = re.compile(r"Proposed action: (.*)")
_VALIDATED = re.compile(rf"Validated action: .*?(Raise|Lower) interest rates by ({_NUMBER})")


def is_asked(schema: Mapping[str, object]) -> bool:
    """Tell whether a schema asks for a policy, a judgement on one, or an interest rate, with the reasons."""
    properties = schema.get("properties")
    return isinstance(properties, dict) and "reasoning" in properties and any(name in properties for name in _SAYS)


def opinion(messages: Sequence[Mapping[str, object]], schema: Mapping[str, object], key: int) -> str:
    """Return the answer as JSON; another key gives another answer to the same question."""
    text = "\n".join(str(message.get("content", "")) for message in messages)
    properties = schema.get("properties")
    say = next(say for name, say in _SAYS.items() if isinstance(properties, dict) and name in properties)
    return json.dumps({**say(text, key), "confidence": round(0.5 + 0.5 * share_for(key, "confidence"), 2)})


def key_of(*parts: object) -> int:
    """Return a key that stands for these values."""
    return xxhash.xxh3_64_intdigest(repr(parts).encode())


def share_for(key: int, name: str) -> float:
    """Return a number from 0 to below 1, the same for the same key and name."""
    return uniform(key_of(key, name), WORLD, 0, Draw.SERVER_ANSWER)


def _policy(text: str, key: int) -> dict[str, object]:
    inflation, unemployment, rate = (_figure(text, name) for name in ("Inflation", "Unemployment", "Interest Rate"))
    wish = 2.0 + inflation + 0.5 * (inflation - 2.0) + (5.9 - unemployment) + 2.0 * share_for(key, "mood") - 1.0 - rate
    step = 0.25 * min(4, max(1, round(abs(wish) / 0.25)))
    # Now and then somebody has another idea, economic or not.
    idea = int(12 * share_for(key, "idea"))
    if idea == 0:
        return {"action": "Deploy military forces", "reasoning": "The border is unsafe, and that is what matters now."}
    if idea == 1:
        return {"action": "Cut the tax on wages by 2%", "reasoning": f"At {unemployment}% unemployment work must pay."}
    verb = "Raise" if wish > 0 else "Lower"
    return {
        "action": f"{verb} interest rates by {step:.2f} percentage points",
        "reasoning": f"Inflation is {inflation}%, unemployment {unemployment}%: a rate of {rate}% does not fit that.",
    }


def _judgement(text: str, _: int) -> dict[str, object]:
    found = _PROPOSED.search(text)
    valid = _MILITARY.search(text if found is None else found[1]) is None
    return {"is_valid": valid, "reasoning": "It is economic policy." if valid else "Nothing in it is economic."}


def _rate(text: str, _: int) -> dict[str, object]:
    rate = _figure(text, "Interest Rate")
    found = _VALIDATED.search(text)
    change = 0.0 if found is None else (1.0 if found[1] == "Raise" else -1.0) * float(found[2]) / 3.0
    new = max(0.0, round(rate + change, 2))
    return {"new_interest_rate": new, "reasoning": f"From {rate}%, a third of what is asked for leads to {new}%."}


def _figure(text: str, name: str) -> float:
    found = re.search(rf"{name}: (-?{_NUMBER}(?:e-?\d{{1,2}})?)%", text)
    return 0.0 if found is None else float(found[1])


_SAYS = {"action": _policy, "is_valid": _judgement, "new_interest_rate": _rate}
"""`{field that only one kind of answer has: the function that gives this answer}`."""
